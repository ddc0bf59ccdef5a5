"""Fuse elementwise operators into the producers of their inputs.

The intermediate tensor is never stored; every rounding remains. The order is:

    a clamp (RELU6) becomes the activation bounds of the layer before it
    consecutive elementwise operators become one loop
    a function of one 8-bit value, of any number of operators, becomes one lookup table
    an elementwise operator joins the stores of any other, or follows a micro-kernel as a table
    an ADD follows a convolution's micro-kernel band by band, if that makes the arena smaller

Steps are fused only if nothing else reads the intermediate tensor and no partition runs in between.
A fusion is kept only if the arena does not grow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ethosgen.aot.fuse.lookup import bounds_of, is_of_a_byte, tables
from ethosgen.aot.graph.storage import SAME_BYTES
from ethosgen.aot.graph.subgraphs import SUBGRAPHS
from ethosgen.aot.kernels import build_kernel
from ethosgen.aot.libraries import cheapest
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.libraries.framework.table import is_table, packed_table, with_table
from ethosgen.aot.memory.plan import lifetimes, plan_memory
from ethosgen.aot.operators.conversion import is_flip
from ethosgen.aot.registry import goes_in_place
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.schedule.twins import FLIP
from ethosgen.aot.tir.element import ElementLoops, read_element
from ethosgen.aot.tir.graft import graft
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.quantization import BOUNDS, compose_bounds
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator

CLAMPING = frozenset(
    "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED AVERAGE_POOL_2D MAX_POOL_2D ADD SUB MUL".split()
)
"""int8 operators that clamp their output to quantization.activation_range."""

WORTH_A_TABLE = 128
"""Number of elements from which a 256-byte table is better for a single operator."""

Join = Callable[["_Chains", Step, Step, int], Step | None]
"""Fuses a step into the given producer of its input; returns None if that is impossible."""


def fuse_chains(schedule: StepSchedule, libraries: Sequence[Library]) -> StepSchedule:
    """Return a schedule with fused operators and kernels for the operators on the CPU.

    Operators with subgraphs are left unchanged.

    Kernels are those of the libraries where they are cheaper. UnsupportedError names an operator
    without a kernel.
    """
    plain = with_kernels(schedule, libraries)
    chains = _Chains(plain, libraries)
    chains.join(_as_bounds)
    chains.join(_as_one_loop)
    chains.tabulate()
    chains.join(_into_stores)
    plain, fused = (_finished(variant, libraries) for variant in (plain, chains.schedule))
    arena, fused_arena = arena_bytes(plain), arena_bytes(fused)
    best, arena = (fused, fused_arena) if fused_arena <= arena else (plain, arena)
    chains = _Chains(best, libraries)
    chains.join(_into_bands)
    if chains.schedule is best:
        return best  # a memory plan takes long
    return chains.schedule if arena_bytes(chains.schedule) < arena else best


def with_kernels(schedule: StepSchedule, libraries: Sequence[Library]) -> StepSchedule:
    """Return a schedule with a kernel for each operator on the CPU that has none; none is fused."""
    return replace(schedule, steps=tuple(_built(schedule, s, libraries) for s in schedule.steps))


def arena_bytes(schedule: StepSchedule) -> float:
    """Return the arena size in bytes; infinity if there is no valid memory plan."""
    workspaces = {
        i: step.kernel.workspace_bytes for i, step in enumerate(schedule.steps) if step.kernel
    }
    try:
        return plan_memory(schedule, workspaces).arena_bytes
    except UnsupportedError:
        return float("inf")


def finished_kernel(
    schedule: StepSchedule, operator: Operator, libraries: Sequence[Library]
) -> Kernel:
    """Return the kernel of an operator alone: a library's, a table, or the plain loops."""
    alone = replace(schedule, steps=(Step(operator, None),))
    built = replace(alone, steps=(_built(alone, alone.steps[0], libraries),))
    chains = _Chains(built, libraries)
    chains.tabulate()
    (kernel,) = (step.kernel for step in _finished(chains.schedule, libraries).steps)
    if kernel is None:
        raise UnsupportedError(f"{operator.code} has no kernel of its own")
    return kernel


def _built(schedule: StepSchedule, step: Step, libraries: Sequence[Library]) -> Step:
    """Return a step with its kernel and its `in_place` flag."""
    if step.partition or step.kernel or SUBGRAPHS in step.operator.options:
        return step
    kernel = build_kernel(schedule, step.operator, libraries)
    element = read_element(kernel)
    in_place = element is not None and element.keeps_to_its_place()
    return replace(step, kernel=kernel, in_place=in_place)


def _finished(schedule: StepSchedule, libraries: Sequence[Library]) -> StepSchedule:
    """Return a schedule with the libraries' tables and elementwise kernels."""
    chains = _Chains(schedule, libraries)
    return replace(schedule, steps=tuple(map(chains.finished, schedule.steps)))


