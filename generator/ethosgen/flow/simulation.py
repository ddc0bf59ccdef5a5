"""Runs a network on this machine: its partitions on the NPU model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethosgen.backend import load_wrapped, require_simulator
from ethosgen.backend.trace import Trace
from ethosgen.flow.lowered import accelerators_for
from ethosgen.flow.planning import PlanSettings, choose_accelerator, make_plan, read
from ethosgen.samples.files import save_samples
from ethosgen.values.network import Network
from ethosgen.values.outcome import constant_outputs
from ethosgen.values.plan import EXACT, OffloadOptions, Plan
from ethosgen.values.report import Report
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.bisection import diagnose
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.fidelity import measure_fidelity, require_runtime
from ethosgen.verdict.golden_file import require_inputs
from ethosgen.verdict.judgement import USUAL, Criteria, Inputs, choose_samples, judge, with_examples


def simulate(
    path: Path,
    *,
    npu: str | None,
    inputs: Inputs,
    output_path: Path | None = None,
    options: OffloadOptions = EXACT,
    criteria: Criteria = USUAL,
    trace: Trace | None = None,
    reading: ReadOptions = AS_GIVEN,
    accelerators: Sequence[str] = (),
    watch: Watch,
) -> Report:
    """Run a network with its partitions on the NPU model, in process.

    `trace` observes every operation of the NPU. `accelerators` are users' own, by name or folder.
    """
    network = read(path, None, watch, reading)
    accelerator = choose_accelerator(network, npu, None)
    if accelerator is not None:
        require_simulator(accelerator)
    require_inputs(criteria.golden, inputs.are_given)
    require_runtime([network], criteria)
    inputs, criteria = with_examples(network, inputs, criteria)
    samples = choose_samples(network, inputs)
    wrapped = [load_wrapped(name) for name in accelerators_for([path], accelerators)]
    settings = PlanSettings(accelerator, options, wrapped=wrapped)

    def make_as_is(part: Network) -> Plan:
        return make_plan(part, settings.unchecked(), Watch())

    plan = make_plan(network, settings, watch)
    outputs = simulate_samples(plan, samples, watch, trace)
    if output_path is not None:
        save_samples(output_path, outputs)
    golden, second = judge(
        network, samples, outputs, watch, replace(criteria, oracle=options.oracle, steps=plan.steps)
    )
    return Report(
        network=network.name,
        board=None,
        on="simulate",
        plan=plan.summary(),
        samples=len(samples),
        drawn=inputs.drawn(network, len(samples)),
        golden=golden,
        second=second,
        fidelity=measure_fidelity(network, samples, outputs, criteria, watch),
        ended=True,
        constant=constant_outputs(samples, outputs),
        wall_s=watch.wall_s,
        diagnosis=diagnose(network, samples, golden, make_as_is, watch),
    )
