"""The residual graph on this machine: partitions through a callback, CPU operators through LLVM."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ethosgen.aot.schedule import Schedule, Step, make_schedule
from ethosgen.aot.variables import find_variables, initial_value
from ethosgen.errors import InputError
from ethosgen.model import Tensor
from ethosgen.outcome import Arrays
from ethosgen.plan import OffloadPlan, Partition

Array = np.ndarray[Any, Any]
Invoke = Callable[[Partition, Arrays], Arrays]
Run = Callable[[Mapping[int, Array]], None]
"""Runs a step: reads and writes arrays by tensor index."""

_last: list[tuple[OffloadPlan, "HostGraph"]] = []
"""The graph compiled last: samples of one plan follow each other."""


def evaluate(plan: OffloadPlan, inputs: Arrays, invoke: Invoke) -> Arrays:
    """Run a plan; see `ethosgen.aot.evaluate`."""
    if not _last or _last[0][0] is not plan:
        _last[:] = [(plan, HostGraph(plan))]
    return _last[0][1].run(inputs, invoke)


class HostGraph:
    """A plan whose CPU operators are compiled for this machine."""

    def __init__(self, plan: OffloadPlan) -> None:
        self.schedule = make_schedule(plan)
        self.functions = _compile(self.schedule)
        held = find_variables(self.schedule, alignment=1)
        tensors = self.schedule.graph.tensors
        self.variables = {one.tensor: initial_value(tensors[one.tensor]) for one in held}
        self.variable_of = {i: one.tensor for one in held for i in (one.tensor, *one.aliases)}

    def run(self, inputs: Arrays, invoke: Invoke) -> Arrays:
        """Run once; outputs by tensor name. The variables keep their new values."""
        graph = self.schedule.graph
        values = {t.index: _checked(inputs, t) for t in graph.input_tensors()}
        for index, step in enumerate(self.schedule.steps):
            if step.partition:
                values |= self._invoke(step, step.partition, values, invoke)
                continue
            writes = {i: _empty(graph.tensors[i]) for i in self.schedule.writes(step)}
            self.functions[index](values | writes | self.variables)
            values |= writes
        return {t.name: values[t.index].copy() for t in graph.output_tensors()}

    def _invoke(
        self, step: Step, partition: Partition, values: Mapping[int, Array], invoke: Invoke
    ) -> dict[int, Array]:
        tensors = self.schedule.graph.tensors
        given = {tensors[i].name: values[i] for i in self.schedule.reads(step)}
        held = {tensors[i].name: self.variable_of[i] for i in self.schedule.updates(step)}
        given |= {name: self.variables[i] for name, i in held.items()}
        made = invoke(partition, given)
        self.variables |= {i: np.asarray(made[name]) for name, i in held.items()}
        return {i: np.asarray(made[tensors[i].name]) for i in self.schedule.writes(step)}


def _compile(schedule: Schedule) -> dict[int, Run]:
    """Return a function for each step on the CPU; tvm is imported if there is one."""
    if all(step.partition for step in schedule.steps):
        return {}
    from ethosgen.aot.llvm import compile_steps

    return compile_steps(schedule)


def _checked(inputs: Arrays, tensor: Tensor) -> Array:
    array = inputs.get(tensor.name)
    if array is None:
        raise InputError(
            f"input '{tensor.name}' is missing; there is {', '.join(inputs) or 'none'}"
        )
    if array.shape != tensor.shape or array.dtype.name != tensor.dtype:
        raise InputError(
            f"input '{tensor.name}' is {array.dtype.name} {list(array.shape)}; the network wants "
            f"{tensor.dtype} {list(tensor.shape)}"
        )
    return np.ascontiguousarray(array).reshape(tensor.shape)


def _empty(tensor: Tensor) -> Array:
    return np.empty(tensor.shape, tensor.dtype)
