"""A schedule as one function: kernels, memory plan, addresses, Relax module, entry.

Networks and subgraphs take this path; only the parameters of their entries differ.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.code.module import (
    blob_name,
    build_module,
    kept_variables,
    results_name,
    value_name,
    variable_name,
    wait_symbol,
    waited_name,
    workspace_name,
)
from ethosgen.aot.code.passes import (
    CopiesBefore,
    Copy,
    EntrySignature,
    Location,
    entry_passes,
)
from ethosgen.aot.graph.routine import CompileRoutine
from ethosgen.aot.kernels import NamedKernel, choose_kernels
from ethosgen.aot.libraries import libraries
from ethosgen.aot.memory.block import Block
from ethosgen.aot.memory.fetches import plan_with_fetches
from ethosgen.aot.memory.ordering import in_best_order
from ethosgen.aot.memory.plan import MemoryPlan
from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.aot.schedule.waits import awaited_at
from ethosgen.aot.tvm import tvm
from ethosgen.values.program import Constant, Fetch


@dataclass(frozen=True)
class Body:
    """The kernels of a schedule by step, their constants, and the memory plan.

    `name` begins the C names of its functions and constants.
    """

    schedule: StepSchedule
    name: str
    kernels: Mapping[int, NamedKernel]
    constants: tuple[Constant, ...]
    memory: MemoryPlan


def make_body(schedule: StepSchedule, name: str, compile_routine: CompileRoutine) -> Body:
    """Choose the order of a schedule, its waits, and its kernels, and plan its memory."""
    schedule = in_best_order(schedule)
    kernels, constants = choose_kernels(
        schedule, name, libraries(schedule.plan.extension), compile_routine
    )
    return Body(schedule, name, kernels, constants, plan_with_fetches(schedule, kernels, constants))


def find_addresses(
    body: Body, arena: str, ports: Mapping[int, str], variables: Mapping[int, Location]
) -> Mapping[str, Location]:
    """Return the address of each variable of the Relax module.

    `arena` is the entry's parameter for the arena, `ports` are those for tensors that the caller
    owns; `variables` are the addresses of the network's variables on the CPU.
    """
    memory, plan = body.memory, body.schedule.plan

    def address(block: Block) -> Location:
        if block.port is not None:
            return Location(ports[block.port])
        return Location(arena, block.offset or 0)

    locations = {value_name(tensor): address(block) for tensor, block in memory.by_tensor.items()}
    locations |= {workspace_name(step): address(block) for step, block in memory.workspaces.items()}
    locations |= {
        variable_name(tensor, step): place
        for tensor, place in variables.items()
        for step in range(len(body.schedule.steps))
    }
    locations |= {constant.c_name: Location(constant.c_name) for constant in body.constants}
    locations |= {constant: address(block) for constant, block in memory.fetched.items()}
    locations |= {
        blob_name(b): Location(b.parameter or f"{body.name}_{b.name}") for b in plan.blobs
    }
    outside = Location(arena)
    locations |= {waited_name(step): outside for step in body.schedule.waits}
    return locations | {
        scratch.name: address(memory.scratches[scratch.name])
        if scratch.name in memory.scratches
        else outside
        for scratch in plan.scratches
    }


def lower_body(
    body: Body,
    signature: EntrySignature,
    addresses: Mapping[str, Location],
    memories: Mapping[str, int],
    in_place: Collection[int] = (),
) -> Any:
    """Return a module with the entry and the functions that it calls.

    `memories` are the parameters that hold several buffers, with their sizes. The kernels of the
    steps `in_place`, besides those of the memory plan, write where they read.
    """
    steps = body.memory.in_place.union(in_place)
    module = build_module(body.schedule, body.kernels, body.constants, body.name, steps)
    copies, running = _copies(body, addresses), _running(body)
    passes = entry_passes(signature, addresses, memories, copies, running)
    return tvm.transform.Sequential(passes)(module)


def makers(body: Body) -> Mapping[str, int]:
    """Return the step that makes each variable of the Relax module."""
    steps: dict[str, int] = {}
    for index, step in enumerate(body.schedule.steps):
        kernel = body.kernels[index].kernel if index in body.kernels else None
        steps |= dict.fromkeys(map(value_name, body.schedule.writes(step)), index)
        kept = kernel.variables if kernel else kept_variables(body.schedule, step)
        steps |= {variable_name(i, index): index for i in kept}
        steps |= {workspace_name(index): index, results_name(index): index}
    return steps


def _running(body: Body) -> Mapping[str, tuple[str, ...]]:
    """Return the functions that wait for what runs besides each call, by its first variable."""
    schedule, named = body.schedule, makers(body)
    running: dict[str, tuple[str, ...]] = {}
    for index, is_wait, others in awaited_at(schedule):
        waits = tuple(wait_symbol(schedule, other, body.name) for other in others)
        variables = (
            [waited_name(index)] if is_wait else [v for v, at in named.items() if at == index]
        )
        running |= dict.fromkeys(variables, waits)
    return {variable: waits for variable, waits in running.items() if waits}


def _copies(body: Body, addresses: Mapping[str, Location]) -> Mapping[str, CopiesBefore]:
    """Return the copies of weights to begin or await before each call, by its first variable."""
    fetches = body.memory.fetches

    def copies(chosen: Iterable[Fetch]) -> tuple[Copy, ...]:
        return tuple(Copy(addresses[f.constant], f.constant, f.bytes) for f in chosen)

    def before(step: int) -> CopiesBefore:
        begun = [fetch for fetch in fetches if fetch.start == step]
        return CopiesBefore(
            copies(fetch for fetch in begun if fetch.step == step),
            any(fetch.step == step for fetch in fetches),
            copies(fetch for fetch in begun if fetch.step != step),
        )

    concerned = {step for fetch in fetches for step in (fetch.start, fetch.step)}
    variables = makers(body).items() if concerned else ()
    return {variable: before(step) for variable, step in variables if step in concerned}
