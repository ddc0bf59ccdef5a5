"""Plans that consist of one partition, as most do: no schedule, one call."""

from collections.abc import Callable

import numpy as np

from ethosgen.values.errors import InputError
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import OffloadPlan, Partition

Invoke = Callable[[Partition, Arrays], Arrays]
"""Runs a partition: inputs by tensor name to outputs by tensor name."""
Evaluate = Callable[[Arrays, Invoke], Arrays]
"""Runs a network once: inputs by tensor name to outputs by tensor name."""


def find_direct(plan: OffloadPlan) -> Evaluate | None:
    """Return a function that runs such a plan on inputs by name, None for other plans."""
    graph = plan.residual
    if len(plan.partitions) != 1 or len(graph.operators) != 1:
        return None
    (partition,) = plan.partitions
    given = [graph.tensors[i] for i in partition.inputs]
    if any(t.is_variable for t in given) or not set(graph.outputs) <= set(partition.outputs):
        return None
    if set(partition.inputs) != set(graph.inputs):
        return None
    inputs = tuple((t.name, t.shape, np.dtype(t.dtype)) for t in graph.input_tensors())
    outputs = tuple(t.name for t in graph.output_tensors())
    is_all = partition.outputs == graph.outputs

    def evaluate(arrays: Arrays, invoke: Invoke) -> Arrays:
        for name, shape, dtype in inputs:
            array = arrays.get(name)
            if array is None or array.shape != shape or array.dtype != dtype:
                raise InputError(complaint(name, shape, dtype, arrays))
        made = invoke(partition, arrays)
        return made if is_all else {name: made[name] for name in outputs}

    return evaluate


def complaint(
    name: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], arrays: Arrays
) -> str:
    """Return the error message for an input that does not fit."""
    array = arrays.get(name)
    if array is None:
        return f"input '{name}' is missing; there is {', '.join(arrays) or 'none'}"
    return (
        f"input '{name}' is {array.dtype.name} {list(array.shape)}; the network expects "
        f"{dtype.name} {list(shape)}"
    )
