"""Known differences: the operators that errata keep on the CPU."""

from ethosgen.backend import compiler_of
from ethosgen.backend.protocol import DivisionTask
from ethosgen.oracle import DEFAULT, SECOND
from ethosgen.values.allocation import Allocation, OperatorIndex
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.verdict.planner import Planner


def errata_of(task: DivisionTask, oracle: str = DEFAULT.name) -> Allocation[OperatorIndex]:
    """Return the operators that errata affect."""
    from ethosgen import aot

    compiler = compiler_of(task.accelerator)
    allocation = compiler.errata(task, oracle)
    lacking = aot.decided_by_litert(task.network.graph) if oracle == DEFAULT.name else []
    if lacking:  # in a bisection each operator has its own
        theirs = compiler.errata(task, SECOND.name)
        allocation |= {i: why for i, why in theirs.items() if i in lacking}
    return allocation


def known_errata(network: Network, planner: Planner, oracle: str) -> Allocation[OperatorIndex]:
    """Return the operators that errata keep on the CPU.

    UnsupportedError if the CPU has no code for one of them.
    """
    graph, allocation = network.graph, planner.errata(network, oracle)
    for index, why in allocation.items():
        operator = graph.operators[index]
        if not planner.has_code(operator, graph):
            assert planner.accelerator is not None, "only an NPU has errata"
            raise UnsupportedError(
                f"operator {index + 1} of {len(graph.operators)} of '{network.name}', "
                f"{operator.code} with output '{graph.output_name(operator)}', can run nowhere: "
                f"{why.reason}, and the CPU has no code for it; use --trust-compiler to accept "
                f"{compiler_of(planner.accelerator).compiler}'s result"
            )
    return allocation
