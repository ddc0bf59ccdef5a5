"""Plans a network without an NPU: every operator stays on the CPU."""

from ethosgen.backend import is_compiled
from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.plan import CpuOperator, IoStyle, Plan

REASON = "there is no NPU"


def plan_cpu_only(network: Network, io: IoStyle, reason: str = REASON) -> Plan:
    """Return the plan that leaves every operator on the CPU.

    InputError for a compiled file, whose partitions are NPU commands.
    """
    if is_compiled(network):
        raise InputError(
            f"'{network.name}' is already compiled for an NPU; pass the uncompiled network to use "
            "--npu none"
        )
    graph = network.graph
    operators = tuple(
        CpuOperator(
            ResidualIndex(operator.index),
            operator.title,
            graph.output_name(operator),
            reason,
        )
        for operator in graph.operators
    )
    origins = {
        ResidualIndex(operator.index): OperatorIndex(operator.index) for operator in graph.operators
    }
    return Plan(network, io, graph, cpu_operators=operators, origins=origins)
