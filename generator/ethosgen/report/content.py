"""The content of `ethosgen report`: a network's parts, their places, time, memory, exactness.

The page and `--json` show this one value. Times are in cycles of `ReportSetting.clock_hz`. The
CPU's counts are in `Costs.cpu_unit`, and one of them takes a cycle of its clock on the time axis.
Unknown figures are None.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from ethosgen.report.quality import MeasuredQuality
from ethosgen.values.advice import Improvement
from ethosgen.values.coverage import CodeCoverage
from ethosgen.values.headline import Headline
from ethosgen.values.optimization import Optimization
from ethosgen.values.time import CpuTime, percent

_SHOWN_LAYERS = 5
"""Layers that a notebook shows."""
FORMAT = 1
"""Grows if a key disappears or changes its meaning."""

CYCLES = "cycles"
NANOSECONDS = "nanoseconds"
"""Units of time; others are the ticks of a board's timer."""

ESTIMATED = "estimated"
MEASURED = "measured"


@dataclass(frozen=True)
class PortFacts:
    """An input or output of the network."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True)
class Subject:
    """The network's file. `constant_bytes` counts weights, biases and other constants as read."""

    name: str
    file: str
    format: str
    bytes: int
    sha256: str
    operators: int
    macs: int
    constant_bytes: int
    inputs: tuple[PortFacts, ...]
    outputs: tuple[PortFacts, ...]


@dataclass(frozen=True)
class ReportSetting:
    """The network's planned setting; `board` is None for any board.

    `on` is the runner: "simulate", or a target; `board_on_qemu` says whether QEMU runs the board.
    The clocks are the board's, None if unknown; the first is the NPU's, or without one the
    processor's. `doubts` are sentences about facts of the board that nobody has verified.
    """

    npu: str
    board: str | None
    processor: str
    clock_hz: int | None
    cpu_clock_hz: int | None
    memory_mode: str
    io: str
    platform: str | None
    offload: str
    compiler: str
    on: str
    board_on_qemu: bool = False
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperandFacts:
    """A tensor that an operator reads or writes, and its quantization.

    `role` is "input", "weights", "bias", "constant", "shape" or "output". `scales` counts the
    scales, from `least_scale` to `most_scale`: one for a tensor, or one for each channel; 0 if it
    is not quantized. `zero_point` is None if channels have different ones, or without a scale.
    """

    role: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: int
    least_scale: float | None
    most_scale: float | None
    zero_point: int | None


@dataclass(frozen=True)
class ReportLayer:
    """An operator of the network.

    `on` is "npu", "cpu", a user's accelerator, or "" if it disappears in others or needs no code;
    `reason` says why. `inputs` are the operators that write its inputs. `merged_into` is the
    operator whose function also computes it. `cycles` are the NPU's, `cpu` is the processor's
    count, and `share` the fraction of the inference that both take. `constant_bytes` are its
    constants in the file, `encoded_bytes` its weights and scales as the NPU reads them.
    `utilisation` is the fraction of the NPU's MAC units that work on average while it runs; None if
    it multiplies nothing there.
    """

    operator: int
    code: str
    output: str
    shape: tuple[int, ...]
    dtype: str
    on: str
    partition: str
    reason: str
    erratum: str
    inputs: tuple[int, ...]
    merged_into: int | None
    macs: int
    cycles: int | None
    cpu: int | None
    share: float | None
    constant_bytes: int
    encoded_bytes: int | None
    utilisation: float | None = None
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    operands: tuple[OperandFacts, ...] = ()


@dataclass(frozen=True)
class PartitionFacts:
    """A call of an accelerator: its operators, its commands, and why it ends where it does."""

    name: str
    on: str
    operators: tuple[int, ...]
    events: int
    command_bytes: int
    cycles: int | None
    why_it_ends: str


@dataclass(frozen=True)
class Event:
    """Work of one unit: `lane` is "npu", "dma", "cpu", or an accelerator; times are in cycles.

    `operator` is the one that it serves, None if unknown. `read` and `written` are bytes by memory.
    """

    lane: str
    name: str
    operator: int | None
    step: int
    start: int
    end: int
    macs: int = 0
    read: Mapping[str, int] = dataclasses.field(default_factory=dict)
    written: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class MemoryBlock:
    """Bytes in use from slot `first` to slot `last`, both included.

    `kind` is "input", "output", "tensor", "variable" (keeps its value), "weights" (copied from
    flash) or "workspace".
    """

    name: str
    kind: str
    offset: int
    bytes: int
    first: int
    last: int
    operator: int | None


@dataclass(frozen=True)
class Area:
    """A memory: the arena, or a fast scratch outside it. `scratch_bytes` is the NPU's part.

    `peak_slot` is the first slot in which most bytes are in use, `peak_bytes` their number.
    """

    name: str
    bytes: int
    scratch_bytes: int
    peak_slot: int
    peak_bytes: int
    blocks: tuple[MemoryBlock, ...]


