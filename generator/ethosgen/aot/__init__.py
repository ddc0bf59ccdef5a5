"""Plan to Program: TVM compiles the operators on the CPU. Owns tvm.

    graph/       prepare the residual graph: variables as tensors, subgraphs of IF, WHILE and
                 CALL_ONCE as values, uint8 as int8, ordered steps
    cost         estimate the cycles of an operator
    kernels      build a PrimFunc and constants for each CPU operator
    operators/   one module per operator family; arithmetic/ and loops/ hold their common code
    libraries/   choose, operator by operator, the cheapest of the libraries' kernels and the plain
                 one: helium/, dsp/, thumb/ and floats/, on one framework/
    fuse/        fuse operators into the producers of their inputs
    memory/      plan an address for every tensor, and prove that none is overwritten while live
    code/        build a Relax module, lower it to one entry PrimFunc, run TVM's C generator
    host/        run the same PrimFuncs on this machine, for `make_evaluator`

`compiler` calls them in this order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from ethosgen.aot.host.direct import Evaluate, find_direct
from ethosgen.values.extension import Extension
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import Plan
from ethosgen.values.program import Program

Table = np.ndarray[Any, np.dtype[np.int8]]


def load_operators() -> None:
    """Import the operators now instead of at the first use."""
    from ethosgen.aot.registry import registry

    import_module("ethosgen.aot.compiler")
    registry()


def load() -> None:
    """Import TVM and the operators now instead of at the first use."""
    from ethosgen.aot import tvm

    tvm.load()
    load_operators()


def compile_program(plan: Plan, name: str) -> Program:
    """Compile a plan to C whose symbols begin with `name`, a C identifier.

    UnsupportedError names a CPU operator without code.
    """
    from ethosgen.aot.compiler import compile_program as run  # tvm takes a second

    return run(plan, name)


def require_places(plan: Plan) -> None:
    """Raise RefusalError if a CPU operator uses two tensors that a backend placed on each other."""
    if plan.offsets and plan.cpu_operators:
        from ethosgen.aot.compiler import require_places as run  # tvm takes a second

        run(plan)


def cpu_operators() -> dict[str, dict[str, int]]:
    """Return the operators with CPU code: name → dtype → tolerance.

    The dtype is the one that the operator computes in. The tolerance, in units in the last place,
    is 0 if results equal TFLite Micro's.
    """
    from ethosgen.aot.graph.storage import COPY
    from ethosgen.aot.registry import registry
    from ethosgen.aot.schedule.twins import twin_builds

    tolerances: dict[str, dict[str, int]] = {}
    for (code, dtype), registration in registry().items():
        if code != COPY:
            tolerances.setdefault(code, {})[dtype] = registration.ulp
    for code, dtype in twin_builds():
        tolerances[code][dtype] = 0
    return tolerances


def measured_by_litert() -> frozenset[tuple[str, str]]:
    """Return (operator, dtype) pairs that TFLite Micro lacks; LiteRT is their oracle."""
    from ethosgen.aot.registry import registry
    from ethosgen.aot.schedule.twins import twin_builds

    known = (key for key, registration in registry().items() if registration.litert)
    return frozenset((*known, *twin_builds()))


def is_exact(network: Network) -> bool:
    """Return whether all operators of a network have tolerance 0."""
    from ethosgen.aot.registry import registration_of

    known = (
        registration_of(op, graph.tensors) for graph in network.graphs for op in graph.operators
    )
    return not any(registration is not None and registration.ulp for registration in known)


def decided_by_litert(graph: Graph) -> list[int]:
    """Return the indices of operators that TFLite Micro lacks; LiteRT is their oracle."""
    from ethosgen.aot.registry import code_of, deciding_dtype

    lacking = measured_by_litert()
    return [
        op.index
        for op in graph.operators
        if (code_of(op), deciding_dtype(op, graph.tensors)) in lacking
    ]


def table_of(operator: Operator, graph: Graph) -> Table | None:
    """Return an int8 operator's outputs for all 256 inputs, None if it has no lookup table."""
    from ethosgen.aot.registry import registration_of

    registration = registration_of(operator, graph.tensors)
    if registration is None or not can_run(operator, graph):
        return None
    tables = [a for a in registration.build(operator, graph.tensors).arrays if a.dtype == np.int8]
    return tables[0] if len(tables) == 1 and tables[0].shape == (256,) else None


def cpu_cycles(
    operator: Operator, graph: Graph, extension: Extension = Extension.HELIUM
) -> int | None:
    """Return the estimated cycles of an operator on the CPU, None if unknown or without code."""
    from ethosgen.aot.kernels import prepared
    from ethosgen.aot.libraries import least_cycles

    if not can_run(operator, graph):
        return None
    operator, tensors = prepared(operator, graph.tensors)
    return least_cycles(replace(graph, tensors=tuple(tensors)), operator, extension)


@dataclass(frozen=True)
class ProcessorSide:
    """The CPU's side of a plan on a processor; `ethosgen.backend.CpuSide` documents the methods."""

    extension: Extension = Extension.HELIUM

    def cpu_cycles(self, operator: Operator, graph: Graph) -> int | None:
        """Return an operator's estimated cycles on this processor."""
        return cpu_cycles(operator, graph, self.extension)

    def require_places(self, plan: Plan) -> None:
        """Raise RefusalError for a plan whose layout the CPU's operators cannot use."""
        require_places(plan)

    def table_of(self, operator: Operator, graph: Graph) -> Table | None:
        """Return the lookup table of an 8-bit operator, None if it has none."""
        return table_of(operator, graph)


def c_function(function: Any, kinds: Sequence[str]) -> str:
    """Return a user's PrimFunc as C; `ethosgen.backend.protocol.LowerToC` documents it."""
    from ethosgen.aot.code.user_function import c_function as make  # tvm takes a second

    return make(function, kinds)


def can_run(operator: Operator, graph: Graph) -> bool:
    """Return whether there is CPU code for an operator of a graph."""
    from ethosgen.aot.kernels import has_kernel

    return has_kernel(operator, graph.tensors)


def make_evaluator(plan: Plan) -> Evaluate:
    """Return a function that runs the residual graph in process.

    Its arguments are the network's inputs, by name, and a function that runs a partition: it gets
    the inputs by tensor name and returns the outputs and its variables' new values in the same way.
    It returns the outputs by tensor name, or none if a CIRCULAR_BUFFER waits for more inputs.
    Variables keep their values between calls. CPU operators run from the PrimFuncs that
    `compile_program` emits, compiled by TVM for the host; tvm is imported only for them.
    """
    return make_resettable(plan)[0]


def make_resettable(plan: Plan) -> tuple[Evaluate, Callable[[], None]]:
    """Return the same, and a function that resets variables to their initial values."""
    from ethosgen.aot.host.graph import HostGraph

    direct = find_direct(plan)
    if direct is not None:  # it has no variables
        return direct, lambda: None
    graph = HostGraph(plan)
    return graph.run, graph.reset
