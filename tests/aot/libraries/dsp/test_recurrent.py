"""Rows of an SVDF whose sums need most bits."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.values.extension import Extension
from ethosgen.values.plan import Plan
from tests.support.aot_harness import Array, GeneratedC, assert_equal, cpu_plan
from tests.support.catalogue.recurrent import svdf
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

EXTENSIONS = (Extension.DSP, Extension.THUMB2, Extension.THUMB)


pytestmark = pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")


class LevelNetwork(NetworkBuilder):
    """A network whose weights all have one value."""

    level = 1

    def random_integers(self, shape: Sequence[int], dtype: str = "int8") -> Array:
        """Return the value, as often as it is wanted."""
        return np.full(tuple(shape), self.level, dtype)


def _plan(features: int, level: int, extension: Extension) -> Plan:
    net = LevelNetwork("network", seed=8)
    net.level = level
    network = net.build(svdf(net, net.input((1, features)), 1, 1))
    return replace(cpu_plan(network), extension=extension)


@needs_gcc
@pytest.mark.parametrize("features, level", [(70000, 1), (34000, 120)])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_sums_of_the_longest_rows(
    features: int,
    level: int,
    extension: Extension,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Values raised by 128 have sums beyond 31 bits, which overflow a signed integer in C."""
    plan = _plan(features, level, extension)
    program = compile_program(plan, "net")
    assert "ethosgen_dsp_svdf.c" in program.sources
    generated = GeneratedC(program, tmp_path, flags=["-fsanitize=signed-integer-overflow"])
    (name,) = (tensor.name for tensor in plan.network.inputs)
    samples = [{name: np.full((1, features), value, np.int8)} for value in (-128, 127)]
    for sample, wanted in zip(samples, golden_outputs(plan.network, samples), strict=True):
        assert_equal(generated.run(sample)[1], wanted)
    assert "runtime error" not in capfd.readouterr().err
