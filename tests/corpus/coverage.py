"""The coverage of the corpus: Vela's list of operators and types, the NPU's commands and modes.

    .venv/bin/python -m tests.corpus coverage        # writes evidence/coverage.md

A mode is counted for each network whose command streams use it. The NPU model need not run for
that, and a few networks of each row are enough.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ethosgen.backend.ethosu import isa
from ethosgen.backend.ethosu.offload import npu_operators
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    Elementwise,
    FeatureMap,
    IssuedOperation,
    Operation,
    Output,
    Pool,
    Windowed,
)
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.values.errors import EthosgenError
from ethosgen.values.plan import IoStyle
from tests import ROOT
from tests.corpus.registry import GENERATORS, NETWORKS, OPERATORS, products_of
from tests.corpus.settings import PRODUCTS, Setting
from tests.corpus.trial import Key, case_of, setting_of

PAGE = ROOT / "evidence" / "coverage.md"
TYPES = ("int8", "uint8", "int16", "int32")
NUMPY_TYPES = {"i1": "int8", "u1": "uint8", "<i2": "int16", "<u2": "uint16", "<i4": "int32"}

BOTH, U65 = ("u55", "u65"), ("u65",)
MODES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("memory mode Sram_Only", "memory mode Shared_Sram"), BOTH),
    "memory mode Dedicated_Sram": U65,
    **dict.fromkeys(("strategy Performance", "strategy Size", "small arena"), BOTH),
    **dict.fromkeys(("inputs and outputs in the arena", "the caller's buffers"), BOTH),
    **dict.fromkeys(("NPU_OP_CONV", "NPU_OP_DEPTHWISE", "NPU_OP_POOL"), BOTH),
    **dict.fromkeys(("NPU_OP_ELEMENTWISE", "NPU_OP_DMA_START"), BOTH),
    **dict.fromkeys(("weights depth first", "weights part-kernel first"), BOTH),
    "weights on two cores": U65,
    **dict.fromkeys(("weights copied by DMA", "weights in two buffers in turn"), BOTH),
    **dict.fromkeys(("table copied by DMA", "feature map copied by DMA"), BOTH),
    **dict.fromkeys(("stripes: one operator in several operations", "cascade"), BOTH),
    "rolling buffer: a feature map of two tiles": BOTH,
    **dict.fromkeys(("kernel stride 2", "kernel stride 3", "dilation 2", "padding"), BOTH),
    **dict.fromkeys((f"pool {mode.name}" for mode in isa.PoolingMode), BOTH),
    **dict.fromkeys(("upscale NEAREST", "upscale ZEROS"), BOTH),
    **dict.fromkeys((f"elementwise {mode.name}" for mode in isa.ElementwiseMode), BOTH),
    **dict.fromkeys(("scalar operand", "operands in reverse order"), BOTH),
    **dict.fromkeys((f"operand repeated along {axis}" for axis in "hwc"), BOTH),
    **dict.fromkeys((f"operands scaled {mode.name}" for mode in isa.IfmScaleMode), BOTH),
    **dict.fromkeys(("layout NHWC", "layout NHCWB16"), BOTH),
    **dict.fromkeys((f"ifm {dtype}" for dtype in TYPES), BOTH),
    **dict.fromkeys((f"ofm {dtype}" for dtype in TYPES), BOTH),
    **dict.fromkeys(("accumulator I32", "accumulator I40"), BOTH),
    **dict.fromkeys(("scale per channel", "scale global"), BOTH),
    **dict.fromkeys(("rounding DBL", "rounding NATURAL"), BOTH),
    **dict.fromkeys(("activation by clamp", "activation by table of 8 bits"), BOTH),
    **dict.fromkeys(("activation by table of 16 bits", "activation by table of 32 bits"), BOTH),
}
"""Each mode, and the products for which Vela 5.2 uses it."""

UNUSED = {
    "activation TANH and SIGMOID": "Vela 5.2 writes a table instead",
    "accumulator F16": "Vela 5.2 never uses it",
    "rounding TRUNCATE": "Vela 5.2 uses it for no TFLite network",
    "strides of a DMA": "Vela 5.2 copies in one dimension only",
    "parallel modes other than by depth": "Vela 5.2 never uses them",
}
"""Modes of the ISA that no network reaches.

