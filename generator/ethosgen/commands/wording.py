"""Prints projects and reports for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.comparison_table import choice_lines
from ethosgen.commands.coverage_table import coverage_lines
from ethosgen.commands.profile_table import profile_lines
from ethosgen.host.tool_sets import TOOL_SETS
from ethosgen.oracle import ORACLES, check_text
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.application import ApplicationReport
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.grounds import ground
from ethosgen.values.headline import Headline
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import CPU, Check, CpuOperator, Placing, Plan
from ethosgen.values.report import FirmwareReport
from ethosgen.values.time import share_text

MOST_EDITS = 6
"""The number of files that are named."""
MOST_PLACINGS = 20
"""The number of kinds of operators with their offers."""
MOST_REASONS = 12
"""The number of lines about CPU operators; a float network has one for each operator."""


def written_text(written: Any, verbose: bool = False) -> str:
    """Describe a project and where its API is documented: the headline of each network first."""
    what = f"{counted(len(written.files), 'file')} written" if written.files else "up to date"
    is_alone = len(written.programs) == 1
    lines = []
    for program, headline in zip(written.programs, written.headlines, strict=True):
        plan, name = program.plan, program.name
        header = f"{name}.h" if is_alone else f"{name}/{name}.h"
        lines += [
            *headline_lines(headline),
            *plan_lines(program.summary(), verbose),
            f"  arena     {program.arena_bytes} B, {program.arena.text()}{_own_figure(plan)}",
            f"  call      {name}_run(), documented in {written.directory}/model/{header}",
        ]
    if not is_alone:
        most = max(program.arena_bytes for program in written.programs)
        lines.append(f"together\n  arena     {most} B, which they share")
    return "\n".join([*lines, f"{written.directory}: {what}"])


def _own_figure(plan: Plan) -> str:
    """Return the compiler's figure for the arena, if a compiler planned a part of it."""
    if plan.accelerator is None:
        return ""
    return f" ({plan.compiler}'s own figure: {plan.sram_bytes} B)"


def plan_lines(plan: Any, verbose: bool = False) -> list[str]:
    """Describe what runs where, and why; with `verbose` also the check, and fused operators."""
    fused = [f"            fused: {_fused_text(plan.fused)}"] if plan.fused and verbose else []
    if plan.decompressed and verbose:
        fused.append(_decompressed_line(plan))
    if plan.optimization and (verbose or plan.optimization.is_news):
        fused.append(f"  optimizer {plan.optimization.text()}")
    shares = [_share_line(share) for share in plan.shares]
    shares += [f"            overlapped: {pair}" for pair in plan.overlapped]
    if plan.shares:
        shares += placing_lines(plan.placings)
        shares += _reason_lines([operator for operator in plan.cpu_operators if operator.erratum])
    if plan.npu == NO_NPU and not shares:
        return [
            f"  CPU       all {counted(len(plan.cpu_operators), 'operator')}, no NPU",
            *fused,
            *_check_lines(plan, verbose),
        ]
    if plan.npu == NO_NPU:
        return [
            *shares,
            f"  CPU       {counted(len(plan.cpu_operators), 'operator')}, no NPU",
            *fused,
            *_check_lines(plan, verbose),
        ]
    count = counted(plan.npu_operators or 0, "operator")
    if plan.npu_operators is None:
        count = f"{counted(plan.npu_operations or 0, 'operation')} of the NPU"
    head = (
        f"  NPU       {plan.npu}: {count} in "
        f"{counted(plan.partitions, 'partition')}, {len(plan.cpu_operators)} on the CPU"
    )
    return [
        head,
        *shares,
        *([] if plan.shares else map(_choice_line, plan.choices)),
        *([] if plan.shares else _reason_lines(plan.cpu_operators)),
        *(_explained(plan.cpu_operators) if verbose else []),
        *fused,
        *_check_lines(plan, verbose),
    ]


def _float_lines(plan: Any) -> list[str]:
    """Return the note with the command that quantizes a float network."""
    with_what = plan.quantize_with
    return [f"  note      computes in float32; quantize it with: {with_what}"] if with_what else []


def _share_line(share: Any) -> str:
    """Describe what a user's accelerator runs."""
    cycles = "" if share.cycles is None else f", estimated at {counted(share.cycles, 'cycle')}"
    absent = "" if share.is_simulated else "; NOT simulated: our kernels stand in for it here"
    return (
        f"  {share.name:<9} {share.title}: {counted(share.operators, 'operator')} in "
        f"{counted(share.partitions, 'partition')}{cycles}{absent}"
    )


