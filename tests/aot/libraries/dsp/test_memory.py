"""No kernel of the DSP and the Thumb library leaves a tensor, a table or its workspace."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.memory.plan import MemoryPlan, plan_memory
from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.extension import Extension
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.aot.libraries.dsp.test_forms import GROUPS
from tests.aot.libraries.dsp.test_int8 import LAYERS as DSP
from tests.aot.libraries.dsp.test_int16 import LAYERS as INT16
from tests.aot.libraries.test_thumb import LAYERS as THUMB
from tests.support.aot_harness import assert_equal, cpu_plan
from tests.support.apart import run_apart
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]


def _beyond(net: NetworkBuilder, padding: int) -> int:
    """Return a convolution, some of whose windows have only padding."""
    x = net.input((1, 4, 3, 5), zero_point=-128)
    x = net.pad(x, [(0, 0), (padding, padding), (padding, 0), (0, 0)])
    return net.conv2d(x, 3, (2, 3), padding="VALID")


def _depthwise_beyond(net: NetworkBuilder, kind: str) -> int:
    x = net.input((2, 3, 4, 6), kind, 0.01, 0)
    x = net.pad(x, [(0, 0), (4, 1), (3, 4), (0, 0)])
    return net.depthwise(x, (3, 3), (2, 1) if kind == "int8" else (1, 1), "VALID")


PADDED: dict[str, Build] = {
    "windows of padding": lambda n: _beyond(n, 3),
    "depthwise windows of padding": lambda n: _depthwise_beyond(n, "int8"),
}
PADDING: dict[str, Build] = {"int16 windows of padding": lambda n: _depthwise_beyond(n, "int16")}
CASES: dict[str, tuple[Extension, dict[str, Build]]] = {
    "dsp": (
        Extension.DSP,
        {**DSP, **PADDED}
        | {
            f"{group}, {name}": build
            for group, many in GROUPS.items()
            if group != "planes"
            for name, build in many.items()
        },
    ),
    "dsp, int16": (Extension.DSP, INT16 | PADDING),
    "armv7m": (Extension.THUMB2, THUMB | PADDED),
    "armv6m": (Extension.THUMB, THUMB | PADDED),
}


@pytest.fixture
def memories(monkeypatch: pytest.MonkeyPatch) -> list[MemoryPlan]:
    """Return a list to which the memory plans of programs are added."""
    plans: list[MemoryPlan] = []

    def kept(schedule: StepSchedule, sizes: dict[int, int]) -> MemoryPlan:
        plans.append(plan_memory(schedule, sizes))
        return plans[-1]

    monkeypatch.setattr("ethosgen.aot.memory.fetches.plan_memory", kept)
    return plans


def _samples(network: Network) -> list[Arrays]:
    """Return a random sample, and the lowest and the highest values."""
    (drawn,) = random_samples(network, 1, seed=3)
    lowest, highest = (
        {
            name: np.full_like(values, getattr(np.iinfo(values.dtype), end))
            for name, values in drawn.items()
        }
        for end in ("min", "max")
    )
    return [drawn, lowest, highest]


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("case", CASES)
def test_accesses_stay_inside(case: str, memories: list[MemoryPlan], tmp_path: Path) -> None:
    extension, layers = CASES[case]
    net = NetworkBuilder("network", seed=8)
    plan = replace(
        cpu_plan(net.build(*(build(net) for build in layers.values()))), extension=extension
    )
    program = compile_program(plan, "net")
    samples = _samples(plan.network)
    wanted = golden_outputs(plan.network, samples)
    runs = list(run_apart(program, memories[-1], tmp_path, samples))
    assert len(runs) == 2 * len(samples)
    for outputs, golden in zip(runs, wanted * 2, strict=True):
        assert_equal(outputs, golden)