tests/backend/ethosu/simulator/ tests those that the simulator supports.
"""


def setting_modes(setting: Setting) -> Iterator[str]:
    """Yield the modes of a setting."""
    yield f"memory mode {setting.memory_mode}"
    yield f"strategy {setting.optimise}"
    if setting.arena_bytes:
        yield "small arena"
    caller = setting.io is IoStyle.CALLER
    yield "the caller's buffers" if caller else "inputs and outputs in the arena"


def stream_modes(steps: Sequence[IssuedOperation]) -> Iterator[str]:
    """Yield the modes of a command stream."""
    for step in steps:
        yield step.command
        operation = step.operation
        if isinstance(operation, Dma):
            yield _copied(operation, steps)
        else:
            yield from _modes(operation)
    yield from _schedule(steps)


def _copied(operation: Dma, steps: Sequence[IssuedOperation]) -> str:
    if operation.destination[0] is None:
        return "table copied by DMA"
    convolutions = (s.operation for s in steps if isinstance(s.operation, Convolution))
    places = {(w.region, w.base) for c in convolutions for w in (*c.weights, *c.scales)}
    read = operation.destination in places
    return "weights copied by DMA" if read else "feature map copied by DMA"


def _schedule(steps: Sequence[IssuedOperation]) -> Iterator[str]:
    """Yield the modes that the order of operations shows: stripes, cascades, double buffers."""
    copies = [s.operation for s in steps if isinstance(s.operation, Dma)]
    places = [c.destination for c in copies if _copied(c, steps).startswith("weights")]
    if any(
        first == third != second
        for first, second, third in zip(places, places[1:], places[2:], strict=False)
    ):
        yield "weights in two buffers in turn"
    order = [
        (s.operation.weights, s.operation.scales)
        for s in steps
        if isinstance(s.operation, Convolution)
    ]
    runs = [name for i, name in enumerate(order) if i == 0 or name != order[i - 1]]
    if len(runs) < len(order):
        yield "stripes: one operator in several operations"
    if len(set(runs)) < len(runs):
        yield "cascade"


def _modes(operation: Operation) -> Iterator[str]:
    if isinstance(operation, Elementwise):
        yield from _elementwise(operation)
    elif isinstance(operation, Windowed):
        yield from _windowed(operation)
    if isinstance(operation, Convolution):
        part = operation.layout.part_kernel_first
        yield "weights part-kernel first" if part else "weights depth first"
        if len(operation.weights) > 1:
            yield "weights on two cores"
    if isinstance(operation, Windowed | Elementwise):
        yield from _feature_map("ifm", operation.ifm)
        yield from _output(operation.ofm)


def _elementwise(operation: Elementwise) -> Iterator[str]:
    yield f"elementwise {operation.mode.name}"
    if operation.scalar is not None:
        yield "scalar operand"
    if operation.ifm2_is_a:
        yield "operands in reverse order"
    yield from (
        f"operand repeated along {axis}"
        for axis, repeated in zip("hwc", operation.broadcast, strict=True)
        if repeated
    )
    if operation.mode in (isa.ElementwiseMode.ADD, isa.ElementwiseMode.SUB):
        yield f"operands scaled {operation.scale_mode.name}"


def _windowed(operation: Windowed) -> Iterator[str]:
    if isinstance(operation, Pool):
        yield f"pool {operation.mode.name}"
    if operation.upscale is not isa.IfmUpscaleMode.NONE:
        yield f"upscale {operation.upscale.name}"
    yield from (f"kernel stride {s}" for s in operation.kernel.stride if s > 1)
    yield from (f"dilation {d}" for d in operation.kernel.dilation if d > 1)
    if operation.padding.any:
        yield "padding"
    yield f"accumulator {operation.ofm.acc_format.name}"


def _feature_map(name: str, fm: FeatureMap) -> Iterator[str]:
    yield f"layout {fm.layout.name}"
    yield f"{name} {NUMPY_TYPES.get(fm.dtype, fm.dtype)}"
    if any(fm.bases[1:]):
        yield "rolling buffer: a feature map of two tiles"


def _output(ofm: Output) -> Iterator[str]:
    yield from _feature_map("ofm", ofm.fm)
    per_channel = ofm.scale_mode is isa.OfmScaleMode.PER_CHANNEL
    yield "scale per channel" if per_channel else "scale global"
    yield f"rounding {ofm.rounding.name}"
    if ofm.activation.table is None:
        yield "activation by clamp"
    else:
        bits = 8 * int(ofm.fm.dtype[-1])
        yield f"activation by table of {bits} bits"


# ---- the run -------------------------------------------------------------------------------------


def modes_of(keys: Iterable[Key]) -> dict[str, Counter[str]]:
    """Return, for each product, the number of networks that use each mode."""
    modes: dict[str, Counter[str]] = {product: Counter() for product in PRODUCTS}
    for key in keys:
        network = decode_network(case_of(key).data, str(key))
        for product in PRODUCTS:
            modes[product].update(_of_network(network, setting_of(key, product)))
    return modes


def _of_network(network: Any, setting: Setting) -> set[str]:
    try:
        plan = setting.compile(network)
    except EthosgenError:
        return set()
    if not plan.partitions:
        return set()
    modes = set(setting_modes(setting))
    for partition in plan.partitions:
        modes |= set(stream_modes(load(stream_of(partition).commands, setting.accelerator).steps))
    return modes


def types() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each operator of Vela's list, and for each type "yes" or the reason against it."""
    listed = npu_operators()
    for code in sorted(set(listed["u55"]) | set(listed["u65"])):
        allowed = {t for product in PRODUCTS for t in listed[product][code].dtypes}
        rows = OPERATORS[code][1] if code in OPERATORS else ()
        rows = tuple(t for t in rows if "u55" in products_of(code, t))
        yield code, {t: _cell(code, t, t in allowed, t in rows) for t in TYPES}


