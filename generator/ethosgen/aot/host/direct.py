"""Plans that consist of one partition, as most do: no schedule, one call."""

from collections.abc import Callable

from ethosgen.samples.fitting import fitting
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan

Invoke = Callable[[Partition, Arrays], Arrays]
"""Runs a partition: inputs by tensor name to outputs by tensor name."""
Evaluate = Callable[[Arrays, Invoke], Arrays]
"""Runs a network once: inputs by tensor name to outputs by tensor name."""


def find_direct(plan: Plan) -> Evaluate | None:
    """Return a function that runs such a plan on inputs by name, None for other plans."""
    graph = plan.residual
    if len(plan.partitions) != 1 or len(graph.operators) != 1:
        return None
    (partition,) = plan.partitions
    sources = [graph.tensors[i] for i in partition.inputs]
    if any(t.is_variable for t in sources) or not set(graph.outputs) <= set(partition.outputs):
        return None
    if set(partition.inputs) != set(graph.inputs):
        return None
    inputs = graph.input_tensors()
    outputs = tuple(t.name for t in graph.output_tensors())
    is_all = partition.outputs == graph.outputs

    def evaluate(arrays: Arrays, invoke: Invoke) -> Arrays:
        for tensor in inputs:
            fitting(arrays, tensor)
        results = invoke(partition, arrays)
        return results if is_all else {name: results[name] for name in outputs}

    return evaluate
