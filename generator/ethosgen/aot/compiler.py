"""The compilation stage: schedule, kernels, memory plan, passes, C."""

from collections.abc import Iterable, Mapping, Sequence

from ethosgen.aot.code.calls import has_only_calls, made_by_calls, write_calls
from ethosgen.aot.code.comments import describe_functions, name_codes
from ethosgen.aot.code.csource import generate
from ethosgen.aot.code.emission import Emitted, emit
from ethosgen.aot.code.entry import Body, find_addresses, lower_body, make_body
from ethosgen.aot.code.module import partition_name, wait_symbol
from ethosgen.aot.code.passes import (
    CALLS,
    EntryParameter,
    EntrySignature,
    Location,
    generator_passes,
)
from ethosgen.aot.code.port_names import OWN_SUFFIXES, name_ports
from ethosgen.aot.code.routine import compile_routine
from ethosgen.aot.code.slices import progress_symbol
from ethosgen.aot.code.steps import describe_steps, number_marks
from ethosgen.aot.fuse.fusion import fuse_chains
from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.kernels import by_step
from ethosgen.aot.libraries import FETCH_HEADER, fetch_code, libraries, library_code
from ethosgen.aot.memory.fetches import with_offsets
from ethosgen.aot.memory.ordering import estimated_cycles, hidden_cycles
from ethosgen.aot.memory.overlaps import check_memory
from ethosgen.aot.memory.plan import MemoryPlan, plan_memory
from ethosgen.aot.memory.record import record_memory
from ethosgen.aot.rows.feeding import require_first
from ethosgen.aot.rows.planning import ready_schedule
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.aot.schedule.variables import initial_byte, state_bytes
from ethosgen.aot.schedule.waits import describe_waits
from ethosgen.aot.tir.kernel import MarkedStep
from ethosgen.aot.tvm import tvm
from ethosgen.values.errors import RefusalError, UnsupportedError
from ethosgen.values.network import Tensor
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.program import (
    NO_TENSOR,
    READ_ONLY,
    ArenaTensor,
    Port,
    Program,
    SlicedStep,
    Variable,
)


def compile_program(plan: Plan, name: str) -> Program:
    """Compile a plan; see `ethosgen.aot.compile_program`."""
    schedule = ready_schedule(plan, name)
    body = make_body(schedule, name, compile_routine)
    schedule, kernels = body.schedule, body.kernels
    constants, memory = body.constants, body.memory
    check_memory(schedule, memory)
    require_first(schedule)
    comments = describe_functions(schedule, kernels, name)
    functions = [p.call.function.symbol.format(name=name) for p in plan.partitions]
    own = (f"{name}_{end}" for end in (*OWN_SUFFIXES, *(blob.name for blob in plan.blobs)))
    symbols = [*own, *functions, *comments, *(c.c_name for c in constants)]
    inputs, outputs = _make_ports(schedule, memory, symbols)
    state = state_bytes(schedule, memory.variables)
    signature = _entry_signature(plan, inputs, outputs, bool(state), name)
    ports = {port.tensor.index: port.c_name for port in (*outputs, *inputs)}
    variables = {h.tensor: Location("state", h.offset) for h in memory.variables if not h.on_npu}
    addresses = find_addresses(body, "arena", ports, variables)
    memories = {"arena": memory.arena_bytes} | ({"state": state} if state else {})
    emitted, steps = _emitted(body, signature, addresses, memories)
    code, headers = library_code(by_step(kernels), libraries(plan.extension))
    if memory.fetches:
        code, headers = code | fetch_code(), [*headers, FETCH_HEADER]
    inlined = [partition_name(schedule, p, name) for p in plan.partitions if not p.on_npu]
    inlined += [wait_symbol(schedule, step, name) for step in schedule.waits]
    sources = generate(emitted, signature, comments, constants, plan, name, headers, inlined)
    return Program(
        name=name,
        plan=plan,
        io=plan.io,
        sources=sources | code,
        entry_parameters=tuple(parameter.name for parameter in signature.parameters),
        constants=tuple(c for c in constants if plan.apart or not c.structs),
        structs=() if plan.apart else tuple(c for c in constants if c.structs),
        inputs=inputs,
        outputs=outputs,
        arena_bytes=memory.arena_bytes,
        arena_bound_bytes=memory.bound_bytes,
        arena_alignment=max(ALIGNMENT, *(block.alignment for block in memory.blocks)),
        placements=_placements(schedule, memory),
        state_bytes=state,
        variables=_variables(schedule, memory),
        fused=tuple(name_codes(step) for step in schedule.steps if step.tail),
        overlapped=describe_waits(schedule),
        steps=tuple(marked.step for marked in steps),
        workspaces=_workspaces(schedule, memory),
        memory=record_memory(schedule, memory),
        cycles=estimated_cycles(schedule),
        hidden_cycles=hidden_cycles(schedule),
        stream_cycles=schedule.stream_cycles,
        feed=schedule.feed,
        fetches=with_offsets(memory),
        slices=_slices(schedule) if plan.options.schedule.is_sliced else (),
    )