def placing_lines(placings: Sequence[Placing]) -> list[str]:
    """Describe each operator's place, the reason, and each backend's offer; equal ones once."""
    alike: dict[tuple[str, ...], list[Placing]] = {}
    for placing in placings:
        shown = (
            offer for offer in placing.offers if not offer.refusal.startswith("it does not run")
        )
        offers = "; ".join(f"{offer.backend} {_offer_text(offer)}" for offer in shown)
        alike.setdefault((placing.code, placing.on, placing.reason, offers), []).append(placing)
    lines = []
    for (code, on, reason, offers), members in alike.items():
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        why = "" if on == CPU else f" ({reason})"
        lines.append(f"            {code} ({members[0].output}{more}) on {on or 'no backend'}{why}")
        lines.append(f"              {offers}")
    if len(lines) > 2 * MOST_PLACINGS:
        left = len(lines) // 2 - MOST_PLACINGS
        more = f"            and {counted(left, 'more kind')} of operators, listed by --json"
        lines[2 * MOST_PLACINGS :] = [more]
    return lines


def _offer_text(offer: Any) -> str:
    if offer.refusal:
        return f"refuses: {offer.refusal}"
    if offer.cycles is None:
        return f"takes it{f', of unknown cycles: {offer.unknown}' if offer.unknown else ''}"
    return counted(offer.cycles + offer.start, "cycle")


_ACCESSES = {
    True: "; only the NPU's memory accesses were checked, not its results",
    False: "; neither the NPU's results nor its memory accesses were checked",
    None: "",
}


def _check_lines(plan: Any, verbose: bool) -> list[str]:
    """Describe the check of the plan; by default only if it was skipped, or outputs differed."""
    check: Check | None = plan.check
    if check is None:
        return []
    cases = [f"            differing network: {case}" for case in check.cases]
    if check.oracle is not None and not verbose:
        return cases
    if check.oracle is None:
        return [f"  check     skipped: {check.skipped}{_ACCESSES[check.has_checked_accesses]}"]
    lines = [f"  check     {check_text(check, plan.npu, plan.steps)}"]
    if check.driven:
        tried = f"{counted(check.driven, 'operator')} alone at the ends of their inputs"
        lines.append(f"            {tried}")
    if check.left_out:
        count = counted(check.left_out, "output")
        lines.append(f"            {count} left out: {check.left_out_why}")
    return [*lines, *cases]


def _decompressed_line(plan: Any) -> str:
    """Describe the decoded constants and their cost in flash."""
    counts = plan.decompressed
    again = "" if plan.npu == NO_NPU else ", before the compiler packs what the NPU reads"
    return (
        f"            decompressed ahead: {counted(counts['constants'], 'constant')}, "
        f"{counts['bytes_after']} B instead of {counts['bytes_before']} B{again}"
    )


def _fused_text(kinds: Sequence[str], between: str = "; ") -> str:
    """List each kind of chain or operator once, with its count."""
    return between.join(f"{n} x {kind}" if n > 1 else kind for kind, n in Counter(kinds).items())


def _reason_lines(operators: Sequence[CpuOperator]) -> list[str]:
    """Explain why operators are on the CPU, each reason once, in at most MOST_REASONS lines."""
    alike: dict[str, list[CpuOperator]] = {}
    for operator in operators:
        alike.setdefault(operator.reason, []).append(operator)
    lines = [f"            {_operators_text(same)}: {reason}" for reason, same in alike.items()]
    left = len(lines) - MOST_REASONS
    if left > 1:
        lines[MOST_REASONS:] = [f"            and {counted(left, 'more reason')}, listed by --json"]
    return lines


def _explained(operators: Sequence[CpuOperator]) -> list[str]:
    """Name the commands that explain the reasons."""
    codes = dict.fromkeys(ground(operator.reason, operator.erratum) for operator in operators)
    return [f"            details: ethosgen explain {code}" for code in codes]


def _operators_text(operators: Sequence[CpuOperator]) -> str:
    """Return "SOFTMAX (scores)" for one operator, "3 operators (2 x CONV_2D, ADD)" for several."""
    if len(operators) == 1:
        return f"{operators[0].code} ({operators[0].output})"
    kinds = _fused_text([operator.code for operator in operators], ", ")
    return f"{counted(len(operators), 'operator')} ({kinds})"


def _choice_line(choice: Any) -> str:
    """Compare both processors' estimates for a part of the network, and name the chosen one."""
    cpu = "an unknown number of" if choice.cpu_cycles is None else f"about {choice.cpu_cycles:,}"
    count = f"{counted(choice.operators, 'operator')}"
    npu = f"{counted(choice.npu_cycles, 'cycle')} on the NPU"
    verdict = f"estimated: {choice.on.upper()}"
    return f"            part {choice.part}, {count}: {npu}, {cpu} on the CPU, {verdict}"