class _Chains:
    """A schedule whose steps are fused one after another."""

    def __init__(self, schedule: StepSchedule, libraries: Sequence[Library]) -> None:
        self.schedule = schedule
        self.libraries = libraries
        self.has_tables = any(library.has_tables for library in libraries)
        self._known: tuple[StepSchedule, dict[int, int], dict[int, list[int]]] | None = None
        self._ends: dict[int, tuple[Step, tuple[int, ...], tuple[int, ...]]] = {}
        """By the id of a step: the step, its different reads, and its writes."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The remaining steps."""
        return self.schedule.steps

    def join(self, how: Join) -> None:
        """Fuse each step into the producer of its input, if possible."""
        position = 0
        while position < len(self.steps):
            if not self._joined(position, how):
                position += 1

    def tabulate(self) -> None:
        """Replace functions of one 8-bit value by lookup tables."""
        tensors = self.schedule.graph.tensors
        elements: dict[int, ElementLoops] = {}
        for position, step in enumerate(self.steps):
            element = read_element(step.kernel) if step.kernel else None
            if element is None or is_table(element.kernel) or self._is_flip(step):
                continue
            target = tensors[self.schedule.writes(step)[0]]
            worth = bool(step.tail) or target.elements >= WORTH_A_TABLE
            if worth and is_of_a_byte(element, tensors, target):
                elements[position] = element
        targets = {i: tensors[self.schedule.writes(self.steps[i])[0]] for i in elements}
        kernels = tables(elements, tensors, targets)
        steps = (
            replace(step, kernel=kernels[i]) if i in kernels else step
            for i, step in enumerate(self.steps)
        )
        self.schedule = replace(self.schedule, steps=tuple(steps))

    def _is_flip(self, step: Step) -> bool:
        """Return whether a step only flips sign bits, which is faster than a lookup."""
        tensors = self.schedule.graph.tensors
        ends = tensors[step.operator.inputs[0]], tensors[step.operator.outputs[0]]
        return step.operator.code == FLIP and not step.tail and is_flip(*ends)

    def bounded(self, step: Step, bounds: tuple[int, int]) -> Step:
        """Return a step whose operator clamps its output to `bounds`."""
        before = step.operator.options.get(BOUNDS)
        both = compose_bounds(before, bounds) if before else bounds
        operator = replace(step.operator, options={**step.operator.options, BOUNDS: both})
        kernel = build_kernel(self.schedule, operator, self.libraries)
        return replace(step, operator=operator, kernel=kernel)

    def elementwise(self, step: Step) -> Kernel | None:
        """Return a library's kernel for an elementwise step with at most a clamp fused, or None."""
        alone = len(step.tail) == (BOUNDS in step.operator.options)
        if not alone or step.kernel is None or step.kernel.sources:
            return None
        if not goes_in_place(step.operator):
            return None  # already computed
        return cheapest(self.schedule.graph, step.operator, self.libraries)

    def is_better_alone(self, step: Step, producer: Step) -> bool:
        """Return whether fusing a step into a plain loop would lose a library's kernel.

        A function of the producer's input and of scalars can become a table instead.
        """
        tensors = self.schedule.graph.tensors
        known = {*self.schedule.writes(producer), *self.schedule.reads(producer)}
        more = [tensors[i] for i in step.operator.inputs if i not in known]
        other = any(t.data is None or t.elements > 1 for t in more)
        return other and self.elementwise(step) is not None

    def finished(self, step: Step) -> Step:
        """Return a step with a library's kernel if one applies after fusion."""
        if step.kernel is None:
            return step
        better = self.elementwise(step)
        if better:
            return replace(step, kernel=better)
        if not self.has_tables or not is_table(step.kernel):
            return step
        tensors = self.schedule.graph.tensors
        ends = tensors[step.kernel.inputs[0]], tensors[self.schedule.writes(step)[0]]
        return replace(step, kernel=packed_table(step.kernel, *ends))

    def _joined(self, position: int, how: Join) -> bool:
        step = self.steps[position]
        makers, readers = self._users()
        for tensor in self._ends_of(step)[0] if step.kernel else ():
            path = self._path(position, tensor, makers, readers)
            if path is None or not self._may_join(path, makers):
                continue
            producer = self.steps[path[0]]
            joint = how(self, producer, step, tensor)
            if joint is not None:
                between = tuple(self.steps[i].operator for i in path[1:-1])
                tail = (*producer.tail, *between, step.operator, *step.tail)
                steps = list(self.steps)
                in_place = producer.in_place and step.in_place
                steps[path[0]] = replace(joint, tail=tail, in_place=in_place)
                for gone in reversed(path[1:]):
                    del steps[gone]
                self.schedule = replace(self.schedule, steps=tuple(steps))
                return True
        return False

    def _users(self) -> tuple[dict[int, int], dict[int, list[int]]]:
        """Return, by tensor, the step that produces it, and the steps that read it."""
        if self._known is None or self._known[0] is not self.schedule:
            makers: dict[int, int] = {}
            readers: dict[int, list[int]] = {}
            for i, step in enumerate(self.steps):
                reads, writes = self._ends_of(step)
                for tensor in writes:
                    makers[tensor] = i
                for tensor in reads:
                    readers.setdefault(tensor, []).append(i)
            self._known = self.schedule, makers, readers
        return self._known[1:]

    def _ends_of(self, step: Step) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the tensors that a step reads, each once, and those that it writes."""
        known = self._ends.get(id(step))
        if known is None:
            reads, writes = self.schedule.reads(step), self.schedule.writes(step)
            known = self._ends[id(step)] = step, tuple(dict.fromkeys(reads)), writes
        return known[1:]

    def _path(
        self,
        position: int,
        tensor: int,
        makers: Mapping[int, int],
        readers: Mapping[int, list[int]],
    ) -> list[int] | None:
        """Return the steps from a tensor's producer to its only reader, with RESHAPEs between."""
        path = [position]
        while True:
            maker = makers.get(tensor)
            alone = readers.get(tensor) == path[:1]
            if maker is None or not alone or tensor in self.schedule.graph.outputs:
                return None
            path.insert(0, maker)
            step = self.steps[maker]
            if step.partition or len(self.schedule.writes(step)) != 1:
                return None
            if step.operator.code not in SAME_BYTES or step.tail:
                return path
            tensor = step.operator.inputs[0]

    def _may_join(self, path: Sequence[int], makers: Mapping[int, int]) -> bool:
        """Return whether the last step of a path can run together with the first."""
        first, last = path[0], path[-1]
        step, schedule = self.steps[last], self.schedule
        others = [i for i in schedule.reads(step) if makers.get(i) not in path]
        if any(self.steps[i].partition for i in range(first, last)) or schedule.updates(step):
            return False
        if len(schedule.writes(step)) != 1:
            return False
        if any(makers.get(i, -1) >= first for i in others):
            return False
        tensors = schedule.graph.tensors
        between = schedule.writes(self.steps[first])[0]
        (output,) = schedule.writes(step)
        read = sum(tensors[i].bytes for i in schedule.reads(self.steps[first]))
        if tensors[output].bytes > tensors[between].bytes < read:
            return False  # the input and a larger output would be live at the same time
        return self._is_free(output, range(first, last))

    def _is_free(self, output: int, during: range) -> bool:
        """Return whether a backend's placement leaves an output's bytes free in earlier steps."""
        offsets, tensors = self.schedule.plan.offsets, self.schedule.graph.tensors
        if output not in offsets:
            return True
        start, end = offsets[output], offsets[output] + tensors[output].bytes
        return not any(
            steps & set(during)
            and offsets[other] < end
            and start < offsets[other] + tensors[other].bytes
            for other, steps in lifetimes(self.schedule).items()
            if other in offsets and other != output
        )


