"""Compile a subgraph to a C function, with separate functions for its operators.

The stages are those of a whole network (entry.py).
Intermediate tensors are in a workspace that the caller provides, so they share the arena with all
tensors that are not live while the subgraph runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ethosgen.aot.code.comments import describe_step
from ethosgen.aot.code.entry import Body, find_addresses, lower_body, make_body
from ethosgen.aot.code.passes import CALLS, EntryParameter, EntrySignature, Location
from ethosgen.aot.code.port_names import name_ports
from ethosgen.aot.code.steps import describe_steps
from ethosgen.aot.graph.routine import WORKSPACE, Routine
from ethosgen.aot.graph.subgraphs import Subgraph
from ethosgen.aot.kernels import NamedKernel, by_step
from ethosgen.aot.memory import plan as memory
from ethosgen.aot.registry import goes_in_place
from ethosgen.aot.schedule.schedule import StepSchedule, schedule_subgraph
from ethosgen.aot.tir.kernel import Callee
from ethosgen.aot.tir.primfunc import READS, drop_unused_parameters
from ethosgen.values.program import Constant


def compile_routine(
    subgraph: Subgraph, name: str, place: str, *, replaces: Sequence[int] = ()
) -> Routine:
    """Compile a subgraph to a function `name`; messages call it `place`.

    `replaces` gives, for each output, the number of the input that it replaces in the next
    iteration; it is empty outside of loops. UnsupportedError names an operator without code.
    """
    schedule = schedule_subgraph(subgraph.graph, place)
    body = make_body(schedule, name, compile_routine)
    kernels, constants, plan = body.kernels, body.constants, body.memory
    direct, steps = _direct_outputs(schedule, plan, replaces)
    roles = _roles(schedule, subgraph, constants, plan.arena_bytes)
    signature = EntrySignature(name, tuple(roles))
    names = {role: parameter.name for parameter, role in roles.items()}
    addresses = _addresses(body, subgraph, names)
    memories = {WORKSPACE: plan.arena_bytes} if plan.arena_bytes else {}
    lowered = lower_body(body, signature, addresses, memories, steps)
    reads = len(schedule.graph.inputs) + len(constants)
    entry, kept = drop_unused_parameters(lowered[name].with_attr(READS, reads))
    chosen = list(roles.values())
    return Routine(
        name=name,
        parameters=tuple(chosen[position] for position in kept),
        types={chosen[p]: v.ty for p, v in zip(kept, entry.params, strict=True)},
        constants=constants,
        workspace_bytes=plan.arena_bytes,
        callees=(
            *_callees(schedule, kernels, lowered),
            Callee(name, entry.without_attr("global_symbol"), f"The subgraph {place}"),
        ),
        direct=direct,
        sources=frozenset().union(*(kernel.sources for kernel in by_step(kernels).values())),
        steps=describe_steps(body, name, lowered[name].attrs[CALLS]),
    )


def _callees(
    schedule: StepSchedule, kernels: Mapping[int, NamedKernel], lowered: Any
) -> Sequence[Callee]:
    """Return the functions that the entry calls directly or indirectly."""
    kept = {var.name_hint: function for var, function in lowered.functions.items()}
    callees: list[Callee] = []
    for index, named in kernels.items():
        if named.name in kept:
            callees += named.kernel.callees
            function = kept[named.name].without_attr("global_symbol")
            callees.append(Callee(named.name, function, describe_step(schedule, index)))
    return callees


def _roles(
    schedule: StepSchedule, subgraph: Subgraph, constants: Sequence[Constant], arena_bytes: int
) -> dict[EntryParameter, str]:
    """Return the role of each parameter."""
    graph = schedule.graph
    taken = [*(constant.c_name for constant in constants), WORKSPACE]
    taken += [_state(number) for number, _ in enumerate(subgraph.variables)]
    inputs, outputs = name_ports(graph.input_tensors(), graph.output_tensors(), taken)
    states = [graph.tensors[i] for i in subgraph.variables]
    kinds = {
        "input": zip(inputs, [t.dtype for t in graph.input_tensors()], strict=True),
        "constant": ((constant.c_name, constant.dtype) for constant in constants),
        "output": zip(outputs, [t.dtype for t in graph.output_tensors()], strict=True),
        "variable": ((_state(number), t.dtype) for number, t in enumerate(states)),
    }
    types = {constant.c_name: constant.structs.ctype for constant in constants if constant.structs}
    roles = {
        EntryParameter(
            name, dtype, kind in ("input", "constant"), types.get(name, "")
        ): f"{kind} {number}"
        for kind, named in kinds.items()
        for number, (name, dtype) in enumerate(named)
    }
    if arena_bytes:
        roles[EntryParameter(WORKSPACE, "int8", False)] = WORKSPACE
    return roles


def _state(number: int) -> str:
    return f"state_{number}"


def _addresses(body: Body, subgraph: Subgraph, roles: Mapping[str, str]) -> Mapping[str, Location]:
    graph = body.schedule.graph
    ports = {tensor: roles[f"input {n}"] for n, tensor in enumerate(graph.inputs)}
    ports |= {tensor: roles[f"output {n}"] for n, tensor in enumerate(graph.outputs)}
    states = {tensor: Location(_state(n)) for n, tensor in enumerate(subgraph.variables)}
    return find_addresses(body, WORKSPACE, ports, states)


def _direct_outputs(
    schedule: StepSchedule, plan: memory.MemoryPlan, replaces: Sequence[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the outputs that can overwrite the inputs they replace, and the steps in place.

    The output's lifetime must begin after the input's ends, or at the same step if that step is
    elementwise.
    """
    direct, steps = set(), set()
    graph = schedule.graph
    used = {tensor for step in schedule.steps for tensor in schedule.reads(step)}
    for number, position in enumerate(replaces):
        source, target = graph.inputs[position], graph.outputs[number]
        before, after = plan.by_tensor.get(source), plan.by_tensor.get(target)
        if before is None or after is None or before is after:
            continue
        last, first = max(before.steps), min(after.steps)
        if last < first or (source not in used and len(before.values) == 1):
            direct.add(number)
        elif last == first and _goes_in_place(schedule, first, source):
            direct.add(number)
            steps.add(first)
    return frozenset(direct), frozenset(steps)


def _goes_in_place(schedule: StepSchedule, index: int, source: int) -> bool:
    step, tensors = schedule.steps[index], schedule.graph.tensors
    written = [tensors[i] for i in schedule.writes(step)]
    return (
        goes_in_place(step.operator)
        and source in schedule.reads(step)
        and len(written) == 1
        and written[0].shape == tensors[source].shape
        and written[0].bytes == tensors[source].bytes
    )
