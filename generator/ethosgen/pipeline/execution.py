"""Runs a plan on this machine: partitions on the NPU model, the rest through LLVM."""

from collections.abc import Sequence

from ethosgen.backend import backend_of, require_simulator
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
        runner = backend_of(plan.accelerator).runner(plan, trace) if plan.accelerator else _no_npu
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


def _no_npu(partition: Partition, _inputs: Arrays) -> Arrays:
    raise ValueError(f"{partition.name} in a plan without an NPU")
