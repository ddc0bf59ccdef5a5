"""The coverage of U85's instruction set: each command and each named value of a field.

    .venv/bin/python -m tests.corpus coverage --product u85        # writes evidence/coverage_u85.md

A command or a value is counted for each network whose stream has it; streams are decoded and not
run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ethosgen.backend.ethosu.isa import Command, Field
from ethosgen.backend.ethosu.isa_u85 import U85
from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.values.errors import EthosgenError
from ethosgen.values.plan import Plan
from tests import ROOT
from tests.corpus.settings import Setting
from tests.corpus.trial import Key, case_of, setting_of
from tests.support.thin_networks import thin_convolution, weights_as_input
from tests.support.tosa_cases import CASES
from tests.support.tosa_fused import FUSED
from tests.support.tosa_rows import U85 as U85_256
from tests.support.tosa_rows import case_network
from tests.support.trials import plan_for
from tests.support.u85_networks import u85_networks

PAGE = ROOT / "evidence" / "coverage_u85.md"

Use = tuple[str, str, str]
"""A command, and a field of it and the name of its value; "" for the command itself."""

_GENERATOR = "ethos_u85_register_cs_generator.cpp"
_CONSTRAINTS = "ethos_u85_constraints.cpp"
_BRANCH = f"only for control flow on the NPU, which ethosgen keeps on the CPU ({_GENERATOR} 2237)"
NOT_EMITTED: dict[tuple[str, str, str], str] = {
    ("NPU_OP_IRQ", "", ""): f"{_GENERATOR} has no such command",
    ("NPU_OP_PMU_MASK", "", ""): f"{_GENERATOR} has no such command",
    ("NPU_OP_BRANCH", "", ""): _BRANCH,
    ("NPU_OP_BRANCH", "branch_cond", "ALWAYS"): _BRANCH,
    ("NPU_OP_BRANCH", "branch_cond", "RF_TRUE"): _BRANCH,
    ("NPU_OP_RESIZE", "resize_mode", "REPLICATE"): (
        "high_level_command_stream_generator.cpp 277: NEAREST or BILINEAR"
    ),
    ("NPU_OP_POOL", "pooling_mode", "ARGMAX_Y"): (
        "graphir_optimiser.cpp 3087, RewriteArgmax: the reduced axis becomes the width"
    ),
    ("NPU_SET_IFM_UPSCALE", "mode", "NEAREST"): (
        f"only of LegaliseResize, for a Resize that {_CONSTRAINTS} 465, OperatorQuery, substitutes;"
        " it substitutes only Sigmoid and Tanh"
    ),
    ("NPU_SET_IFM_UPSCALE", "mode", "ZEROS"): (
        f"only of LegaliseTransposeConv2D; {_CONSTRAINTS} 494, OperatorQuery: strides are always"
        " decomposed"
    ),
    ("NPU_SET_IFM_PRECISION", "activation_precision", "B64"): (
        "ethos_u85.cpp 493, IsUBlockValid: no operation has an input above 32 bits but a copy,"
        f" whose first input is B8 ({_GENERATOR} 1793)"
    ),
    ("NPU_SET_ACTIVATION", "activation_function", "LUT_S8_S16"): (
        "a table for int8 makes int8 (tflite_graph_optimiser.cpp 374, ConvertToLUT8;"
        " graphir_optimiser.cpp 1904, RewriteTable) or int32 (softmax.cpp 177)"
    ),
    ("NPU_SET_DMA0_SRC_REGION", "region_mode", "INTERNAL"): (
        f"{_GENERATOR} 1672, CreateLUTDMA: tables are only copied to the internal memory"
    ),
    **{
        ("NPU_SET_OFM_SCALE", "round_mode", mode): (
            f"operation.hpp {line}: nothing sets {theirs}; TOSA's RESCALE has NATURAL or DBL"
            " (graphir_optimiser.cpp 241, ConvertAttributes)"
        )
        for mode, line, theirs in (
            ("TRUNCATE_TO_ZERO", 40, "TRUNCATE"),
            ("DOUBLE_ASYMMETRIC", 43, "DOUBLE_ASYMMETRIC"),
        )
    },
    ("NPU_SET_KERNEL_STRIDE", "decomposition", "D4X4"): f"{_GENERATOR} 1179: always D8X8",
    **{
        (f"NPU_SET_{fm}_PRECISION", "activation_storage", "TILE3X1"): (
            f"{_GENERATOR} {line}: TILE2X2, CHAINED or NONE"
        )
        for fm, line in (("IFM", 1230), ("IFM2", 1248), ("OFM", 1269))
    },
}
"""What Regor of Vela 5.2 never emits, or ethosgen never asks for, and the place that says so."""


def named(command: Command) -> Iterator[tuple[Field, str, int]]:
    """Yield each field with named values, and each name with its code."""
    for field in command.fields:
        for codes in field.values:
            for code in codes:
                yield field, code.name, int(code)


def uses(stream: bytes) -> set[Use]:
    """Return the commands and named values of a stream of U85."""
    used: set[Use] = set()
    for instruction in decode(stream, U85):
        command = instruction.command
        used.add((command.name, "", ""))
        used |= {
            (command.name, field.name, name)
            for field, name, code in named(command)
            if field.get(instruction.operand) == code
        }
    return used


def _of_network(data: bytes, name: str, setting: Setting) -> set[Use]:
    try:
        plan = setting.compile(decode_network(data, name))
    except EthosgenError:
        return set()
    return _of_plan(plan)


def _of_plan(plan: Plan) -> set[Use]:
    return {use for p in plan.partitions for use in uses(stream_of(p).commands)}


def count(keys: Iterable[Key]) -> Counter[Use]:
    """Count the networks (corpus, EXTRA and TOSA) that have each command and value."""
    counts: Counter[Use] = Counter()
    for key in keys:
        counts.update(_of_network(case_of(key).data, str(key), setting_of(key, "u85")))
    for name, (data, setting) in EXTRA.items():
        counts.update(_of_network(data, name, setting))
    for name in (*CASES, *FUSED):
        network, _ = case_network(name)
        counts.update(_of_plan(plan_for(network, U85_256)))
    return counts


EXTRA: dict[str, tuple[bytes, Setting]] = {
    "fast": (thin_convolution(levels=16), Setting("ethos-u85-1024", optimise="Size")),
    "sparse": (thin_convolution(sparse=True), Setting("ethos-u85-256")),
    "fast and sparse": (
        thin_convolution(levels=3, sparse=True),
        Setting("ethos-u85-128", "Sram_Only"),
    ),
    "weights as input": (weights_as_input("int8"), Setting("ethos-u85-256")),
    **{name: (data, Setting("ethos-u85-512")) for name, data in u85_networks().items()},
}
"""Networks for what the corpus does not draw: weights for U85's formats, and given at run time."""


