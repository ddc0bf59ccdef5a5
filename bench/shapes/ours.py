"""Runs the shapes with our kernels on QEMU: cycles, instructions, bytes, code, and what differs."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from bench.command import BenchError, Figures
from bench.layers import Firmware, Layer, board_of, firmwares
from bench.products import products
from bench.shapes.code import Code
from bench.shapes.shape import Case
from ethosgen import frontend
from ethosgen.cycles.code import CodeText, constant_ranges, read_code
from ethosgen.cycles.costs import CodeCost, cost_of
from ethosgen.cycles.counting import BlockCounter, CodeCount
from ethosgen.cycles.models import model_of
from ethosgen.cycles.timing import BlockTimer
from ethosgen.oracle import TFLM, interpreters, tflm
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.errors import ToolError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, OutputComparison, Sample, compare
from ethosgen.verdict.judgement import tolerance_of

BOARD = "corstone300"
CORES = ("cortex-m55", "cortex-m33", "cortex-m3", "cortex-m0plus")
"""The cores of evidence/kernels.md."""
OTHER_CORES = ("cortex-m4", "cortex-m7")
"""Cores that are measured on request; the page does not show them."""
SAMPLES = 2
"""Inferences of each layer; the second is counted."""


def samples_of(network: Network) -> list[Arrays]:
    """Return the samples that every firmware gets."""
    return draw_samples(network, SAMPLES, 0)


def golden(network: Network) -> list[Arrays]:
    """Return the outputs of these samples by TensorFlow Lite Micro's reference kernels.

    It runs in this process: a child for each of a thousand layers would take an hour.
    """
    inputs = interpreters.ordered_inputs(network, samples_of(network))
    size = tflm.arena_bytes(network)
    runs = tflm.run_tflite_micro(frontend.written(network).data, inputs, len(network.outputs), size)
    return interpreters.named_outputs(network, runs)


def write(cases: Sequence[Case], folder: Path) -> list[Layer]:
    """Write each case as a network of one layer; a file's name is the case's number."""
    layers = []
    for number, case in enumerate(cases):
        path = folder / f"{number:04}.tflite"
        path.write_bytes(case.file)
        layers.append(Layer(path, case.shape.origin))
    return layers


def measure(cases: Sequence[Case], core: str) -> Iterator[Figures]:
    """Yield the figures of each case on a core."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-shapes-") as name:
        folder = Path(name)
        layers = write(cases, folder)
        board = BOARD if core == CORES[0] else board_of(folder, core)
        for firmware in firmwares(layers, board, "--npu", "none"):
            yield from _run(firmware, folder)


@dataclass(frozen=True)
class Counted:
    """The samples of a network, and what QEMU counted in the last one's inference."""

    network: Network
    samples: Sequence[Sample]
    count: CodeCount


def run_counted(firmware: Firmware, folder: Path) -> Iterator[Counted]:
    """Run the samples of each network in a firmware, and count the last."""
    counter = firmware.info.board.counter
    assert counter is not None
    plugin = BlockCounter(folder, counter.value_addr, constant_ranges(firmware.built.elf))
    networks = [layer.network for layer in firmware.layers]
    with patch.dict(os.environ, ETHOSGEN_QEMU=str(plugin.program)):
        done = firmware.run([samples_of(network) for network in networks])
    counts = plugin.between(SAMPLES * len(done))[SAMPLES - 1 :: SAMPLES]
    for network, samples, count in zip(networks, done, counts, strict=True):
        _check(network, samples[-1], count)
        yield Counted(network, samples, count)


def _check(network: Network, sample: Sample, count: CodeCount) -> None:
    if count.instructions != sample.cpu_instructions:
        raise BenchError(
            f"{network.name}: the plugin counts {count.instructions:,} instructions, the board's "
            f"counter {sample.cpu_instructions:,}",
            "",
        )


def _run(firmware: Firmware, folder: Path) -> Iterator[Figures]:
    code = Code(firmware.built.elf)
    cycles = cycles_of(firmware)
    for counted, name in zip(run_counted(firmware, folder), firmware.names, strict=True):
        known = {"cycles": cycles(counted.count), "code": code.bytes_from(f"{name}_entry")}
        yield figures(counted) | known


def cycles_of(firmware: Firmware) -> Callable[[CodeCount], int | None]:
    """Return a function that returns the cycles of a count: None without llvm-mca."""
    try:
        model = model_of(firmware.core)
        code, timer = read_code(firmware.built.elf, model), BlockTimer(model)
    except ToolError as error:
        sys.stderr.write(f"instructions only: {error}\n")
        return lambda _count: None
    return lambda count: round(checked_cost(count, code, timer).cycles)


def checked_cost(count: CodeCount, code: CodeText, timer: BlockTimer) -> CodeCost:
    """Return the cost of a count; BenchError if the text of the code has other instructions."""
    cost = cost_of(count, code, timer)
    if cost.instructions != count.instructions:
        raise BenchError(
            f"the blocks have {cost.instructions:,} instructions, the plugin counts "
            f"{count.instructions:,}",
            "",
        )
    return cost


def figures(counted: Counted) -> Figures:
    """Return the figures of a layer; its outputs are compared with the oracle's."""
    graph, count = counted.network.graph, counted.count
    compared = compare_outputs(counted.network, [sample.outputs for sample in counted.samples])
    return {
        "instructions": count.instructions,
        "loaded": count.loaded_bytes,
        "stored": count.stored_bytes,
        "constants": count.constant_bytes,
        "mismatches": compared.mismatches,
        "elements": compared.elements,
        "products": products(graph, graph.operators),
        "outputs": sum(graph.tensors[i].elements for i in graph.outputs),
    }


def compare_outputs(network: Network, outputs: list[Arrays]) -> OutputComparison:
    """Compare the outputs of all samples with the oracle's: integers must be equal."""
    return compare(TFLM.name, outputs, golden(network), tolerance_of(network, TFLM.name))
