"""Runs a plan on this machine: partitions on the NPU model, the rest through LLVM."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ethosgen.backend import require_simulator, simulation_of, wrapped_of
from ethosgen.backend.protocol import ProgramRunner
from ethosgen.backend.trace import Trace
from ethosgen.oracle.answers import Question, answer
from ethosgen.values.errors import EthosgenError, InputError, InternalError
from ethosgen.values.network import ABSENT, Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle, Partition, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only

Invoke = Callable[[Partition, Arrays], Arrays]
Evaluate = Callable[[Arrays, Invoke], Arrays]


def simulate_samples(
    plan: Plan, samples: Sequence[Arrays], watch: Watch, trace: Trace | None = None
) -> list[Arrays]:
    """Run samples in order and return their outputs by tensor name.

    `trace` observes every operation of the NPU. UnsupportedError if no model covers this NPU.
    """
    from ethosgen.aot import make_evaluator

    with watch.phase("load", "preparing the NPU model"):
        runner = PlanRunner(plan, trace)
    outputs = []
    try:
        with watch.phase("simulate", "running on this machine"):
            evaluate = make_evaluator(plan)
            for index, sample in enumerate(samples):
                watch.say(f"running on this machine: sample {index + 1} of {len(samples)}")
                if trace is not None:
                    trace.begin_sample()
                outputs.append(evaluate(sample, runner))
    except InternalError as error:
        blame_file(error, plan, samples[:1])
        raise
    finally:
        runner.close()
    if trace is not None:
        trace.check_dumps()
    return outputs


def blame_file(error: InternalError, plan: Plan, samples: Sequence[Arrays]) -> None:
    """Raise InputError instead of an internal error if the oracles refuse these samples too."""
    if plan.is_precompiled:
        return
    try:
        answer(Question(plan.network, samples))
    except EthosgenError as refusal:
        words = str(refusal).partition(";")[0]
        raise InputError(
            f"'{plan.network.name}' is damaged: {error}, and {words}; convert it again"
        ) from error


class PlanRunner:
    """Runs each partition of a plan with its backend's runner."""

    def __init__(self, plan: Plan, trace: Trace | None = None) -> None:
        self._programs: list[ProgramRunner] = []
        self._runners: dict[str, Invoke] = {
            each.name: StandIn(plan) for each in wrapped_of(plan) if not each.is_simulated
        }
        if plan.accelerator is not None:
            require_simulator(plan.accelerator)
            self._runners[""] = simulation_of(plan.accelerator).runner(plan, trace)
        for accelerator in wrapped_of(plan):
            if accelerator.is_simulated:
                self._programs.append(accelerator.runner(plan))
                self._runners[accelerator.name] = self._programs[-1]

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        """Run one partition on inputs by tensor name; return outputs by tensor name."""
        if partition.backend not in self._runners:
            raise ValueError(f"{partition.name} in a plan without its accelerator")
        return self._runners[partition.backend](partition, inputs)

    def close(self) -> None:
        """End the child processes."""
        for program in self._programs:
            program.close()


class StandIn:
    """Runs partitions' operators with our kernels, for an accelerator that cannot run here."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made: dict[str, tuple[Network, Evaluate]] = {}

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        """Run one partition on inputs by tensor name; return outputs by tensor name."""
        network, evaluate = self._made.get(partition.name) or self._make(partition)
        names = self._plan.residual.tensors
        values = (inputs[names[i].name] for i in partition.inputs)
        theirs = {t.name: array for t, array in zip(network.inputs, values, strict=True)}
        computed = evaluate(theirs, _nobody)
        outputs = (computed[tensor.name] for tensor in network.outputs)
        return dict(zip((names[i].name for i in partition.outputs), outputs, strict=True))

    def _make(self, partition: Partition) -> tuple[Network, Evaluate]:
        from ethosgen.aot import make_evaluator

        graph = self._plan.network.graph
        operators = tuple(graph.operators[i] for i in partition.operators)
        inside = {i for op in operators for i in op.outputs}
        read = dict.fromkeys(i for op in operators for i in op.inputs if i != ABSENT)
        inputs = tuple(i for i in read if i not in inside and graph.tensors[i].data is None)
        part = replace(graph, operators=operators, inputs=inputs, outputs=operators[-1].outputs)
        network = self._plan.network.edited(part)
        kernels = network, make_evaluator(plan_cpu_only(network, IoStyle.ARENA))
        self._made[partition.name] = kernels
        return kernels


def _nobody(partition: Partition, _inputs: Arrays) -> Arrays:
    raise ValueError(f"{partition.name} in a plan without accelerators")
