"""Fuses operators that go element by element into the one that makes what they read.

The tensor between is never stored, and every rounding stays. In this order:

    a clamp (RELU6) becomes the bounds of a layer that has bounds anyway
    elements that follow each other become one loop
    a function of one 8-bit number, of however many operators, becomes one table
    an element goes into the stores of any other operator, or as a table behind a micro-kernel

This happens only if nothing else reads the tensor between and no partition runs meanwhile, and
kept only if the arena does not grow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ethosgen.aot.arithmetic.quantization import BOUNDS
from ethosgen.aot.fuse.element import Element, read_element
from ethosgen.aot.fuse.graft import graft
from ethosgen.aot.fuse.lookup import bounds_of, is_of_a_byte, tables
from ethosgen.aot.graph.schedule import Schedule, Step
from ethosgen.aot.graph.subgraphs import SUBGRAPHS
from ethosgen.aot.graph.twins import FLIP
from ethosgen.aot.kernels import build_kernel
from ethosgen.aot.memory.plan import SAME_BYTES, lifetimes, plan_memory
from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.conversion import is_flip
from ethosgen.aot.packed.addition import packed_addition
from ethosgen.aot.packed.table import is_table, packed_table, with_table
from ethosgen.values.errors import UnsupportedError

CLAMPING = frozenset(
    "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED AVERAGE_POOL_2D MAX_POOL_2D ADD SUB MUL".split()
)
"""Operators of int8 that limit their output to quantization.activation_range."""

WORTH_A_TABLE = 128
"""Elements from which on one operator alone is better a table of 256 bytes."""

Join = Callable[["_Chains", Step, Step, int], Step | None]
"""Fuses a step into the producer of its input, which is passed; None if that is impossible."""


def fuse_chains(schedule: Schedule, *, packed: bool) -> Schedule:
    """Return a schedule whose operators on the CPU have kernels, with operators fused.

    Those with subgraphs are left as they are.

    With `packed`, kernels are those that call micro-kernels. UnsupportedError names an operator
    that has no kernel.
    """
    plain = replace(schedule, steps=tuple(_built(schedule, s, packed) for s in schedule.steps))
    chains = _Chains(plain, packed)
    chains.join(_as_bounds)
    chains.join(_as_one_loop)
    chains.tabulate()
    chains.join(_into_stores)
    plain, fused = (_finished(one, packed) for one in (plain, chains.schedule))
    return fused if _arena(fused) <= _arena(plain) else plain


def _arena(schedule: Schedule) -> float:
    """Return the arena's size; infinite where the plan does not work out."""
    workspaces = {
        i: step.kernel.workspace_bytes for i, step in enumerate(schedule.steps) if step.kernel
    }
    try:
        return plan_memory(schedule, workspaces).arena_bytes
    except UnsupportedError:
        return float("inf")


def _built(schedule: Schedule, step: Step, packed: bool) -> Step:
    """Return a step with its kernel, and whether that may write where it reads."""
    if step.partition or SUBGRAPHS in step.operator.options:
        return step
    kernel = build_kernel(schedule, step.operator, packed)
    element = read_element(kernel)
    in_place = element is not None and element.keeps_to_its_place()
    return replace(step, kernel=kernel, in_place=in_place)


def _finished(schedule: Schedule, packed: bool) -> Schedule:
    """Return a schedule whose tables and sums are packed, if that is wanted."""
    return replace(schedule, steps=tuple(map(_Chains(schedule, packed).finished, schedule.steps)))