@dataclass(frozen=True)
class Slot:
    """An operation of the NPU, or a call of the CPU; `start` and `end` are cycles."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class MemoryUse:
    """The memories over time, in slots."""

    slots: tuple[Slot, ...]
    areas: tuple[Area, ...]


@dataclass(frozen=True)
class RooflinePoint:
    """A layer on the NPU: products for each byte moved, products in a cycle, and its limit.

    `roof` is the most products in a cycle that peak and memories allow at this intensity, `limit`
    what sets it: "MACs", or a memory.
    """

    operator: int
    macs: int
    bytes: int
    cycles: int
    intensity: float
    macs_per_cycle: float
    roof: float
    limit: str


@dataclass(frozen=True)
class Roofline:
    """The NPU's limits: products in a cycle, and bytes in a cycle by memory."""

    peak_macs: int
    bytes_per_cycle: Mapping[str, float]
    points: tuple[RooflinePoint, ...]


@dataclass(frozen=True)
class CostSummary:
    """Time and memory of one inference.

    `npu_cycles` is the estimate from the commands, `compiler_cycles` the compiler's own;
    `unassigned_cycles` are those of operations that the compiler assigns to no operator.
    `cpu_kind` is ESTIMATED or MEASURED, `cpu_unit` the unit of the count, `cpu_unassigned` the part
    of `cpu` that belongs to no operator, such as starts of the NPU, and `cpu_unknown` the number of
    steps without a figure. `cycles` is the end of the timeline, in `time_unit`: "cycles", or the
    target's unit of time, as on Linux. `seconds` is the headline's time of an inference, and
    `inference_cycles` the same at the board's clock: the timeline lacks what the CPU does outside
    steps, and has the cost of the counters. `weights_bytes` and `command_bytes` are the NPU's,
    `code_constant_bytes` the CPU's. `cpu_time` is the CPU's share by the source that all commands
    use, None if the core has none. `arena_bound_bytes` is a lower bound for any plan of the same
    steps.
    """

    npu_cycles: int | None
    unassigned_cycles: int | None
    compiler_cycles: int | None
    cpu: int
    cpu_kind: str
    cpu_unit: str
    cpu_unassigned: int
    cpu_unknown: int
    cycles: int
    inference_cycles: int | None
    time_unit: str
    seconds: float | None
    arena_bytes: int
    arena_bound_bytes: int
    fast_bytes: int
    state_bytes: int
    weights_bytes: int
    command_bytes: int
    code_constant_bytes: int
    flash_bytes: Mapping[str, int] | None
    ram_bytes: Mapping[str, int] | None
    library_bytes: Mapping[str, int] | None
    stack_bytes: int | None
    cpu_time: CpuTime | None = None


@dataclass(frozen=True)
class Verdict:
    """The comparison with the oracle that decides, the other's, and the network's own runtime.

    `text` and the other sentences are for people.
    """

    verdict: str
    samples: int
    seed: int | None
    oracle: str | None
    oracle_version: str | None
    elements: int | None
    mismatches: int | None
    second: str
    fidelity: str
    check: str
    findings: Mapping[str, str]


@dataclass(frozen=True)
class ReportedErratum:
    """An erratum that keeps operators off the NPU."""

    name: str
    reason: str
    operators: tuple[int, ...]


@dataclass(frozen=True)
class NetworkReport:
    """Everything that the page shows."""

    command: str
    ethosgen: str
    headline: Headline
    subject: Subject
    setting: ReportSetting
    costs: CostSummary
    verdict: Verdict
    layers: tuple[ReportLayer, ...]
    partitions: tuple[PartitionFacts, ...]
    timeline: tuple[Event, ...]
    memory: MemoryUse
    roofline: Roofline | None
    errata: tuple[ReportedErratum, ...]
    optimization: Optimization | None = None
    """What the optimizer did; the layers are those of the optimized network."""
    advice: tuple[Improvement, ...] = ()
    """What would help, the largest gain first."""
    quality: MeasuredQuality | None = None
    """Accuracy and quantization error, if the user measured them."""
    coverage: CodeCoverage | None = None
    """What the samples reach of the generated C, if it was measured."""
    format: int = FORMAT

    def __repr__(self) -> str:
        """Return "<NetworkReport PASS: digits on corstone300 (ethos-u55-128, qemu)>"."""
        return f"<NetworkReport {self.headline.verdict}: {self.headline.subject}>"

    def _repr_html_(self) -> str:
        """Return the verdict, and the layers that take most of the time, for a notebook."""
        longest = sorted(self.layers, key=lambda layer: -(layer.share or 0))[:_SHOWN_LAYERS]
        rows = "".join(
            f"<tr><td>{escape(layer.code)}</td><td>{escape(layer.on)}</td>"
            f"<td>{percent(layer.share or 0)}</td></tr>"
            for layer in longest
        )
        head = "<tr><th>longest layers</th><th>on</th><th>time</th></tr>"
        return f"{self.headline.html()}<table>{head}{rows}</table>"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        time = self.costs.cpu_time
        answer = dataclasses.asdict(self)
        answer["headline"] = self.headline.as_json()
        answer["coverage"] = self.coverage.as_json() if self.coverage else None
        answer["advice"] = [piece.as_json() for piece in self.advice]
        answer["costs"]["cpu_time"] = time.as_json() if time else None
        return answer
