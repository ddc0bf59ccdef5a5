"""The depth of a function's own frame at each of its calls, from its instructions.

The depth of the stack pointer and known values of registers follow each path through the function,
until nothing changes any more. A function that changes its stack pointer by an unknown number (an
array of variable length, alloca), or that grows its stack in a loop, has no depth.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ethosgen.proof.image import FirmwareImage
from ethosgen.proof.instruction import PC, SP, Effect, Flow, Move, ThumbInstruction, decode, is_wide
from ethosgen.proof.unbounded import UnboundedError

_MOST_VISITS = 64
"""How often a place may be reached with another depth or other values of registers."""
_TABLES = {
    "__gnu_thumb1_case_sqi": (1, True),
    "__gnu_thumb1_case_uqi": (1, False),
    "__gnu_thumb1_case_shi": (2, True),
    "__gnu_thumb1_case_uhi": (2, False),
    "__gnu_thumb1_case_si": (4, True),
}
"""libgcc's jumps through a table behind their call: bytes of an entry, and whether it is signed."""
_WORD = 0xFFFFFFFF
_IT = 0xBF
_LONGEST_TABLE = 4096
_FILLERS = (0x0000, 0xBF00, 0x46C0)
"""What an assembler aligns code with: zeros, NOP, and MOV r8, r8."""


class Relative(NamedTuple):
    """A value that is this many bytes above the stack pointer at the function's start."""

    distance: int


Value = Relative | int


class CallSite(NamedTuple):
    """A call; `target` is None for one through a pointer of unknown value."""

    depth: int
    target: int | None
    at: int


@dataclass
class CallFrame:
    """The facts from a function's instructions: its deepest own stack, its calls, and its end.

    `ends` are the depths at its returns: 0, except for parts that a compiler split off. `taken` are
    the functions whose address it loads, or that are in a table whose address it loads.
    """

    deepest: int = 0
    calls: set[CallSite] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _StackState:
    depth: int
    known: dict[int, Value] = field(default_factory=dict)

    def merged(self, other: "_StackState") -> "_StackState":
        known = {r: v for r, v in self.known.items() if other.known.get(r) == v}
        return _StackState(max(self.depth, other.depth), known)