def _as_bounds(chains: _Chains, producer: Step, step: Step, tensor: int) -> Step | None:
    if producer.operator.code not in CLAMPING or producer.tail or step.kernel is None:
        return None
    tensors = chains.schedule.graph.tensors
    output = tensors[producer.operator.outputs[0]]
    bounds = bounds_of(step.kernel) if is_table(step.kernel) else None
    if bounds is None or output.dtype != "int8":
        return None
    return chains.bounded(producer, bounds)


def _as_one_loop(chains: _Chains, producer: Step, step: Step, tensor: int) -> Step | None:
    if producer.kernel is None or read_element(producer.kernel) is None:
        return None
    if chains.elementwise(producer):
        return None  # a micro-kernel followed by a table is faster than one plain loop
    return _into_stores(chains, producer, step, tensor)


def _into_stores(chains: _Chains, producer: Step, step: Step, tensor: int) -> Step | None:
    if producer.kernel is None or step.kernel is None:
        return None
    element = read_element(step.kernel)
    if element is None or not element.keeps_to_its_place():
        return None
    if chains.is_better_alone(step, producer):
        return None
    maker = chains.elementwise(producer) or producer.kernel
    if maker.sources and chains.has_tables and is_table(step.kernel):
        tensors = chains.schedule.graph.tensors
        (output,) = chains.schedule.writes(step)
        kernel = with_table(maker, step.kernel, tensors[tensor], tensors[output])
    else:
        kernel = graft(producer.kernel, tensor, element)
    return replace(producer, kernel=kernel) if kernel else None


def _into_bands(chains: _Chains, producer: Step, step: Step, tensor: int) -> Step | None:
    """Add the outputs of a micro-kernel to another tensor, some rows at a time."""
    is_alone = len(producer.tail) == (BOUNDS in producer.operator.options)
    if producer.kernel is None or step.kernel is None or not is_alone:
        return None
    layer, addition = (producer.operator, producer.kernel), (step.operator, step.kernel)
    tensors = chains.schedule.graph.tensors
    joined = (library.in_bands(layer, addition, tensors) for library in chains.libraries)
    kernel = next((kernel for kernel in joined if kernel is not None), None)
    if kernel is None:
        return None
    read = producer.operator.inputs
    over = tuple(i for i in step.operator.inputs if i != tensor and i not in read)
    return replace(producer, kernel=kernel, over=over)
