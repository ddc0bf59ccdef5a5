"""A PT2E-quantized program becomes a network in integers, and its results are PyTorch's."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.oracle import TFLM
from ethosgen.oracle.runtimes import RUNTIMES
from ethosgen.values.errors import InputError
from ethosgen.values.fidelity import compare_fidelity
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import CHANNELS_LAST, ReadOptions
from tests.support.needs import needs_torch
from tests.support.pt2_files import pt2_files

pytestmark = [needs_torch, pytest.mark.slow]


def random_samples(network: Network, count: int) -> list[Arrays]:
    rng = np.random.default_rng(2)
    return [
        {
            tensor.name: rng.standard_normal(tensor.shape).astype(np.float32)
            for tensor in network.inputs
        }
        for _ in range(count)
    ]


def test_each_island_becomes_one_operator(tmp_path_factory: pytest.TempPathFactory) -> None:
    (file,) = pt2_files(tmp_path_factory, "xnnpack", "small")
    network = frontend.read(file)
    assert [op.code for op in network.graph.operators] == (
        "QUANTIZE TRANSPOSE PAD CONV_2D DEPTHWISE_CONV_2D QUANTIZE CONV_2D ADD MEAN RESHAPE "
        "FULLY_CONNECTED DEQUANTIZE".split()
    )
    assert [(tensor.name, tensor.shape) for tensor in network.inputs] == [("image", (1, 3, 32, 32))]
    assert [(tensor.name, tensor.shape) for tensor in network.outputs] == [("scores", (1, 10))]

    samples = random_samples(network, 10)
    assert network.source is not None
    theirs = RUNTIMES["pt2"].run(network.source, samples)
    fidelity = compare_fidelity(network, TFLM.run(network, samples), theirs, "", "", 1.0)
    assert fidelity.passed
    assert fidelity.equal >= 90
    assert RUNTIMES["pt2"].version().startswith("2.13")


def test_an_open_size_is_named_and_given(tmp_path_factory: pytest.TempPathFactory) -> None:
    (file,) = pt2_files(tmp_path_factory, "open", "relu")
    with pytest.raises(
        InputError, match=r"'x' of 'relu\.pt2' has the open shape \(s77, 8, 12, 12\)"
    ):
        frontend.read(file)
    options = ReadOptions((("x", (3, 8, 12, 12)),), CHANNELS_LAST)
    network = frontend.read(file, options=options)
    assert [tensor.shape for tensor in network.inputs] == [(3, 12, 12, 8)]


def test_a_program_that_torch_refuses_ends_in_one_sentence(tmp_path: Path) -> None:
    from tests.support.pt2_archive import archive, model

    file = tmp_path / "net.pt2"
    file.write_bytes(archive(model("torch.ops.aten.no_such_operator.default")))
    with pytest.raises(InputError, match=r"net\.pt2") as caught:
        frontend.read(file)
    assert "\n" not in str(caught.value)
