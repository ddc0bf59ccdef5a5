"""Reports of networks for tests: planned and compiled, but neither checked nor run."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from ethosgen import flow
from ethosgen.backend import backend_of, find_accelerator, load_wrapped
from ethosgen.flow.advice import cpu_estimates, timelines_of
from ethosgen.flow.planning import PlanSettings, make_plan, make_program
from ethosgen.report.assembly import Observed, assemble
from ethosgen.report.content import NetworkReport, ReportSetting
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.report import Drawn, Report
from ethosgen.values.watch import Watch
from tests import ROOT

DIGITS = ROOT / "demo" / "digits_int8.tflite"
CUT = ("MAX_POOL_2D", "SOFTMAX")
"""Operators whose place on the CPU leaves two partitions of the digits network."""

_SETTING = ReportSetting(
    npu="ethos-u55-128",
    board=None,
    processor="cortex-m55",
    clock_hz=None,
    cpu_clock_hz=None,
    memory_mode="shared_sram",
    io="arena",
    platform=None,
    offload="all",
    compiler="Vela 5.2.0",
    on="simulate",
)


@cache
def observe(
    network: Path = DIGITS,
    npu: str = "ethos-u55-128",
    cpu_ops: tuple[str, ...] = (),
    accelerators: tuple[str, ...] = (),
) -> Observed:
    """Return a network as `ethosgen report --no-optimize` sees it; the verdict is made up."""
    read = flow.read(network, None, Watch())
    accelerator = None if npu == NO_NPU else find_accelerator(npu)
    options = OffloadOptions(cpu_ops=cpu_ops, check=False, optimize=False)
    wrapped = [load_wrapped(name) for name in accelerators]
    plan = make_plan(read, PlanSettings(accelerator, options, wrapped=wrapped), Watch())
    program = make_program(plan, Watch())
    report = Report(
        network=read.name,
        board=None,
        on="simulate",
        plan=program.summary(),
        samples=2,
        drawn=Drawn(0, {"uniform": 2}),
        golden=OutputComparison("tflm", 0, 20, 0.0, title="TensorFlow Lite Micro", version="1"),
        second=OutputComparison("litert", 3, 20, 1.0, title="LiteRT", version="2"),
        ended=True,
    )
    return Observed(
        f"ethosgen report {network.name}",
        read,
        program,
        timelines_of(plan),
        cpu_estimates(plan, "cortex-m55"),
        report,
        replace(_SETTING, npu=npu),
    )


def report_of(
    network: Path = DIGITS, npu: str = "ethos-u55-128", cpu_ops: tuple[str, ...] = ()
) -> NetworkReport:
    """Return the report of a network."""
    return assemble(observe(network, npu, cpu_ops))


def pmu_cycles(network: Path, npu: str, cpu_ops: tuple[str, ...] = ()) -> int:
    """Return the cycles of all operations of a network's partitions."""
    plan = observe(network, npu, cpu_ops).program.plan
    backend = backend_of(find_accelerator(npu))
    return sum(
        operation.cycles for part in plan.partitions for operation in backend.operations(plan, part)
    )
