"""Measures whole networks on each core beside published times; writes evidence/cpu_time.md.

    .venv/bin/python -m bench.cpu_time            # ten minutes; needs Debian's llvm-19 beside QEMU
    .venv/bin/python -m bench.cpu_time --render   # only the page, from the stored figures

The figures also say what a core needs for an instruction of our estimates: PACE in
generator/ethosgen/cycles/pace.py. A test compares them.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.layers import Layer, board_of, firmwares
from bench.shapes import ours
from ethosgen import aot
from ethosgen.board import load_board
from ethosgen.cycles.models import source_of
from tests.support.networks import NetworkBuilder
from tests.support.pages import EVIDENCE, console, load, store, table
from tests.support.small_models import SHARED_MODELS

PAGE, RESULTS = EVIDENCE / "cpu_time.md", EVIDENCE / "cpu_time.json"
CORES = tuple(f"cortex-{m}" for m in ("m0plus", "m3", "m4", "m33", "m7", "m55", "m85"))
FILES = {
    "kws": "kws_dscnn_int8.tflite",
    "vww": "vww_mobilenet_int8.tflite",
    "ad": "ad_autoencoder_int8.tflite",
}
RESNET = "resnet8"


@dataclass(frozen=True)
class Published:
    """The best published time of a network on a core, in millions of cycles, and whose it is."""

    cycles_m: float
    by: str


_ST, _ST13 = "ST, MLPerf Tiny 1.2", "ST, MLPerf Tiny 1.3"
_PLUMERAI, _HALE = "Plumerai, MLPerf Tiny 1.1", "Bosch HALE, MLPerf Tiny 1.2"
_RENESAS = "Renesas, MLPerf Tiny 1.2: TFLM, LLVM 17"
BEST = {
    ("kws", "cortex-m4"): Published(5.18, _ST),
    ("vww", "cortex-m4"): Published(10.67, _ST),
    (RESNET, "cortex-m4"): Published(19.8, _ST),
    ("ad", "cortex-m4"): Published(0.49, _PLUMERAI),
    ("kws", "cortex-m33"): Published(4.64, _ST13),
    ("vww", "cortex-m33"): Published(9.48, _ST13),
    (RESNET, "cortex-m33"): Published(16.7, "Plumerai, MLPerf Tiny"),
    ("ad", "cortex-m33"): Published(0.49, "Bosch HALE, MLPerf Tiny"),
    ("kws", "cortex-m7"): Published(3.17, _ST),
    ("vww", "cortex-m7"): Published(6.67, _ST),
    (RESNET, "cortex-m7"): Published(11.4, _ST),
    ("ad", "cortex-m7"): Published(0.30, "Bosch HALE, MLPerf Tiny"),
    ("kws", "cortex-m85"): Published(1.66, _RENESAS),
    ("vww", "cortex-m85"): Published(6.43, _RENESAS),
    (RESNET, "cortex-m85"): Published(4.07, _RENESAS),
    ("ad", "cortex-m85"): Published(0.25, _RENESAS),
    ("kws", "cortex-m0plus"): Published(30.4, _HALE),
    ("vww", "cortex-m0plus"): Published(90.5, _HALE),
    (RESNET, "cortex-m0plus"): Published(97.4, _HALE),
    ("ad", "cortex-m0plus"): Published(2.62, _HALE),
}
"""The closed division's times by each submitter's clock."""


@dataclass(frozen=True)
class Measured:
    """A network on a core: cycles by its model, instructions, and our estimate of these."""

    network: str
    core: str
    cycles: int
    instructions: int
    estimate: int


def resnet_8(folder: Path) -> Path:
    """Write the network for CIFAR-10 of MLPerf Tiny, with random weights."""
    net = NetworkBuilder("resnet8", seed=8)
    x = net.conv2d(net.input((1, 32, 32, 3)), 16, (3, 3), activation="RELU")
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv2d(x, channels, (3, 3), stride=(stride, stride), activation="RELU")
        y = net.conv2d(y, channels, (3, 3))
        if stride > 1:
            x = net.conv2d(x, channels, (1, 1), stride=(stride, stride))
        x = net.add(x, y, activation="RELU")
    x = net.reshape(net.average_pool(x, (8, 8)), (1, 64))
    path = folder / "resnet8.tflite"
    path.write_bytes(net.build(net.softmax(net.fully_connected(x, 10))))
    return path


def measure(folder: Path, cores: Sequence[str]) -> Iterator[Measured]:
    """Yield each network on some cores."""
    paths = {name: SHARED_MODELS / file for name, file in FILES.items()}
    paths[RESNET] = resnet_8(folder)
    layers = [Layer(path, name) for name, path in paths.items()]
    for core in cores:
        board = board_of(folder, core)
        for firmware in firmwares(layers, board, "--npu", "none"):
            cycles = ours.cycles_of(firmware)
            runs = ours.run_counted(firmware, folder)
            for name, run in zip(paths, runs, strict=True):
                count = cycles(run.count)
                assert count is not None
                graph, extension = run.network.graph, load_board(str(board)).cpu.extension
                known = [aot.cpu_cycles(op, graph, extension) for op in graph.operators]
                estimate = sum(each or 0 for each in known)
                yield Measured(name, core, count, run.count.instructions, estimate)


def paces(figures: Sequence[Measured]) -> dict[str, float]:
    """Return each core's cycles for an instruction of our estimates, over all networks."""
    return {
        core: round(sum(f.cycles for f in own) / sum(f.estimate for f in own), 2)
        for core in CORES
        if (own := [f for f in figures if f.core == core])
    }