def headline_lines(headline: Headline) -> list[str]:
    """Return the verdict, in colour, what it covers, and a line for each figure."""
    colour = "green" if headline.is_good else "red" if headline.verdict == "FAIL" else "yellow"
    return headline.lines(click.style(headline.verdict, fg=colour, bold=True))


def report_text(report: Any, verbose: bool = False, verdict: str = "") -> str:
    """Describe the result of a run, of one network or of several: the headline first.

    With `verbose` all counters, sizes and comparisons follow. `verdict` replaces the report's own.
    """
    headline = replace(report.headline, verdict=verdict or report.verdict)
    if isinstance(report, FirmwareReport):
        shared = ", ".join(f"{key} {value}" for key, value in report.shared_bytes.items())
        sizes = [size_lines(report.flash_bytes, report.ram_bytes), f"  shared    {shared} B"]
        return "\n".join(
            [
                *headline_lines(headline),
                *(sizes if verbose else []),
                *application_lines(report.application),
                *coverage_lines(report.coverage),
                *(report_text(network_report, verbose) for network_report in report.reports),
            ]
        )
    lines = [
        *headline_lines(headline),
        *plan_lines(report.plan, verbose),
        *([] if report.advice else _float_lines(report.plan)),
        *_comparison_lines(report, verbose),
        *(f"  {title:<9} {text}" for title, text in report.findings.items()),
        *(_counter_lines(report) if verbose else []),
        *_slice_lines(report),
        *(choice_lines(report.sram_choice) if report.sram_choice else []),
        *(profile_lines(report.profile) if report.profile else []),
        *coverage_lines(report.coverage),
        *_advice_lines(report),
        *application_lines(report.application),
    ]
    return "\n".join(lines)


def _comparison_lines(report: Any, verbose: bool) -> list[str]:
    """Describe the samples and each comparison; by default only what the headline leaves out."""
    lines = []
    for comparison in filter(None, (report.golden, report.second)):
        says_more = comparison.mismatches or comparison.close
        if verbose or (comparison is report.second and says_more):
            count = counted(comparison.elements, "output")
            lines.append(f"  {comparison.oracle:<9} {count}: {comparison_text(comparison)}")
    if report.fidelity:
        lines.append(f"  fidelity  {report.fidelity.text()}")
    return [*(_drawn_lines(report) if verbose else []), *lines]


def _counter_lines(report: Any) -> list[str]:
    """Return the sizes by kind, and what processor, NPU and clock counted."""
    lines, plan = [], report.plan
    if report.flash_bytes and report.ram_bytes:
        lines.append(size_lines(report.flash_bytes, report.ram_bytes))
    if report.network_bytes:
        own = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in report.network_bytes.items())
        lines.append(f"  its own   {own} B")
    if report.cpu_instructions is not None:
        lines.append(
            f"  CPU       {counted(report.cpu_instructions, 'instruction')} per inference"
            f"{'' if plan.npu == NO_NPU else ', without the wait for the NPU'}; "
            f"{report.init_instructions} for init; {report.stack_bytes} B of stack"
        )
    if report.cpu_time is not None:
        lines.append(f"            {report.cpu_time.text()}{_counting(report)}")
    if report.run_ns:
        times = ", ".join(f"{key} {value:,}" for key, value in report.run_ns.items())
        simulated = " in QEMU, not of a processor" if report.on == "qemu" else ""
        lines.append(f"  time      ns of an inference{simulated}: {times}")
    return lines + _pmu_lines(report)


def _slice_lines(report: Any) -> list[str]:
    """Describe an inference in slices."""
    if report.slice_instructions is None:
        return []
    longest = f"{counted(report.slice_instructions, 'instruction')} in the longest"
    time = f": {report.slice_time.text()}" if report.slice_time else ""
    return [f"  slices    {longest}{time}"]


def _pmu_lines(report: Any) -> list[str]:
    """Describe what the NPU's performance monitor counted, and the NPU's time."""
    if not report.npu_pmu:
        return []
    counts = ", ".join(f"{key} {value}" for key, value in report.npu_pmu.items())
    source = "the NPU model" if report.on == "qemu" else "counted by the NPU"
    npu = share_text(report.npu_pmu["cycles"], report.npu_hz, source)
    return [f"  PMU       {counts}", f"            {npu}"]


def _counting(report: Any) -> str:
    """Return the command that installs llvm-mca, if cycles are estimated only for lack of it."""
    is_stored = report.on == "qemu" and not report.cpu_time.is_counted
    missing = is_stored and TOOL_SETS["cycles"].missing
    return "; count them by: ethosgen doctor --install cycles" if missing else ""


