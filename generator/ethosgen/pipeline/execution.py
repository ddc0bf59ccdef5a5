"""Runs a plan on this machine: partitions on the NPU model, the rest through LLVM."""

from collections.abc import Sequence

from ethosgen.backend import Runner, backend_of, require_simulator, wrapped_of
from ethosgen.pipeline.blame import blaming
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan
from ethosgen.values.trace import Trace
from ethosgen.values.watch import Watch


def simulate_samples(
    plan: Plan, samples: Sequence[Arrays], watch: Watch, trace: Trace | None = None
) -> list[Arrays]:
    """Run samples in order and return their outputs by tensor name.

    `trace` observes every operation of the NPU. UnsupportedError if no model covers this NPU.
    """
    from ethosgen.aot import make_evaluator

    if plan.accelerator is not None:
        require_simulator(plan.accelerator)
    what = "running the NPU model" if plan.accelerator else "running on this machine"
    with watch.stage("load", "preparing the NPU model"):
        runner = PlanRunner(plan, trace)
    outputs = []
    with watch.stage("simulate", what):
        with blaming(plan.network):
            evaluate = make_evaluator(plan)
        for index, sample in enumerate(samples):
            watch.say(f"{what}: sample {index + 1} of {len(samples)}")
            if trace is not None:
                trace.begin_sample()
            with blaming(plan.network):
                outputs.append(evaluate(sample, runner))
    if trace is not None:
        trace.check_dumps()
    return outputs


class PlanRunner:
    """Runs each partition of a plan by the runner of its backend, made on first use."""

    def __init__(self, plan: Plan, trace: Trace | None = None) -> None:
        self._runners: dict[str, Runner] = {}
        if plan.accelerator is not None:
            self._runners[""] = backend_of(plan.accelerator).runner(plan, trace)
        for one in wrapped_of(plan):
            if any(partition.backend == one.name for partition in plan.partitions):
                self._runners[one.name] = one.runner(plan)

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        """Run one partition on inputs by tensor name; return outputs by tensor name."""
        if partition.backend not in self._runners:
            raise ValueError(f"{partition.name} in a plan without its accelerator")
        return self._runners[partition.backend](partition, inputs)
