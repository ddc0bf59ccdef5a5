"""Describes pipelines and their runs for people."""

from typing import Any

from ethosgen.commands.wording import comparison_text, plan_lines
from ethosgen.values.grammar import counted


def written_text(written: Any) -> str:
    """Describe the stages of a pipeline."""
    lines = [f"{written.directory}: {counted(len(written.stages), 'element')} written"]
    for stage in written.stages:
        lines.append(
            f"{stage.name} ({stage.board}): {counted(stage.operators, 'operator')}, about "
            f"{counted(stage.cycles, 'cycle')}, with hand-over "
            f"{counted(round(stage.seconds * 1e6), 'microsecond')}; hands over "
            f"{counted(stage.sent_bytes, 'byte')}"
        )
        lines += plan_lines(stage.plan)
    cycles = f"about {counted(written.one_element_cycles, 'cycle')} by estimate"
    if written.why_not_alone:
        lines.append(f"one element: {written.why_not_alone}")
    else:
        lines.append(f"one element: {cycles}, in {written.directory}/one_element to compare")
    return "\n".join(lines)


def run_text(report: Any) -> str:
    """Describe the run of a pipeline: its elements, throughput and latency, with one element's."""
    lines = [
        f"{report.network} on {counted(len(report.elements), 'element')}, link {report.link}, "
        f"{counted(report.samples, 'sample')}"
    ]
    for comparison in filter(None, (report.golden, report.second)):
        of = counted(comparison.elements, "output")
        lines.append(f"  {comparison.oracle:<9} {of}: {comparison_text(comparison)}")
    if report.fidelity:
        lines.append(f"  fidelity  {report.fidelity.text()}")
    lines += [f"  {title:<9} {text}" for title, text in report.findings.items()]
    width = max(len(element.name) for element in report.elements)
    head = ("CPU", "NPU", "receive", "send", "wire", "in all", "estimated")
    lines.append(f"  {'cycles':<{width}} {''.join(f'{title:>11}' for title in head)}")
    for element in report.elements:
        row = (
            element.cpu,
            element.npu,
            element.receive,
            element.send,
            element.wire,
            element.cycles,
            element.estimated,
        )
        mark = "  slowest" if element is report.slowest else ""
        lines.append(f"  {element.name:<{width}} {''.join(f'{value:>11,}' for value in row)}{mark}")
    return "\n".join([*lines, *_whole_lines(report), report.verdict])


def _whole_lines(report: Any) -> list[str]:
    rate = report.clock_hz / max(report.interval, 1)
    lines = [
        f"  pipeline  an output every {counted(report.interval, 'cycle')} ({rate:,.1f} a second at "
        f"{report.clock_hz / 1e6:g} MHz); latency {counted(report.latency, 'cycle')}, "
        f"{report.full_latency:,} if full"
    ]
    if report.alone is None:
        return [*lines, f"  alone     one element cannot hold it: {report.why_not_alone}"]
    gain = report.alone / max(report.interval, 1)
    lines.append(
        f"  alone     one element: an output every {counted(report.alone, 'cycle')}, and as much "
        f"latency; the pipeline's throughput is {gain:.2f} of its own"
    )
    if not report.is_alone_equal:
        lines.append("  alone     its outputs differ from the pipeline's")
    return lines
