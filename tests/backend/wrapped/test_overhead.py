"""The cost of a call: instructions on QEMU beside those of the accelerator's own functions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.plugins.toy.toy_plugin.adder import HEADER
from tests.support import conv_accelerator
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import PLAIN, TOML, changed, write_folder

MOST = 40
CALLS = 5
RETURN_0 = 2
"""The instructions of a function that only returns 0."""


def sums(count: int) -> bytes:
    net = NetworkBuilder("sums")
    x, y = (net.input((1, 64), name=name, **PLAIN) for name in "xy")
    for _ in range(count):
        x = net.add(x, y, **PLAIN)
    return net.build(x)


def convs(count: int) -> bytes:
    net = NetworkBuilder("convs")
    x = net.input((1, 4, 4, 4))
    for _ in range(count):
        x = net.conv2d(x, 4)
    return net.build(x)


def empty(header: str) -> str:
    """Return definitions of a header's functions that only return 0."""
    heads = [part.strip() for part in header.split(";") if "(" in part]
    heads[0] = heads[0].replace("#include <stdint.h>\n", "")
    pragma = '#pragma GCC diagnostic ignored "-Wunused-parameter"\n'
    return pragma + "".join(f"{head}\n{{\n    return 0;\n}}\n" for head in heads)


CASES = {
    "4 arguments": (sums, TOML, HEADER, 1),
    "22 arguments and a wait": (
        convs,
        changed("alignment = 32", "alignment = 16", conv_accelerator.TOML),
        conv_accelerator.HEADER,
        2,
    ),
}


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("case", CASES)
def test_a_call_costs_little(case: str, io: IoStyle, tmp_path: Path) -> None:
    make, toml, header, functions = CASES[case]
    folder = write_folder(tmp_path / "empty", toml, header, empty(header))
    single, several = (instructions(make, n, folder, io, tmp_path) for n in (1, CALLS))
    each = (several - single) / (CALLS - 1) - functions * RETURN_0
    assert 0 < each <= MOST, f"{each} instructions for a call"


def instructions(
    make: Callable[[int], bytes], count: int, folder: Path, io: IoStyle, place: Path
) -> int:
    model = place / f"net{count}.tflite"
    model.write_bytes(make(count))
    options = OffloadOptions(trust_compiler=True)  # its results are wrong
    recipe = Recipe(
        (model,), "corstone300", "none", io=io, options=options, accelerators=(str(folder),)
    )
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 1, 0)), watch=Watch())
    assert isinstance(report, Report) and report.cpu_instructions is not None
    assert report.plan.shares[0].partitions == count
    return report.cpu_instructions
