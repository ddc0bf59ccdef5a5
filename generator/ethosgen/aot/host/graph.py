"""Run the residual graph on this machine: partitions by a callback, CPU operators by LLVM."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethosgen.aot.graph.subgraphs import Subgraph, subgraphs_of
from ethosgen.aot.host.direct import Invoke
from ethosgen.aot.host.step import Array, NotReadyError, Run
from ethosgen.aot.memory.overlaps import check_lives
from ethosgen.aot.schedule.schedule import Step, StepSchedule, make_schedule, schedule_subgraph
from ethosgen.aot.schedule.variables import find_variables, initial_value
from ethosgen.samples.fitting import fitting
from ethosgen.values.network import CONTROL, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan

RunStep = Callable[[Step, Mapping[int, Array]], dict[int, Array]]
"""Runs a partition's step on values by tensor index and returns its outputs."""


class HostGraph:
    """A plan whose CPU operators are compiled for this machine."""

    def __init__(self, plan: Plan) -> None:
        self.schedule = _fused(make_schedule(plan))
        check_lives(self.schedule)
        self.steps = HostSteps(self.schedule)
        held = find_variables(self.schedule, alignment=1)
        self.variables: dict[int, Array] = {}
        self.variable_of = {
            i: variable.tensor for variable in held for i in (variable.tensor, *variable.aliases)
        }
        self.reset()

    def reset(self) -> None:
        """Give all variables their initial values."""
        tensors = self.schedule.graph.tensors
        self.variables = {i: initial_value(tensors[i]) for i in set(self.variable_of.values())}

    def run(self, inputs: Arrays, invoke: Invoke) -> Arrays:
        """Run one inference and return the outputs by tensor name; variables keep their new values.

        There are no outputs while a CIRCULAR_BUFFER waits for more inputs.
        """
        graph = self.schedule.graph

        def run_partition(step: Step, values: Mapping[int, Array]) -> dict[int, Array]:
            return self._invoke(step, step.partition, values, invoke) if step.partition else {}

        values = {t.index: fitting(inputs, t) for t in graph.input_tensors()}
        try:
            values = self.steps.run(values, self.variables, run_partition)
        except NotReadyError:
            return {}
        return {t.name: values[t.index].copy() for t in graph.output_tensors()}

    def _invoke(
        self, step: Step, partition: Partition, values: Mapping[int, Array], invoke: Invoke
    ) -> dict[int, Array]:
        tensors = self.schedule.graph.tensors
        arguments = {tensors[i].name: values[i] for i in self.schedule.reads(step)}
        held = {tensors[i].name: self.variable_of[i] for i in self.schedule.updates(step)}
        arguments |= {name: self.variables[i] for name, i in held.items()}
        results = invoke(partition, arguments)
        self.variables |= {i: np.asarray(results[name]) for name, i in held.items()}
        return {i: np.asarray(results[tensors[i].name]) for i in self.schedule.writes(step)}


class HostSteps:
    """Runs the steps of a schedule: operators by LLVM, subgraphs recursively."""

    def __init__(self, schedule: StepSchedule) -> None:
        self.schedule = schedule
        self._functions = _compile(schedule)
        self._inner = {
            index: [HostSubgraph(subgraph) for subgraph in subgraphs_of(step.operator)]
            for index, step in enumerate(schedule.steps)
            if step.operator.code in CONTROL
        }

    def run(
        self, values: Mapping[int, Array], variables: Mapping[int, Array], run_partition: RunStep
    ) -> dict[int, Array]:
        """Return the value of every tensor, given the inputs; update the variables."""
        graph, known = self.schedule.graph, dict(values)
        for index, step in enumerate(self.schedule.steps):
            if step.partition:
                known |= run_partition(step, known)
            elif index in self._inner:
                known |= self._run_subgraphs(step, self._inner[index], known, variables)
            else:
                writes = {i: _empty(graph.tensors[i]) for i in self.schedule.writes(step)}
                self._functions[index](known | writes | dict(variables))
                known |= writes
        return known

    def _run_subgraphs(
        self,
        step: Step,
        inner: Sequence["HostSubgraph"],
        known: Mapping[int, Array],
        variables: Mapping[int, Array],
    ) -> dict[int, Array]:
        """Run IF, WHILE or CALL_ONCE as TFLite Micro does."""
        operator, tensors = step.operator, self.schedule.graph.tensors
        values = [
            known[i] if tensors[i].data is None else tensors[i].array()
            for i in operator.inputs
            if not tensors[i].is_variable
        ]
        kept = [variables[i] for i in operator.inputs if tensors[i].is_variable]
        if operator.code == "CALL_ONCE":
            has_run, *kept = kept
            if not has_run[0]:
                inner[0].run([], kept)
                has_run[0] = True
            return {}
        if operator.code == "IF":
            chosen = inner[0] if values[0].flat[0] else inner[1]
            values = chosen.run(values[1:], kept)
        else:
            condition, body = inner
            while condition.run(values, kept)[0].flat[0]:
                values = body.run(values, kept)
        return dict(zip(operator.outputs, values, strict=True))


class HostSubgraph:
    """Runs a subgraph on this machine."""

    def __init__(self, subgraph: Subgraph) -> None:
        self._subgraph = subgraph
        self._steps = HostSteps(schedule_subgraph(subgraph.graph, f"'{subgraph.graph.name}'"))

    def run(self, inputs: Sequence[Array], variables: Sequence[Array]) -> list[Array]:
        """Return the outputs; update the variables, which are in the subgraph's order."""
        graph = self._steps.schedule.graph
        values = dict(zip(graph.inputs, map(np.ascontiguousarray, inputs), strict=True))
        held = dict(zip(self._subgraph.variables, variables, strict=True))
        results = self._steps.run(values, held, _no_partition)
        return [results[i] for i in graph.outputs]


def _no_partition(step: Step, _values: Mapping[int, Array]) -> dict[int, Array]:
    raise ValueError(f"{step.operator.code} of a subgraph runs on the NPU")


def _fused(schedule: StepSchedule) -> StepSchedule:
    """Return the fused schedule; tvm is imported only if an operator runs on the CPU."""
    if all(step.partition or step.operator.code in CONTROL for step in schedule.steps):
        return schedule
    from ethosgen.aot.fuse.fusion import fuse_chains

    return fuse_chains(schedule, ())


def _compile(schedule: StepSchedule) -> dict[int, Run]:
    """Return a function for each CPU step; tvm is imported only if there is one."""
    if all(step.partition or step.operator.code in CONTROL for step in schedule.steps):
        return {}
    from ethosgen.aot.host.llvm import compile_steps

    return compile_steps(schedule)


def _empty(tensor: Tensor) -> Array:
    return np.empty(tensor.shape, tensor.dtype)
