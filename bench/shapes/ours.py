"""Runs the shapes with our kernels on QEMU: instructions, bytes, code, and differing outputs."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

from bench.command import BenchError, Figures
from bench.layers import Firmware, Layer, board_of, firmwares
from bench.products import products
from bench.shapes.code import Code
from bench.shapes.counter import Count, Counter
from bench.shapes.shape import Case
from ethosgen import frontend
from ethosgen.board import load_board
from ethosgen.oracle import TFLM, interpreters, tflm
from ethosgen.samples.drawing import draw_samples
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
        counter = Counter(folder, _mark_addr())
        for firmware in firmwares(layers, board, "--npu", "none"):
            yield from _run(firmware, counter)


def _mark_addr() -> int:
    """Return the address of the board's counter, which the firmware reads around an inference."""
    counter = load_board(BOARD).counter
    assert counter is not None
    return counter.value_addr


def _run(firmware: Firmware, counter: Counter) -> Iterator[Figures]:
    networks = [layer.network for layer in firmware.layers]
    with patch.dict(os.environ, ETHOSGEN_QEMU=str(counter.program)):
        done = firmware.run([samples_of(network) for network in networks])
    counts = counter.between(SAMPLES * len(done))[SAMPLES - 1 :: SAMPLES]
    code = Code(firmware.built.elf)
    for network, name, samples, count in zip(networks, firmware.names, done, counts, strict=True):
        yield figures(network, samples, count, code.bytes_from(f"{name}_entry"))


def figures(network: Network, samples: Sequence[Sample], count: Count, code: int) -> Figures:
    """Return the figures of a layer; its outputs are compared with the oracle's."""
    graph = network.graph
    if count.instructions != samples[-1].cpu_instructions:
        raise BenchError(
            f"{network.name}: the plugin counts {count.instructions:,} instructions, the board's "
            f"counter {samples[-1].cpu_instructions:,}",
            "",
        )
    compared = compare_outputs(network, [sample.outputs for sample in samples])
    return {
        "instructions": count.instructions,
        "loaded": count.loaded_bytes,
        "stored": count.stored_bytes,
        "code": code,
        "mismatches": compared.mismatches,
        "elements": compared.elements,
        "products": products(graph, graph.operators),
        "outputs": sum(graph.tensors[i].elements for i in graph.outputs),
    }


def compare_outputs(network: Network, outputs: list[Arrays]) -> OutputComparison:
    """Compare the outputs of all samples with the oracle's: integers must be equal."""
    return compare(TFLM.name, outputs, golden(network), tolerance_of(network, TFLM.name))