HEAD = """# Whole networks in cycles, beside published times

Generated by `python -m bench.cpu_time`; do not edit. MLPerf Tiny's four networks in int8, wholly on
the CPU (resnet8 with random weights). Our cycles are those of [LLVM's model](../docs/cycles.md) of
the core or of the nearest one; published times are those of submissions to the closed division, in
cycles of the submitter's clock. **The two are not alike**: published times are measured on silicon,
with its flash and caches, and ours assume memory that answers at once. A ratio below 1 is therefore
no proof; one above 1 says that we are behind.

"""
PACES = """
Stored costs stand in for the count where llvm-mca is missing. They are estimates of instructions,
operator by operator, times the core's cycles for each, over the four networks:

"""


def render(figures: Sequence[Measured]) -> str:
    """Return the page."""
    rows = []
    for f in figures:
        best = BEST.get((f.network, f.core))
        theirs = (
            [f"{best.cycles_m:g}", f"{f.cycles / 1e6 / best.cycles_m:.2f}", best.by]
            if best
            else ["-"] * 3
        )
        rows.append(
            [
                f.core,
                f.network,
                f"{f.cycles / 1e6:.3g}",
                *theirs,
                f"{f.instructions / 1e6:.3g}",
                f"{f.cycles / f.instructions:.2f}",
            ]
        )
    head = [
        "core",
        "network",
        "M cycles",
        "published",
        "ratio",
        "by",
        "M instructions",
        "cycles each",
    ]
    pace = [[core, source_of(core), f"{value:.2f}"] for core, value in paces(figures).items()]
    return HEAD + table(head, rows) + "\n" + PACES + table(["core", "model", "cycles"], pace) + "\n"


def stored() -> list[Measured]:
    """Return the figures of the last measurement."""
    return [Measured(**row) for row in load(RESULTS, [])]


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.cpu_time")
    parser.add_argument("--render", action="store_true", help="only the page")
    parser.add_argument("--core", choices=CORES, help="only this one; the others' figures stay")
    arguments = parser.parse_args()
    if not arguments.render:
        cores = [arguments.core] if arguments.core else CORES
        known = [figure for figure in stored() if figure.core not in cores]
        with tempfile.TemporaryDirectory(prefix="ethosgen-cpu-time-") as folder:
            for figure in measure(Path(folder), cores):
                known.append(figure)
                ordered = sorted(known, key=lambda each: CORES.index(each.core))
                store(RESULTS, [vars(each) for each in ordered])
    PAGE.write_text(render(stored()), "utf-8")
    console.print(f"{PAGE} written", markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
