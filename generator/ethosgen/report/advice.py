"""Advice from the costs of a network's layers: remedies, their gains, and commands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ethosgen.report.content import ReportLayer
from ethosgen.report.highlights import cpu_shares
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.advice import Improvement, ranked
from ethosgen.values.grammar import counted
from ethosgen.values.profile import NPU
from ethosgen.values.time import percent

LEAST = 0.02
"""The smallest gain that is worth a line: less is within the error of an estimate."""
DOMINANT = 0.5
"""A layer with more of the time is named, in a network of at least FEW layers."""
FEW = 4
NEARLY_FULL = 0.8
"""The part of a memory from which on it is named."""
TIME = "time"
_CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
"""Operators with advice of their own."""
ASKED = "you asked for it"
"""How a reason begins that is the user's own."""


@dataclass(frozen=True)
class AdviceFacts:
    """The basis of advice, besides the layers.

    `command` is the command that tries an option, without the option. `channels_first` are inputs
    whose TRANSPOSE could be saved, `cpu_shares` the fractions of the time that layers on the NPU
    would take on the CPU. `flash` is the fraction of the flash that weights take, None if the board
    is unknown.
    """

    command: str
    npu: str
    channels_first: Sequence[str] = ()
    quantize_with: str = ""
    cpu_shares: Mapping[int, float] = field(default_factory=dict)
    flash: float | None = None
    can_be_apart: bool = True


def advise(layers: Sequence[ReportLayer], facts: AdviceFacts) -> tuple[Improvement, ...]:
    """Return advice with an estimated gain, the largest first."""
    pieces = (
        *_layout(layers, facts),
        *_float_ends(layers, facts),
        *_floats(facts),
        *_left_on_cpu(layers, facts),
        *_faster_on_cpu(layers, facts),
        *_dominant(layers),
        *_full(facts),
    )
    return ranked(piece for piece in pieces if piece.share >= LEAST)


def _layout(layers: Sequence[ReportLayer], facts: AdviceFacts) -> Iterator[Improvement]:
    """Name the TRANSPOSEs after channels-first inputs."""
    if not facts.channels_first:
        return
    moves = [layer for layer in layers if layer.code == "TRANSPOSE" and not layer.inputs]
    share = sum(layer.share or 0 for layer in moves)
    names = ", ".join(f"'{name}'" for name in facts.channels_first)
    yield Improvement(
        "channels-first",
        f"pass {names} with the channels last: the transpose takes {percent(share)} of the time",
        share,
        TIME,
        f"{facts.command} --input-layout nhwc",
        "--input-layout nhwc",
    )


def _float_ends(layers: Sequence[ReportLayer], facts: AdviceFacts) -> Iterator[Improvement]:
    """Name the conversions of float inputs and outputs of a quantized network."""
    read = {i for layer in layers for i in layer.inputs}
    first = [layer for layer in layers if layer.code == "QUANTIZE" and not layer.inputs]
    last = [x for x in layers if x.code == "DEQUANTIZE" and x.operator not in read]
    share = sum(layer.share or 0 for layer in (*first, *last))
    if share and not facts.quantize_with:
        yield Improvement(
            "float-ends",
            "pass quantized values instead of floats, quantized by: ethosgen quantize --io int8; "
            f"the conversions take {percent(share)} of the time",
            share,
            TIME,
        )


def _floats(facts: AdviceFacts) -> Iterator[Improvement]:
    """Advise to quantize a network whose weights take four bytes each."""
    if facts.quantize_with:
        yield Improvement(
            "float",
            "quantize the network: int8 weights take a quarter of the flash, and run on the NPU",
            0.75,
            "weights",
            facts.quantize_with,
        )


def _left_on_cpu(layers: Sequence[ReportLayer], facts: AdviceFacts) -> Iterator[Improvement]:
    """Name the costliest reason why operators are not on the NPU."""
    if facts.npu == NO_NPU or facts.quantize_with:
        return
    known = [
        layer
        for layer in layers
        if layer.share and not layer.reason.startswith(ASKED) and layer.code not in _CONVERSIONS
    ]
    for group in cpu_shares(known):
        codes = ", ".join(dict.fromkeys(layer.code for layer in group.layers))
        yield Improvement(
            "off-npu",
            f"replace {counted(len(group.layers), 'operator')} that the NPU does not run, {codes}: "
            f"{percent(group.share)} of the time, since {group.reason}",
            group.share,
            TIME,
        )


def _faster_on_cpu(layers: Sequence[ReportLayer], facts: AdviceFacts) -> Iterator[Improvement]:
    """Name the layers that are estimated slower on the NPU than on the CPU."""
    gains = {
        layer.operator: layer.share - facts.cpu_shares[layer.operator]
        for layer in layers
        if layer.on == NPU and layer.share and layer.operator in facts.cpu_shares
    }
    better = {index: gain for index, gain in gains.items() if gain > 0}
    if better:
        share = sum(better.values())
        yield Improvement(
            "faster-on-cpu",
            f"let the CPU run what is faster there: {counted(len(better), 'operator')}, at most "
            f"{percent(share)} of the time",
            share,
            TIME,
            f"{facts.command} --offload auto",
            "--offload auto",
        )


def _dominant(layers: Sequence[ReportLayer]) -> Iterator[Improvement]:
    """Name a layer that takes most of the time."""
    longest = max(layers, key=lambda layer: layer.share or 0, default=None)
    if longest is None or (longest.share or 0) < DOMINANT or len(layers) < FEW:
        return
    share = longest.share or 0
    size = "x".join(map(str, longest.shape))
    yield Improvement(
        "dominant-layer",
        f"shrink {longest.code} '{longest.output}' ({size}): it alone takes {percent(share)} of "
        "the time",
        share,
        TIME,
    )


def _full(facts: AdviceFacts) -> Iterator[Improvement]:
    """Name a flash that weights nearly fill."""
    if facts.flash is not None and facts.flash > NEARLY_FULL and facts.can_be_apart:
        yield Improvement(
            "flash",
            f"put the weights into external flash: they take {percent(facts.flash)} of the board's",
            facts.flash,
            "flash",
            f"{facts.command} --weights blob",
            "--weights blob",
        )