def _emitted(
    body: Body,
    signature: EntrySignature,
    addresses: Mapping[str, Location],
    memories: Mapping[str, int],
) -> tuple[Emitted, tuple[MarkedStep, ...]]:
    """Return the C functions of a network and its steps; without CPU operators TVM is not used."""
    symbol = signature.symbol
    if has_only_calls(body.schedule):
        steps = describe_steps(body, symbol, made_by_calls(body.schedule))
        return write_calls(body.schedule, body.name, signature, addresses), steps
    module = lower_body(body, signature, addresses, memories)
    steps = describe_steps(body, symbol, module[symbol].attrs[CALLS])
    named = body.kernels.values()
    callees = {callee.name: callee.function for each in named for callee in each.kernel.callees}
    module = tvm.transform.Sequential(generator_passes(callees))(module)
    return emit(module, number_marks(steps, symbol)), steps


def require_places(plan: Plan) -> None:
    """Raise RefusalError if a CPU operator uses two tensors that a backend placed on each other.

    `compile_program` reports everything else that is unsupported.
    """
    try:
        plan_memory(fuse_chains(make_schedule(plan), libraries=libraries(plan.extension)), {})
    except RefusalError:
        raise
    except UnsupportedError:
        return


def _make_ports(
    schedule: StepSchedule, memory: MemoryPlan, symbols: Sequence[str]
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    graph = schedule.graph
    names = name_ports(graph.input_tensors(), graph.output_tensors(), symbols)
    ends = (graph.input_tensors(), graph.output_tensors())

    def offset(tensor: Tensor) -> int | None:
        return memory.by_tensor[tensor.index].offset

    inputs, outputs = (
        tuple(Port(c_name, t, offset(t)) for c_name, t in zip(named, tensors, strict=True))
        for named, tensors in zip(names, ends, strict=True)
    )
    return inputs, outputs


def _entry_signature(
    plan: Plan,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    has_state: bool,
    name: str,
) -> EntrySignature:
    parameters = [
        EntryParameter("arena", "int8", False),
        *(EntryParameter(name, "int8", True) for name in _blob_parameters(plan)),
    ]
    if has_state:
        parameters.append(EntryParameter("state", "int8", False))
    schedule, is_owned = plan.options.schedule, plan.io is IoStyle.CALLER
    if is_owned or schedule.feed:
        parameters += [EntryParameter(p.c_name, p.tensor.dtype, True) for p in inputs]
    if is_owned:
        parameters += [EntryParameter(p.c_name, p.tensor.dtype, False) for p in outputs]
    progress = progress_symbol(name) if schedule.is_sliced else ""
    return EntrySignature(f"{name}_entry", tuple(parameters), progress)


def _blob_parameters(plan: Plan) -> Iterable[str]:
    """Return the entry's parameters for blobs; every entry has the first one."""
    return dict.fromkeys((READ_ONLY, *(b.parameter for b in plan.blobs if b.parameter)))


def _placements(schedule: StepSchedule, memory: MemoryPlan) -> tuple[ArenaTensor, ...]:
    return tuple(
        ArenaTensor(
            tensor=index,
            name=schedule.graph.tensors[index].name,
            offset=block.offset,
            bytes=schedule.graph.tensors[index].bytes,
            first=min(memory.lifetimes[index]),
            last=min(max(memory.lifetimes[index]), len(schedule.steps) - 1),
        )
        for index, block in sorted(memory.by_tensor.items())
        if block.offset is not None and index in memory.lifetimes
    )


def _slices(schedule: StepSchedule) -> tuple[SlicedStep, ...]:
    return tuple(
        SlicedStep(
            step.turns,
            {op.index: share for op, share in zip(step.operators, shares, strict=True)},
        )
        for step in schedule.steps
        for shares in [step.shares or (1.0,) * len(step.operators)]
    )


def _workspaces(schedule: StepSchedule, memory: MemoryPlan) -> tuple[ArenaTensor, ...]:
    after = len(schedule.steps) - 1
    return tuple(
        ArenaTensor(
            NO_TENSOR,
            block.name,
            block.offset,
            block.bytes,
            min(block.steps),
            min(max(block.steps), after),
        )
        for block in (
            *memory.scratches.values(),
            *memory.workspaces.values(),
            *memory.fetched.values(),
        )
        if block.offset is not None and block.steps
    )


def _variables(schedule: StepSchedule, memory: MemoryPlan) -> tuple[Variable, ...]:
    tensors = schedule.graph.tensors
    return tuple(
        Variable(
            name=tensors[held.tensor].name,
            memory="arena" if held.on_npu else "state",
            offset=held.offset,
            bytes=tensors[held.tensor].bytes,
            initial_byte=initial_byte(tensors[held.tensor]),
        )
        for held in memory.variables
    )
