"""The public networks, bit for bit equal to TFLite Micro in every NPU configuration."""

import pytest

from ethosgen.backend.ethosu.accelerator import ACCELERATORS
from tests import ROOT
from tests.support.needs import needs_models
from tests.support.npu_networks import assert_exact

MODELS = ROOT.parent / "shared" / "models"
SHIPPED = ROOT / "demo" / "digits_int8.tflite"
NAMES = (
    "ad_autoencoder_int8",
    "hello_world_int8",
    "kws_dscnn_int8",
    "person_detect_int8",
    "vww_mobilenet_int8",
)


@pytest.mark.slow
@needs_models
@pytest.mark.parametrize("name", NAMES)
def test_a_public_network_is_exact(name: str) -> None:
    path = MODELS / f"{name}.tflite"
    assert_exact(path.read_bytes(), tuple(ACCELERATORS), samples=2, name=name)


def test_the_shipped_network_is_exact() -> None:
    """This network is in the repository, so the test runs everywhere."""
    assert_exact(SHIPPED.read_bytes(), tuple(ACCELERATORS), samples=2, name=SHIPPED.stem)