class FrameWalk:
    """One function's paths."""

    def __init__(self, image: FirmwareImage, start: int) -> None:
        """Start at the function's first instruction."""
        self._image = image
        self._start = start
        self._states: dict[int, _StackState] = {}
        self._visits: dict[int, int] = {}
        self._conditional: set[int] = set()
        self._jumps: list[int] = []
        self._waiting = [start]
        self.frame = CallFrame()

    def run(self) -> CallFrame:
        """Follow all paths; UnboundedError if the depth is not known."""
        self._states[self._start] = _StackState(0)
        while self._waiting:
            self._follow(self._waiting.pop())
        if self._jumps:
            self._require_all_seen()
        return self.frame

    def _require_all_seen(self) -> None:
        """Raise UnboundedError if a computed jump may go to code that was not followed."""
        at = self._start
        while at <= max(self._states):
            first = self._image.read(at, 2) or 0
            is_seen = at in self._states or first in _FILLERS
            if not is_seen and self._image.is_code(at):
                raise UnboundedError(
                    f"{self._name} jumps at 0x{self._jumps[0]:08x} to an address that is only "
                    "known at run time"
                )
            at += 4 if is_wide(first) and self._image.is_code(at) else 2

    def _reach(self, addr: int, state: _StackState) -> None:
        """Continue at an address, unless it was reached in the same state."""
        if addr != self._start and self._image.is_function(addr):
            self.frame.calls.add(CallSite(state.depth, addr, addr))  # a tail call
            return
        if not self._image.is_code(addr):
            return  # after the call of a function that does not return
        before = self._states.get(addr)
        now = state if before is None else state.merged(before)
        if now == before:
            return
        self._visits[addr] = self._visits.get(addr, 0) + 1
        if self._visits[addr] > _MOST_VISITS:
            raise UnboundedError(f"{self._name} grows its stack in a loop", is_fault=True)
        self._states[addr] = now
        self._waiting.append(addr)

    @property
    def _name(self) -> str:
        return self._image.names.get(self._start, f"the code at 0x{self._start:08x}") + "()"

    def _follow(self, addr: int) -> None:
        state = self._states[addr]
        first = self._image.read(addr, 2)
        if first is None:
            return
        second = self._image.read(addr + 2, 2) or 0
        instruction = decode(addr, first, second if is_wide(first) else 0)
        if first >> 8 == _IT and first & 0xF:
            self._note_conditional(addr + 2, first & 0xF)
        if instruction.is_wild:
            raise UnboundedError(
                f"{self._name} changes its stack pointer at 0x{addr:08x} by a number that is only "
                "known at run time",
                is_fault=True,
            )
        after = self._after(instruction, state, addr)
        self.frame.deepest = max(self.frame.deepest, state.depth, after.depth)
        self._leave(addr, instruction, state, after)
        if addr in self._conditional:
            self._reach(addr + instruction.size, state)

    def _note_conditional(self, addr: int, mask: int) -> None:
        """Record the instructions of an IT block: they may do nothing."""
        for _ in range(4 - (mask & -mask).bit_length() + 1):
            self._conditional.add(addr)
            addr += 4 if is_wide(self._image.read(addr, 2) or 0) else 2

    def _leave(
        self, addr: int, instruction: ThumbInstruction, state: _StackState, after: _StackState
    ) -> None:
        onward = addr + instruction.size
        match instruction.flow:
            case Flow.ON:
                self._reach(onward, after)
            case Flow.BRANCH:
                self._reach(instruction.target, after)
            case Flow.MAYBE:
                self._reach(instruction.target, after)
                self._reach(onward, after)
            case Flow.CALL:
                self._call(instruction.target, onward, state, after)
            case Flow.CALL_REGISTER:
                target = state.known.get(instruction.register)
                known = target & ~1 if isinstance(target, int) else None
                self.frame.calls.add(CallSite(state.depth, known, addr))
                self._reach(onward, after)
            case Flow.JUMP_REGISTER:
                self._jump(addr, onward, state.known.get(instruction.register), after)
            case Flow.TABLE:
                self._table(onward, after, instruction.target, is_signed=False)
            case Flow.RETURN if after.depth > 0:  # assembly also jumps by LR
                self._jump(addr, onward, None, after)
            case Flow.RETURN:
                self.frame.ends.add(after.depth)

    def _call(self, target: int, onward: int, state: _StackState, after: _StackState) -> None:
        name = self._image.names.get(target, "")
        if name in _TABLES:
            size, is_signed = _TABLES[name]
            self.frame.calls.add(CallSite(state.depth, target, onward))
            self._table(onward, after, size, is_signed)
            return
        if target != self._start and self._image.owner(target) == self._image.owner(self._start):
            self._reach(target, after)  # an Armv6-M reaches distant places this way
            return
        self.frame.calls.add(CallSite(state.depth, target, onward - 4))
        self._reach(onward, after)

    def _table(self, place: int, after: _StackState, size: int, is_signed: bool) -> None:
        """Continue at each entry of a table: a distance in halfwords, or in bytes for words."""
        end = self._image.end_of_constants(place)
        for at in range(place + 3 & ~3 if size == 4 else place, end - size + 1, size):
            raw = self._image.read(at, size) or 0
            limit = 1 << 8 * size
            entry = raw - limit if is_signed and raw >= limit // 2 else raw
            target = place + (entry if size == 4 else 2 * entry)
            if self._image.owner(target) == self._image.owner(self._start):
                self._reach(target, after)

    def _jump(self, addr: int, onward: int, target: Value | None, after: _StackState) -> None:
        """Continue where a register points: a function, or a place in this one.

        A jump to a computed address stays in the function if its frame still exists: assembly
        enters an unrolled loop this way.
        """
        if isinstance(target, int):
            self._reach(target & ~1, after)
            return
        places = self._places()
        for place in places:
            self._reach(place, after)
        if after.depth == 0 and not places:
            self.frame.calls.add(CallSite(after.depth, None, addr))
        elif not places:
            self._jumps.append(addr)
            self._reach(onward, after)

    def _places(self) -> set[int]:
        """Return the places of this function in its constants, and in tables that they point to."""
        image, own = self._image, self._image.owner(self._start)
        words = [image.read(at, 4) or 0 for at in image.constants(self._start)]
        places = {w & ~1 for w in words if image.owner(w) == own and image.is_code(w & ~1)}
        for table in (w for w in words if not image.is_code(w)):
            for at in range(table, table + _LONGEST_TABLE, 4):
                word = (image.read(at, 4) or 0) & ~1
                if image.owner(word) != own or not image.is_code(word):
                    break
                places.add(word)
        return places

    def _after(self, instruction: ThumbInstruction, state: _StackState, addr: int) -> _StackState:
        """Return the state after an instruction."""
        changes, effect = instruction.changes, instruction.effect
        known = {r: v for r, v in state.known.items() if r not in changes}
        after = _StackState(state.depth - instruction.shift, known)
        if effect is None:
            return after
        value = self._value(effect, state)
        if isinstance(value, int):
            self.frame.taken.update(self._image.functions_at(value))
        if effect.to == SP:
            if not isinstance(value, Relative):
                raise UnboundedError(
                    f"{self._name} sets its stack pointer at 0x{addr:08x} to a value that is only "
                    "known at run time",
                    is_fault=True,
                )
            return replace(after, depth=-value.distance)
        known.pop(effect.to, None)
        if value is not None:
            known[effect.to] = value
        return after

    def _value(self, effect: Effect, state: _StackState) -> Value | None:
        """Return the value that a register gets, None if it is unknown."""
        source = _get(state, effect.source)
        value: Value | None = None
        match effect.move:
            case Move.NUMBER:
                value = effect.value
            case Move.WORD:
                value = self._image.read(effect.value, 4)
            case Move.TOP if isinstance(source, int):
                value = effect.value << 16 | source & 0xFFFF
            case Move.SUM:
                value = _sum(source, effect.value)
            case Move.SHIFTED if effect.value == 0:
                value = source
            case Move.SHIFTED if isinstance(source, int):
                value = source << effect.value & _WORD
            case Move.NEGATED if isinstance(source, int):
                value = -source & _WORD
            case Move.ALIGNED if isinstance(source, Relative):
                value = Relative(source.distance - (effect.value & ~7))  # SP is aligned to 8 bytes
            case Move.REGISTERS:
                other = _get(state, effect.to)
                pair = (source, other) if isinstance(source, Relative) else (other, source)
                if isinstance(pair[0], Relative) and isinstance(pair[1], int):
                    value = _sum(pair[0], pair[1])
        return value


def _get(state: _StackState, register: int) -> Value | None:
    if register == SP:
        return Relative(-state.depth)
    return None if register == PC else state.known.get(register)


def _sum(value: Value | None, number: int) -> Value | None:
    if isinstance(value, Relative):
        number = number & _WORD
        return Relative(value.distance + (number - (1 << 32) if number >> 31 else number))
    return None if value is None else value + number & _WORD