class _Chains:
    """A schedule in which steps disappear into others."""

    def __init__(self, schedule: Schedule, packed: bool) -> None:
        self.schedule = schedule
        self.packed = packed

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that are left."""
        return self.schedule.steps

    def join(self, how: Join) -> None:
        """Fuse each step into the producer of its input, if possible."""
        position = 0
        while position < len(self.steps):
            if not self._joined(position, how):
                position += 1

    def tabulate(self) -> None:
        """Make tables of the functions of one 8-bit number."""
        tensors = self.schedule.graph.tensors
        elements: dict[int, Element] = {}
        for position, step in enumerate(self.steps):
            element = read_element(step.kernel) if step.kernel else None
            if element is None or is_table(element.kernel) or self._is_flip(step):
                continue
            target = tensors[self.schedule.writes(step)[0]]
            worth = bool(step.tail) or target.elements >= WORTH_A_TABLE
            if worth and is_of_a_byte(element, tensors, target):
                elements[position] = element
        targets = {i: tensors[self.schedule.writes(self.steps[i])[0]] for i in elements}
        made = tables(elements, tensors, targets)
        steps = (
            replace(step, kernel=made[i]) if i in made else step
            for i, step in enumerate(self.steps)
        )
        self.schedule = replace(self.schedule, steps=tuple(steps))

    def _is_flip(self, step: Step) -> bool:
        """Return whether a step does nothing but flip signs: that is quicker than a look-up."""
        tensors = self.schedule.graph.tensors
        ends = tensors[step.operator.inputs[0]], tensors[step.operator.outputs[0]]
        return step.operator.code == FLIP and not step.tail and is_flip(*ends)

    def bounded(self, step: Step, bounds: tuple[int, int]) -> Step:
        """Return a step whose operator limits its output."""
        operator = replace(step.operator, options={**step.operator.options, BOUNDS: bounds})
        kernel = build_kernel(self.schedule, operator, self.packed)
        return replace(step, operator=operator, kernel=kernel)

    def packed_addition(self, step: Step) -> Kernel | None:
        """Return the packed form of a step that adds, with at most bounds after it."""
        alone = len(step.tail) == (BOUNDS in step.operator.options)
        if not self.packed or not alone or step.kernel is None or step.kernel.micro_kernels:
            return None
        return packed_addition(step.operator, self.schedule.graph.tensors)

    def is_better_alone(self, step: Step, producer: Step) -> bool:
        """Return whether a step has a packed form that it would lose, fused into a plain loop.

        A function of what the producer reads, and of single numbers, may become a table instead.
        """
        tensors = self.schedule.graph.tensors
        known = {*self.schedule.writes(producer), *self.schedule.reads(producer)}
        more = [tensors[i] for i in step.operator.inputs if i not in known]
        other = any(t.data is None or t.elements > 1 for t in more)
        return other and self.packed_addition(step) is not None

    def finished(self, step: Step) -> Step:
        """Return a step with a packed kernel where only now one fits."""
        if not self.packed or step.kernel is None:
            return step
        addition = self.packed_addition(step)
        if addition:
            return replace(step, kernel=addition)
        if not is_table(step.kernel):
            return step
        tensors = self.schedule.graph.tensors
        ends = tensors[step.kernel.inputs[0]], tensors[self.schedule.writes(step)[0]]
        return replace(step, kernel=packed_table(step.kernel, *ends))

    def _joined(self, position: int, how: Join) -> bool:
        step = self.steps[position]
        makers = self._makers(position)
        for tensor in dict.fromkeys(self.schedule.reads(step)) if step.kernel else ():
            path = self._path(position, tensor, makers)
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

    def _makers(self, before: int) -> dict[int, int]:
        """Return which step makes each tensor that is made before one."""
        return {
            tensor: i
            for i, step in enumerate(self.steps[:before])
            for tensor in self.schedule.writes(step)
        }

    def _path(self, position: int, tensor: int, makers: Mapping[int, int]) -> list[int] | None:
        """Return the steps from the maker of a tensor to its only reader, with RESHAPEs between."""
        path = [position]
        while True:
            maker = makers.get(tensor)
            readers = [i for i, s in enumerate(self.steps) if tensor in self.schedule.reads(s)]
            if maker is None or readers != path[:1] or tensor in self.schedule.graph.outputs:
                return None
            path.insert(0, maker)
            step = self.steps[maker]
            if step.partition or len(self.schedule.writes(step)) != 1:
                return None
            if step.operator.code not in SAME_BYTES or step.tail:
                return path
            tensor = step.operator.inputs[0]

    def _may_join(self, path: Sequence[int], makers: Mapping[int, int]) -> bool:
        """Return whether the last step of a path may run when the first does."""
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
            return False  # what is read and a larger output would both be needed at once
        return self._is_free(output, range(first, last))

    def _is_free(self, output: int, during: range) -> bool:
        """Return whether nothing that Vela placed there is needed while an output comes earlier."""
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
    made = tensors[producer.operator.outputs[0]]
    bounds = bounds_of(step.kernel) if is_table(step.kernel) else None
    if bounds is None or made.dtype != "int8":
        return None
    return chains.bounded(producer, bounds)


def _as_one_loop(chains: _Chains, producer: Step, step: Step, tensor: int) -> Step | None:
    if producer.kernel is None or read_element(producer.kernel) is None:
        return None
    if chains.packed_addition(producer):
        return None  # a micro-kernel followed by a table is faster than one loop without
    return _into_stores(chains, producer, step, tensor)


def _into_stores(chains: _Chains, producer: Step, step: Step, tensor: int) -> Step | None:
    if producer.kernel is None or step.kernel is None:
        return None
    element = read_element(step.kernel)
    if element is None or not element.keeps_to_its_place():
        return None
    if chains.is_better_alone(step, producer):
        return None
    maker = chains.packed_addition(producer) or producer.kernel
    if maker.micro_kernels and is_table(step.kernel):
        tensors = chains.schedule.graph.tensors
        (output,) = chains.schedule.writes(step)
        kernel = with_table(maker, step.kernel, tensors[tensor], tensors[output])
    else:
        kernel = graft(producer.kernel, tensor, element)
    return replace(producer, kernel=kernel) if kernel else None
