"""Networks entirely on the CPU (--npu none), compared with TensorFlow Lite Micro and CMSIS-NN.

TFLite Micro's figures: its source at 90b983c2 on mps3-an547, arm-none-eabi-gcc 12.2, kernels at
-O2, tuned resolver, CPU only; code includes the interpreter, which its networks need. Its cycles
are those of the faster build, in which clang 19 compiles CMSIS-NN at -O3, timed as ours.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.command import Figures, report
from bench.layers import Layer, firmwares
from bench.limits import SAMPLES
from bench.shapes import ours

MOST_OF_TFLM, MOST_OF_BEST = 1.0, 0.5
"""Our limits as fractions of TFLite Micro's instructions: for every network, and for the best."""
MOST_AT_START = 300


@dataclass(frozen=True)
class Tflm:
    """TFLite Micro's figures for a network: bytes, instructions and cycles on QEMU."""

    code_bytes: int
    arena_bytes: int
    init_instructions: int
    instructions: int
    reference_instructions: int
    cycles: int


TFLM = {
    "kws_dscnn_int8": Tflm(43_970, 27_348, 266_488, 1_811_987, 41_918_748, 1_781_221),
    "ad_autoencoder_int8": Tflm(19_274, 9_712, 203_102, 149_929, 1_692_653, 68_904),
    "vww_mobilenet_int8": Tflm(43_970, 100_772, 1_056_777, 6_557_928, 95_682_037, 6_291_787),
}
"""By network: figures with CMSIS-NN's Helium kernels, the reference's instructions, cycles."""


def measure(model: Path) -> Figures:
    """Measure one network and return its figures; RuntimeError if there is no answer."""
    options = ("--npu", "none", "--samples", SAMPLES)
    answer = report("verify", model, "--board", "corstone300", *options)
    library = answer["library_bytes"]
    return {
        "name": model.stem,
        "firmware": answer["oracles"]["tflm"],
        "instructions": answer["cpu_instructions"],
        "init_instructions": answer["init_instructions"],
        "arena_bytes": answer["ram_bytes"]["arena"],
        "code_bytes": library["code"] + library["constants"],
        "stack_bytes": answer["stack_bytes"],
    }


def cycles(model: Path) -> int | None:
    """Return the cycles of a network's second inference; None without llvm-mca."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-cycles-") as folder:
        for firmware in firmwares([Layer(model, "")], ours.BOARD, "--npu", "none"):
            (counted,) = ours.run_counted(firmware, Path(folder))
            return ours.cycles_of(firmware)(counted.count)
    return None


def misses(figures: Iterable[Figures]) -> list[str]:
    """Return one sentence for each limit that is missed."""
    sentences, ratios = [], []
    for model in figures:
        name, tflm, cell = model["name"], TFLM.get(model["name"]), model["firmware"]
        if cell["mismatches"] or not cell["elements"]:
            sentences.append(
                f"{name} on the CPU: {cell['mismatches']} of {cell['elements']} differ"
            )
        limits = {"init_instructions": MOST_AT_START}
        if tflm:
            ratios.append(model["instructions"] / tflm.instructions)
            limits["instructions"] = int(tflm.instructions * MOST_OF_TFLM)
            limits |= {"arena_bytes": tflm.arena_bytes, "code_bytes": tflm.code_bytes}
        sentences += [
            f"{name} on the CPU: {key} is {model[key]:,}, at most {most:,}"
            for key, most in limits.items()
            if model[key] > most
        ]
    if ratios and min(ratios) > MOST_OF_BEST:
        sentences.append(
            f"on the CPU the best network takes {min(ratios):.2f} of TFLite Micro's instructions"
        )
    return sentences


def rows(figures: Iterable[Figures]) -> tuple[list[str], list[list[str]]]:
    """Return a table's head and rows: each of our figures, followed by TFLite Micro's."""
    head = ["network", "differ", "cycles", "TFLM", "ratio", "instructions", "TFLM", "ratio"]
    head += ["reference kernels"]
    head += ["arena B", "TFLM", "code B", "TFLM", "at start", "TFLM", "stack B"]
    table = []
    for model in figures:
        tflm, cell = TFLM.get(model["name"]), model["firmware"]
        theirs = ["-"] * 6
        if tflm:
            ratio = f"{model['instructions'] / tflm.instructions:.2f}"
            theirs = [f"{tflm.instructions:,}", ratio, f"{tflm.reference_instructions:,}"]
            theirs += [f"{tflm.arena_bytes:,}", f"{tflm.code_bytes:,}"]
            theirs += [f"{tflm.init_instructions:,}"]
        row = [model["name"], f"{cell['mismatches']} of {cell['elements']:,}"]
        row += [*_cycles_cells(model.get("cycles"), tflm)]
        row += [f"{model['instructions']:,}", *theirs[:3]]
        row += [f"{model['arena_bytes']:,}", theirs[3], f"{model['code_bytes']:,}", theirs[4]]
        row += [f"{model['init_instructions']:,}", theirs[5], f"{model['stack_bytes']:,}"]
        table.append(row)
    return head, table


def _cycles_cells(known: int | None, tflm: Tflm | None) -> tuple[str, str, str]:
    """Return our cycles, TFLite Micro's and the ratio; "-" for what old figures lack."""
    ratio = f"**{known / tflm.cycles:.2f}**" if known and tflm else "-"
    return f"{known:,}" if known else "-", f"{tflm.cycles:,}" if tflm else "-", ratio