def _cell(code: str, dtype: str, is_allowed: bool, is_row: bool) -> str:
    if is_row:
        return "yes"
    if not is_allowed:
        return "-"
    return REFUSED.get((code, dtype), "MISSING")


_EIGHT_BITS = "Vela: IFM has to be 8bit"

REFUSED: dict[tuple[str, str], str] = {
    ("ARG_MAX", "int16"): _EIGHT_BITS,
    ("ARG_MAX", "int32"): _EIGHT_BITS,
    **{("BATCH_MATMUL", t): "Vela: must be Int8" for t in ("uint8", "int16", "int32")},
    **{("ELU", t): "Vela: must be Int8" for t in ("uint8", "int16")},
    ("FULLY_CONNECTED", "int32"): "TFLite has no such kernel",
    ("GELU", "int16"): "Vela: must be Int8 or UInt8",
    ("HARD_SWISH", "int16"): _EIGHT_BITS,
    ("LOG", "uint8"): "Vela: must be Int8 or Int16",
    ("RSQRT", "uint8"): "Vela: must be Int8 or Int16",
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", "uint8"): "TFLite has no such kernel",
}
"""Pairs that Vela's list does not exclude, with the reason why Vela or TFLite refuses them."""


def page(modes: dict[str, Counter[str]], networks: int) -> str:
    """Return the page's text."""
    lines = [INTRODUCTION.format(networks=networks), "## Operators and types", ""]
    lines += ["| Operator | " + " | ".join(TYPES) + " |", "|---|" + "---|" * len(TYPES)]
    lines += [f"| {code} | " + " | ".join(cells.values()) + " |" for code, cells in types()]
    lines += ["", "## Modes", "", "| Mode | U55 | U65 |", "|---|---:|---:|"]
    for mode, products in MODES.items():
        cells = [f"{modes[p][mode]:,}" if p in products else "-" for p in PRODUCTS]
        lines.append(f"| {mode} | " + " | ".join(cells) + " |")
    lines += ["", "Modes that no network uses:", ""]
    lines += [f"- {mode}: {reason}" for mode, reason in UNUSED.items()]
    return "\n".join(lines) + "\n"


INTRODUCTION = """\
# Coverage of the corpus

Generated by `.venv/bin/python -m tests.corpus coverage`; do not edit.

`evidence/exactness.md` has the results of the corpus. The first table compares the corpus with
Vela's own list of operators and types for Ethos-U55 and U65. The second table counts, among
{networks} networks, those that use each mode of the command stream on each product.
"""


def keys(cases: int, product: str = "u55") -> list[Key]:
    """Return the first keys of each row of a product, and more for those of several operators."""
    return [
        Key(name, dtype, seed)
        for name, (_, dtypes) in GENERATORS.items()
        for dtype in dtypes
        if product in products_of(name, dtype)
        for seed in range(cases * (5 if name in NETWORKS else 1))
    ]
