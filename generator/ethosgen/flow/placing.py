"""Lists the backend of each operator of a network, the reason, and every backend's offer."""

from collections.abc import Mapping
from dataclasses import replace

from ethosgen.backend import compiler_of, is_compiled, wrapped_of
from ethosgen.backend.protocol import Task
from ethosgen.flow.wrapping import UserAccelerators, offered_by
from ethosgen.values.allocation import FREE, OperatorIndex
from ethosgen.values.plan import CPU, Offered, OffloadMode, Placing, Plan

Offers = Mapping[int, tuple[Offered, ...]]


def with_placings(plan: Plan, accelerators: UserAccelerators, task: Task | None) -> Plan:
    """Return the plan with its placings; `task` is the NPU's, if there is one.

    Offers cost time: only --offload auto and users' accelerators ask for them.
    """
    if is_compiled(plan.network):
        return plan
    must_ask = bool(accelerators.all) or plan.options.mode is OffloadMode.AUTO
    offered = _offered(plan, accelerators, task) if must_ask else {}
    placed = _places(plan)
    graph = plan.network.graph
    placings = []
    for operator in graph.operators:
        index, output = OperatorIndex(operator.index), graph.output_name(operator)
        on, reason = placed.get(operator.index, ("", "it disappears in other operators"))
        offers = offered.get(operator.index, ())
        placings.append(Placing(index, operator.title, output, on, reason, offers))
    return replace(plan, placings=tuple(placings))


def _places(plan: Plan) -> dict[int, tuple[str, str]]:
    """Return the place of each operator of the network, and the reason."""
    is_auto = plan.options.mode is OffloadMode.AUTO
    libraries = {library.name for library in wrapped_of(plan) if library.is_library}
    unknown = {share.name for share in plan.shares if share.cycles is None}
    places: dict[int, tuple[str, str]] = {}
    for partition in plan.partitions:
        is_cheapest = is_auto or partition.backend in libraries
        is_cheapest &= partition.backend not in unknown
        why = "estimated as the cheapest" if is_cheapest else "the first that takes it"
        places |= dict.fromkeys(partition.operators, (partition.backend or plan.npu, why))
    for cpu in plan.cpu_operators:
        origin = plan.origins.get(cpu.operator)
        if origin is not None:
            places[origin] = (CPU, cpu.reason)
    return places


def _offered(plan: Plan, accelerators: UserAccelerators, task: Task | None) -> Offers:
    """Return all offers by operator: the NPU's, the accelerators', the CPU's."""
    graph = plan.network.graph
    npu = compiler_of(task.accelerator).offers(task, FREE) if task else {}
    on_npu = dict(offered_by(plan.npu, npu))
    theirs = accelerators.offered(plan.network, plan.io)
    offered = {}
    for operator in graph.operators:
        index = OperatorIndex(operator.index)
        first = (on_npu[index],) if index in on_npu else ()
        last = Offered(CPU, accelerators.cpu.cpu_cycles(operator, graph))
        offered[operator.index] = (*first, *theirs.get(operator.index, ()), last)
    return offered
