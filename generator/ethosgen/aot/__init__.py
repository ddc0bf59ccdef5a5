"""OffloadPlan to Program: TVM compiles what the NPU does not run. Owns tvm.

    graph/       the residual graph made ready: variables as tensors, subgraphs of IF, WHILE and
                 CALL_ONCE as values, uint8 as int8, the steps in order
    cost         the estimated cycles of an operator
    kernels      a PrimFunc for each CPU operator, and its constants
    operators/   one module per family; arithmetic/ and loops/ have what families share
    packed/      operators with inner loops written by hand, for Helium
    fuse/        operators fused into the ones that write what they read
    memory/      a place for every tensor, and the proof that none is overwritten while it lives
    code/        a Relax module, the passes to one entry PrimFunc, TVM's C generator
    host/        the same PrimFuncs on this machine, for `evaluate`

`compiler` calls them in this order.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ethosgen.values.model import Graph, Model, Operator
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import OffloadPlan, Partition
from ethosgen.values.program import Program

Table = np.ndarray[Any, np.dtype[np.int8]]


def load() -> None:
    """Import TVM and the operators' code now, as the first function that needs them does else."""
    from ethosgen.aot.operators import registry

    import_module("ethosgen.aot.compiler")
    registry()


def compile_program(plan: OffloadPlan, name: str) -> Program:
    """Compile a plan to C whose symbols begin with `name`, a C identifier.

    UnsupportedError names a CPU operator that has no code.
    """
    from ethosgen.aot.compiler import compile_program as run  # tvm takes a second

    return run(plan, name)


def require_places(plan: OffloadPlan) -> None:
    """Raise RefusalError if a CPU operator needs two tensors that Vela placed over each other."""
    if plan.offsets and plan.cpu_operators:
        from ethosgen.aot.compiler import require_places as run  # tvm takes a second

        run(plan)


def cpu_operators() -> dict[str, dict[str, int]]:
    """Return the operators that there is CPU code for: name → dtype → tolerance.

    The dtype is of what the operator computes on; the tolerance is 0 where results equal TFLite
    Micro's, else by how many numbers of the type they may differ.
    """
    from ethosgen.aot.graph.schedule import COPY
    from ethosgen.aot.graph.twins import twin_builds
    from ethosgen.aot.operators import registry

    found: dict[str, dict[str, int]] = {}
    for (code, dtype), registration in registry().items():
        if code != COPY:
            found.setdefault(code, {})[dtype] = registration.ulp
    for code, dtype in twin_builds():
        found[code][dtype] = 0
    return found


def measured_by_litert() -> frozenset[tuple[str, str]]:
    """Return the operators and dtypes that TFLite Micro lacks and LiteRT is the oracle for."""
    from ethosgen.aot.graph.twins import twin_builds
    from ethosgen.aot.operators import registry

    known = (key for key, registration in registry().items() if registration.litert)
    return frozenset((*known, *twin_builds()))


def is_exact(model: Model) -> bool:
    """Return whether no operator of a network computes with functions that may round either way."""
    from ethosgen.aot.operators import code_of, deciding_dtype

    tolerances = cpu_operators()
    return not any(
        tolerances.get(code_of(op), {}).get(deciding_dtype(op, graph.tensors))
        for graph in model.graphs
        for op in graph.operators
    )


def decided_by_litert(graph: Graph) -> list[int]:
    """Return the operators of a graph that TFLite Micro lacks: LiteRT is their oracle."""
    from ethosgen.aot.operators import code_of, deciding_dtype

    lacking = measured_by_litert()
    return [
        op.index
        for op in graph.operators
        if (code_of(op), deciding_dtype(op, graph.tensors)) in lacking
    ]


def table_of(operator: Operator, graph: Graph) -> Table | None:
    """Return an int8 operator's output for each of its 256 inputs, None if it has no table."""
    from ethosgen.aot.operators import code_of, deciding_dtype, registry

    found = registry().get((code_of(operator), deciding_dtype(operator, graph.tensors)))
    if found is None or not can_run(operator, graph):
        return None
    tables = [a for a in found.build(operator, graph.tensors).constants if a.dtype == np.int8]
    return tables[0] if len(tables) == 1 and tables[0].shape == (256,) else None


def cpu_cycles(operator: Operator, graph: Graph) -> int | None:
    """Return the estimated cycles of an operator on the CPU, None if unknown or without code."""
    from ethosgen.aot.operators import estimate_cycles

    return estimate_cycles(operator, graph.tensors) if can_run(operator, graph) else None


def can_run(operator: Operator, graph: Graph) -> bool:
    """Return whether there is code for an operator of a graph."""
    from ethosgen.aot.kernels import has_kernel

    return has_kernel(operator, graph.tensors)


def evaluate(
    plan: OffloadPlan, inputs: Arrays, invoke: Callable[[Partition, Arrays], Arrays]
) -> Arrays:
    """Run the residual graph in process and return its outputs by tensor name.

    `inputs` are the network's, by name; `invoke` gets each partition with its inputs by tensor name
    and returns its outputs so, and its variables' new values. Variables restart with another
    plan object, and keep their values from call to call with the same. There are no outputs where a
    CIRCULAR_BUFFER waits for more inputs. CPU operators run from the
    PrimFuncs that `compile_program` emits, compiled by TVM for the host; tvm is imported only if
    there are any.
    """
    if not _last or _last[0][0] is not plan:
        _last[:] = [(plan, _evaluator(plan))]
    return _last[0][1](inputs, invoke)


_last: list[tuple[OffloadPlan, Callable[..., Arrays]]] = []
"""Evaluates the most recently used plan: samples of one plan follow each other."""


def _evaluator(plan: OffloadPlan) -> Callable[..., Arrays]:
    from ethosgen.aot.host.direct import find_direct
    from ethosgen.aot.host.graph import HostGraph

    return find_direct(plan) or HostGraph(plan).run