def rows(counts: Mapping[Use, int]) -> Iterator[tuple[str, str, str, str]]:
    """Yield command, field, value, and the number of networks or the reason for none."""
    for command in U85.commands:
        for field, value in (("", ""), *((f.name, name) for f, name, _ in named(command))):
            use = command.name, field, value
            yield (*use, f"{counts[use]:,}" if counts.get(use) else NOT_EMITTED.get(use, "0"))


def page(counts: Mapping[Use, int], networks: int) -> str:
    """Return the page's text."""
    lines = [
        INTRODUCTION.format(
            networks=networks + len(EXTRA) + len(CASES) + len(FUSED), commands=len(U85.commands)
        )
    ]
    lines += ["| Command | Field | Value | Networks |", "|---|---|---|---:|"]
    lines += [f"| {' | '.join(row)} |" for row in rows(counts)]
    return "\n".join(lines) + "\n"


INTRODUCTION = """\
# Coverage of Ethos-U85's instruction set

Generated by `.venv/bin/python -m tests.corpus coverage --product u85`; do not edit.

The table has all {commands} commands of Ethos-U85, and the named values of their fields. It counts,
among {networks} networks that Vela compiled (.tflite, and operators of TOSA), those whose command
streams have each; or says why no stream can have it, with the file and line of Vela 5.2's sources.
"""