def application_lines(application: ApplicationReport | None) -> list[str]:
    """Describe an application's run, next to the networks'."""
    if application is None:
        return []
    return [f"  {application.app:<9} {application.source}, {application.text()}"]


def application_text(application: ApplicationReport) -> str:
    """Describe the run of an application, whose lines were shown as they arrived."""
    names = " and ".join(application.networks)
    work = f"  {application.work.text(application.items)}\n" if application.work else ""
    return (
        f"{application.app} with {names} on {application.board} ({application.on}), input "
        f"{application.source}\n  {application.text()}\n{work}{application.verdict}"
    )


def _drawn_lines(report: Any) -> list[str]:
    """Describe how random samples were drawn."""
    if report.drawn is None:
        return []
    shares = ", ".join(f"{count} {name}" for name, count in report.drawn.distributions.items())
    few = "; fewer than usual, as this network is large" if report.drawn.is_short else ""
    return [f"  samples   {shares}; seed {report.drawn.seed}{few}"]


def _advice_lines(report: Any) -> list[str]:
    """Advise what to do after a missing or bad verdict."""
    golden = report.golden
    if golden is None:
        return [
            "  no golden output: this file is compiled already, and the comparison needs the "
            "uncompiled original; pass it with --golden MODEL.tflite, or golden outputs for the "
            "samples in --input with --golden OUTPUTS.npz"
        ]
    if report.ended and golden.left_out and not golden.elements:
        return ["  nothing was compared: pass other values with --input"]
    if report.ended and not golden.elements:
        return [
            "  nothing was compared: every sample ended where a CIRCULAR_BUFFER waits for inputs; "
            "use more with --samples or --input"
        ]
    step = _next_step(report) if golden.mismatches else ""
    return [f"  next: {step}"] if step else []


def _next_step(report: Any) -> str:
    """Return the next step when outputs differ, "" if there is nothing to try."""
    culprit = report.diagnosis.culprit if report.diagnosis else None
    elsewhere = "evidence/exactness.md lists known differences"
    if culprit and report.diagnosis.is_firmware:
        return "docs/troubleshooting.md says what to check: caches, memory, your drivers"
    if culprit and culprit.on != "cpu":
        return f"keep it on the CPU with --cpu-ops {culprit.code}; {elsewhere}"
    if report.golden.oracle not in ORACLES:
        return "if rounding explains it, allow so many steps with --fidelity STEPS"
    if report.plan.npu != NO_NPU:
        return f"use --npu none or --cpu-ops OPERATOR to see which part differs; {elsewhere}"
    return ""


def comparison_text(comparison: OutputComparison) -> str:
    """Describe how many outputs differ, and by how much."""
    far = f"by at most {comparison.max_abs_diff:g}"
    if comparison.skipped:
        return f"skipped, {comparison.skipped}"
    if comparison.mismatches:
        return f"{comparison.mismatches} differ, {far}"
    if comparison.steps:
        within = f"within {steps_text(comparison.steps)}, as allowed"
        return f"{comparison.close} differ, {far}, {within}" if comparison.close else "equal"
    if comparison.close and comparison.oracle not in ORACLES:
        return f"{comparison.close} differ, {far}, within the limit of --fidelity"
    if comparison.close:
        tolerance = ORACLES[comparison.oracle].tolerance
        near = f"up to {tolerance:g} of the largest is allowed for expf and similar functions"
        return f"{comparison.close} differ within the tolerance, {far} ({near})"
    return "equal"


def edits_line(directory: Path, edits: Mapping[str, str]) -> str:
    """Warn that a project's library differs from what ethosgen wrote, and name the files."""
    named = [f"{path} ({what})" for path, what in edits.items()]
    more = f" and {len(named) - MOST_EDITS} more" if len(named) > MOST_EDITS else ""
    return (
        f"warning: the library in '{directory}' is not what ethosgen generated: "
        f"{', '.join(named[:MOST_EDITS])}{more}; the verdict covers the files as they were built"
    )


def size_lines(flash: Any, ram: Any) -> str:
    """Describe a firmware's sizes."""

    def parts(sizes: Any) -> str:
        return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in sizes.items())

    return f"  flash     {parts(flash)} B\n  RAM       {parts(ram)} B"


def stack_lines(bounds: Any) -> list[str]:
    """Describe the stack that a firmware's networks need."""
    lines = []
    for bound in bounds:
        if bound.need is None:
            lines.append(f"  stack     {bound.network}: no bound, because {bound.why}")
            continue
        interrupt = bound.need.interrupt
        what = "a thread's registers" if bound.need.in_thread else "the NPU's interrupt"
        of = f", of them {interrupt} B for {what}" if interrupt else ""
        lines.append(f"  stack     {bound.network}: at most {bound.need.bytes} B{of}")
    return lines
