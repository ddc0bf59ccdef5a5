"""The report of one network: all its parts as one value."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from ethosgen.backend.timeline import NpuTimeline
from ethosgen.report.calls import CallFacts, calls_of
from ethosgen.report.content import (
    CYCLES,
    ESTIMATED,
    MEASURED,
    NANOSECONDS,
    CostSummary,
    Event,
    NetworkReport,
    PortFacts,
    ReportLayer,
    ReportSetting,
    Subject,
    Verdict,
)
from ethosgen.report.layers import make_errata, make_layers, make_partitions
from ethosgen.report.memory import make_memory
from ethosgen.report.roofline import make_roofline, with_utilisation
from ethosgen.report.timeline import end_of, make_timeline
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import Check
from ethosgen.values.profile import Profile
from ethosgen.values.program import Program
from ethosgen.values.report import Report
from ethosgen.version import __version__

_OF_A_CLOCK = (CYCLES, "instructions")
"""What a profile may count that takes a cycle each."""


@dataclass(frozen=True)
class Observed:
    """The findings about a network.

    `network` is the one that was read, `timelines` the NPU's by partition, `cpu_cycles` estimates
    by operator of the residual graph, `report` the run's, with its profile if it was measured.
    """

    command: str
    network: Network
    program: Program
    timelines: Mapping[str, NpuTimeline]
    cpu_cycles: Mapping[int, int | None]
    report: Report
    setting: ReportSetting


def assemble(observed: Observed) -> NetworkReport:
    """Return the report."""
    program, plan = observed.program, observed.program.plan
    profile = _profile(observed.report)
    axis, cpu = observed.setting.clock_hz, observed.setting.cpu_clock_hz
    pace = axis / cpu if axis and cpu else 1.0
    calls = calls_of(program, observed.timelines, observed.cpu_cycles, profile, pace)
    layers = make_layers(plan, calls)
    roofline = make_roofline(layers, calls)
    layers = with_utilisation(layers, roofline)
    timeline = make_timeline(calls)
    commands = [blob for blob in plan.blobs if blob.part == "commands"]
    on_npu = [partition for partition in plan.partitions if partition.on_npu]
    sizes = {p.name: len(blob.data) for p, blob in zip(on_npu, commands, strict=False)}
    return NetworkReport(
        command=observed.command,
        ethosgen=__version__,
        headline=observed.report.headline,
        subject=_subject(observed.network),
        setting=observed.setting,
        costs=_costs(observed, calls, timeline, layers),
        verdict=_verdict(observed.report, plan.check),
        layers=layers,
        partitions=make_partitions(plan, calls, sizes),
        timeline=timeline,
        memory=make_memory(program, calls),
        roofline=roofline,
        errata=make_errata(layers),
        optimization=plan.optimization,
        advice=observed.report.advice,
    )


def _subject(network: Network) -> Subject:
    source = network.source
    data = source.data if source else b""
    tensors = {t.index: t for t in network.graph.tensors if t.data is not None}
    return Subject(
        name=network.name,
        file=source.name if source else "",
        format=source.format if source else "",
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        operators=len(network.graph.operators),
        macs=sum(network.graph.macs(operator) for operator in network.graph.operators),
        constant_bytes=sum(len(t.data or b"") for t in tensors.values()),
        inputs=tuple(map(_port, network.inputs)),
        outputs=tuple(map(_port, network.outputs)),
    )


def _port(tensor: Tensor) -> PortFacts:
    return PortFacts(tensor.name, tensor.shape, tensor.dtype, tensor.bytes)


def _costs(
    observed: Observed,
    calls: tuple[CallFacts, ...],
    timeline: tuple[Event, ...],
    layers: tuple[ReportLayer, ...],
) -> CostSummary:
    program, plan, report = observed.program, observed.program.plan, observed.report
    profile, clock = _profile(report), observed.setting.clock_hz
    npu = [call.timeline.cycles for call in calls if call.timeline]
    unknown = sum(call.cpu is None for call in calls if call.is_top)
    cycles = end_of(timeline)
    is_ticking = profile is None or profile.unit in _OF_A_CLOCK
    seconds = cycles / clock if clock and is_ticking and not unknown else None
    latency = report.headline.latency
    if seconds is not None and latency is not None:
        seconds = latency.seconds
    if profile is not None and profile.unit == NANOSECONDS and not npu:
        seconds = cycles / 1e9
    return CostSummary(
        npu_cycles=sum(npu) if npu else None,
        unassigned_cycles=_unassigned(calls) if npu else None,
        compiler_cycles=plan.npu_cycles if npu else None,
        cpu=sum(call.cpu or 0 for call in calls),
        cpu_kind=ESTIMATED if profile is None else MEASURED,
        cpu_unit=CYCLES if profile is None else profile.unit,
        cpu_unassigned=sum(call.cpu or 0 for call in calls) - sum(x.cpu or 0 for x in layers),
        cpu_unknown=unknown,
        cycles=cycles,
        inference_cycles=round(seconds * clock) if seconds and clock and is_ticking else None,
        time_unit=profile.unit if profile and not is_ticking and not npu else CYCLES,
        seconds=seconds,
        arena_bytes=program.arena_bytes,
        arena_bound_bytes=program.arena_bound_bytes,
        fast_bytes=plan.fast_bytes,
        state_bytes=program.state_bytes,
        weights_bytes=plan.part_bytes("weights"),
        command_bytes=plan.part_bytes("commands"),
        code_constant_bytes=sum(len(constant.data) for constant in program.constants),
        flash_bytes=report.flash_bytes,
        ram_bytes=report.ram_bytes,
        library_bytes=report.library_bytes,
        stack_bytes=report.stack_bytes,
        cpu_time=report.cpu_time,
    )


def _profile(report: Report) -> Profile | None:
    """Return a run's profile, in cycles of the core's model if they are known."""
    return report.profile.in_cycles() if report.profile else None


def _unassigned(calls: tuple[CallFacts, ...]) -> int:
    return sum(
        event.cycles
        for call in calls
        for event in (call.timeline.events if call.timeline else ())
        if call.operator_of(event) is None
    )


def _verdict(report: Report, check: Check | None) -> Verdict:
    golden = report.golden
    return Verdict(
        verdict=report.verdict,
        samples=report.samples,
        seed=report.drawn.seed if report.drawn else None,
        oracle=(golden.title or golden.oracle) if golden else None,
        oracle_version=(golden.version or None) if golden else None,
        elements=golden.elements if golden else None,
        mismatches=golden.mismatches if golden else None,
        second=_compared(report.second) if report.second else "",
        fidelity=report.fidelity.text() if report.fidelity else "",
        check=_checked(check),
        findings=report.findings,
    )


def _compared(other: OutputComparison) -> str:
    who = f"{other.title or other.oracle} {other.version}".strip()
    if other.skipped:
        return f"{who}: not asked, {other.skipped}"
    of = counted(other.elements, "output")
    differing = other.mismatches + other.close
    return f"{who}: {differing:,} of {of} differ" if differing else f"{who}: {of} equal"


def _checked(check: Check | None) -> str:
    if check is None:
        return ""
    if check.oracle is None:
        return f"skipped: {check.skipped}"
    drawn = f"{counted(check.elements, 'output')} of {counted(check.samples, 'sample')}"
    return f"{drawn} equal before anything was written"
