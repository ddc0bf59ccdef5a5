"""The residual graph prepared for code generation: ordered steps, each output a separate value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ethosgen.aot.graph.fusion import fuse_paddings
from ethosgen.aot.graph.halves import widen_constants
from ethosgen.aot.graph.states import add_states
from ethosgen.aot.graph.storage import COPY
from ethosgen.aot.graph.subgraphs import lift
from ethosgen.aot.schedule.twins import sign
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.lives import times
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor
from ethosgen.values.plan import IoStyle, Partition, Plan
from ethosgen.values.program import RowFeed


@dataclass(frozen=True)
class Step:
    """One operator in order of execution; `partition` is set where an accelerator runs it."""

    operator: Operator
    partition: Partition | None
    tail: tuple[Operator, ...] = ()
    """Operators fused into this step, applied to the first one's output (see chains.py)."""
    kernel: Kernel | None = None
    """The step's kernel, if already built."""
    in_place: bool = False
    """Whether the kernel reads each input of the output's size only where it stores next."""
    over: tuple[int, ...] = ()
    """Inputs that the kernel reads only where it stores next, although others it may not."""
    turns: int = 1
    """The turns of a chain."""
    shares: tuple[float, ...] = ()
    """Of a chain, the most of each operator that a turn computes, or a row that is fed."""

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operator, and those fused with it."""
        return (self.operator, *self.tail)

    @property
    def on_npu(self) -> bool:
        """Whether the plan's NPU runs it, whose compiler placed tensors and reuses their bytes."""
        return self.partition is not None and self.partition.on_npu


@dataclass(frozen=True)
class StepSchedule:
    """The steps, in order. `graph` is the residual graph with COPY operators appended.

    `place` names the subgraph for messages; it is empty for the entry graph. `waits` has, for each
    step that only starts an accelerator, the step before which its end is awaited (`waits.py`).
    """

    plan: Plan
    graph: Graph
    steps: tuple[Step, ...]
    place: str = ""
    waits: Mapping[int, int] = field(default_factory=dict)
    stream_cycles: int = 0
    """The estimated cycles that chains of bands take more than whole tensors."""
    feed: RowFeed | None = None
    """Of a network whose input is fed by rows, to its first step."""

    @cached_property
    def ports(self) -> frozenset[int]:
        """The tensors that the caller holds, outside the arena."""
        graph, plan = self.graph, self.plan
        fed = graph.inputs if plan.options.schedule.feed else ()
        owned = (*graph.inputs, *graph.outputs) if plan.io is IoStyle.CALLER else ()
        return frozenset((*fed, *owned))

    @cached_property
    def clock(self) -> list[int]:
        """The time of each step, then that of the end, as backends count it."""
        return times(step.on_npu for step in self.steps)

    def reads(self, step: Step) -> tuple[int, ...]:
        """Return the tensors that a step reads, without constants and variables."""
        return tuple(i for i in self._inputs(step) if not self._is_variable(i))

    def writes(self, step: Step) -> tuple[int, ...]:
        """Return the tensors that a step writes, without variables."""
        return tuple(i for i in self._outputs(step) if not self._is_variable(i))

    def updates(self, step: Step) -> tuple[int, ...]:
        """Return the variables that a step reads and may update."""
        return tuple(dict.fromkeys(i for i in self._inputs(step) if self._is_variable(i)))

    def new_values(self, step: Step) -> tuple[int, ...]:
        """Return the backend's tensors for the new values of a partition's variables."""
        return tuple(i for i in self._outputs(step) if self._is_variable(i))

    def _is_variable(self, index: int) -> bool:
        return self.graph.tensors[index].is_variable and index not in self.graph.inputs

    def _inputs(self, step: Step) -> tuple[int, ...]:
        ends = step.partition.inputs if step.partition else step.operator.inputs
        inner = {*step.operator.outputs, *(i for op in step.tail for i in op.outputs)}
        more = (i for op in step.tail for i in op.inputs if i not in inner)
        ends = (*ends, *more)
        return tuple(i for i in ends if i != ABSENT and self.graph.tensors[i].data is None)

    @staticmethod
    def _outputs(step: Step) -> tuple[int, ...]:
        last = step.tail[-1] if step.tail else step.operator
        return step.partition.outputs if step.partition else last.outputs


def make_schedule(plan: Plan) -> StepSchedule:
    """Return the plan's operators in order, with variables, states and subgraphs lifted.

    Adds a copy for an output that is a constant or a variable. If the caller owns the buffers, it
    also adds one for an output that is an input or is listed twice, since one pointer cannot serve
    both. PADs are fused.
    """
    graphs = [add_states(graph, f" of '{graph.name}'") for graph in plan.network.graphs]
    return schedule_graph(plan, lift(add_states(plan.residual), graphs))


def schedule_subgraph(graph: Graph, place: str) -> StepSchedule:
    """Return the schedule of a lifted subgraph, which runs on the CPU in its caller's buffers."""
    plan = Plan(Network(graph.name, (graph,)), IoStyle.CALLER, graph)
    return replace(schedule_graph(plan, graph), place=place)


def schedule_graph(plan: Plan, lifted: Graph) -> StepSchedule:
    """Return the schedule of a plan whose residual graph is already lifted."""
    ready = _with_output_copies(widen_constants(lifted), plan.io)
    graph = fuse_paddings(sign(ready), plan.offsets)
    partitions = {int(partition.operator): partition for partition in plan.partitions}
    steps = tuple(Step(op, partitions.get(op.index)) for op in graph.operators)
    return StepSchedule(plan, graph, steps)


def _with_output_copies(graph: Graph, io: IoStyle) -> Graph:
    tensors, operators = list(graph.tensors), list(graph.operators)
    free = max((operator.index for operator in operators), default=-1) + 1
    outputs: list[int] = []
    for index in graph.outputs:
        taken = index in graph.inputs or index in outputs
        kept = graph.tensors[index].data is not None or (
            graph.tensors[index].is_variable and index not in graph.inputs
        )
        if not kept and not (taken and io is IoStyle.CALLER):
            outputs.append(index)
            continue
        target = _uninitialized(graph.tensors[index], len(tensors))
        operators.append(Operator(free, COPY, (index,), (target.index,)))
        free += 1
        tensors.append(target)
        outputs.append(target.index)
    return replace(
        graph, tensors=tuple(tensors), operators=tuple(operators), outputs=tuple(outputs)
    )


def _uninitialized(tensor: Tensor, index: int) -> Tensor:
    return replace(tensor, index=index, data=None, is_variable=False)
