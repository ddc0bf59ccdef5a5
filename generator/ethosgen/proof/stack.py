"""The most stack that a firmware's functions can need, from the whole graph of their calls.

The ELF has the compiler's decisions: frames, inlined functions, calls that became jumps, and the
functions of its own library. So the bound holds for any compiler and any flags.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ethosgen.board import Board
from ethosgen.proof.frames import CallFrame, CallSite, FrameWalk
from ethosgen.proof.image import THREAD_SWITCHES, FirmwareImage, read_image
from ethosgen.proof.instruction import SP, is_wide
from ethosgen.proof.unbounded import UnboundedError

_BASIC_FRAME, _FLOAT_FRAME, _PADDING = 32, 104, 4
"""What an exception pushes: registers, with those of floating point and MVE; SP is aligned."""
_RUN = ("{name}_run", "{name}_step", "{name}_feed")
"""The functions of a network's header by which an inference runs."""
_OTHERS = ("{name}_init", "{name}_reset")
_HANDLER = "ethosgen_npu_irq_handler"
_TABLE = "ethosgen_networks"
"""The table by which our application calls them."""
_VECTORS = ".vectors"
_SWITCHES = {"_isr_wrapper": 0, "vTaskSwitchContext": 44}
"""Functions of Zephyr and FreeRTOS, whose handlers run on a stack of their own, and the bytes that
a switch to another thread pushes besides, if its code does not show them: R4 to R11, LR, PSPLIM and
the secure context in FreeRTOS's ports; Zephyr keeps registers in the thread's record."""
_SWITCHED_FLOATS = 64
"""S16 to S31, which a switch that pushes anything pushes with them."""
_STMDB = 0xE920
"""STMDB Rn!, {registers}, without Rn."""
_FIRST_IRQ = 15
"""SysTick's vector; those before are the start's and the faults'."""


class FloatFrames(Enum):
    """The cases in which an exception also pushes the registers of floating point and MVE."""

    NEVER = "never"
    """The processor has none."""
    IF_USED = "if used"
    """If an instruction of the firmware uses them."""
    ALWAYS = "always"
    """Other code may have used them before."""


@dataclass(frozen=True)
class Need:
    """The most stack of a network's functions, in bytes, and the calls that need it.

    `interrupt` is the part of the NPU's interrupt, which may come at any of them, even from an
    abandoned run. `run` is the most of an inference alone, without the interrupt; `called` the same
    by our application, with the function of its table of networks around it. `measured` also
    includes everything else that a run of our application may count: its other interrupts, which
    have one priority.
    """

    bytes: int
    path: tuple[str, ...]
    interrupt: int
    run: int
    called: int
    measured: int | None
    lacks_interrupt: bool = False
    """Whether the firmware has a handler of the NPU's interrupt that no known vector leads to."""
    in_thread: bool = False
    """Whether this is the stack of an RTOS' thread: handlers run on another one, so `interrupt` is
    what an exception and a switch to another thread push."""


@dataclass(frozen=True)
class StackBound:
    """A network's need in a firmware, or why it is unknown; `is_fault` if the code is wrong."""

    network: str
    need: Need | None = None
    why: str = ""
    is_fault: bool = False


@dataclass
class _Graph:
    """The calls of an image: those of all functions that a root may reach."""

    image: FirmwareImage
    has_floats: bool
    frames: dict[int, CallFrame] = field(default_factory=dict)
    callers: dict[int, set[int]] = field(default_factory=dict)
    needs: dict[int, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    skips_pointers: bool = False
    """Whether a pointer that nobody sets is NULL, as in handlers of our application."""

    def add(self, root: int) -> None:
        """Follow all calls from a function; pointers may reach more with each caller found."""
        size = -1
        while size != len(self.callers) + sum(map(len, self.callers.values())):
            size = len(self.callers) + sum(map(len, self.callers.values()))
            waiting, seen = [root], {root}
            while waiting:
                start = waiting.pop()
                for site in self.frame(start).calls:
                    for target in self.targets(start, site):
                        self.callers.setdefault(target, set()).add(start)
                        if target not in seen:
                            seen.add(target)
                            waiting.append(target)

    def frame(self, start: int) -> CallFrame:
        """Return the facts from a function's instructions."""
        if start not in self.frames:
            self.frames[start] = FrameWalk(self.image, start).run()
        return self.frames[start]

    def need(self, start: int, above: tuple[int, ...] = ()) -> tuple[int, tuple[str, ...]]:
        """Return the bytes of a function and all that it calls, and the deepest path."""
        if start in self.needs:
            return self.needs[start]
        if start in above:
            loop = [self.name(addr) for addr in (*above[above.index(start) :], start)]
            raise UnboundedError(f"{' calls '.join(loop)}: a recursion", is_fault=True)
        frame = self.frame(start)
        most = frame.deepest
        path: tuple[str, ...] = (self.name(start),)
        for site in sorted(frame.calls, key=lambda site: site.at):
            targets = self.targets(start, site)
            if not targets and not self.skips_pointers:
                raise UnboundedError(
                    f"{self.name(start)} calls at 0x{site.at:08x} a function whose address is only "
                    "known at run time"
                )
            for target in targets:
                below, names = self.need(target, (*above, start))
                if site.depth + below > most:
                    most, path = site.depth + below, (self.name(start), *names)
        self.needs[start] = most, path
        return self.needs[start]

    def name(self, addr: int) -> str:
        """Return a function's name in messages."""
        return f"{self.image.names.get(addr, f'0x{addr:08x}')}()"

    def targets(self, start: int, site: CallSite) -> list[int]:
        """Return the functions that a call may reach.

        Through a pointer, these are the functions whose address is taken: by the function itself,
        or else by the nearest of its callers, on each path to it.
        """
        if site.target is not None:
            return [site.target]
        functions: set[int] = set()
        waiting, seen = [start], {start}
        while waiting:
            place = waiting.pop()
            taken = self.frame(place).taken
            functions |= taken
            above = set() if taken else self.callers.get(place, set()) - seen
            seen |= above
            waiting += above
        return sorted(functions)

    def interrupt(self, handlers: Iterable[int]) -> int:
        """Return the most bytes of an interrupt: the exception's frame, and the handler's calls."""
        needs = (self.exception + self.whole(handler)[0] for handler in handlers)
        return max(needs, default=0)

    @property
    def exception(self) -> int:
        """The most bytes that the processor pushes for an exception."""
        return _PADDING + (_FLOAT_FRAME if self.has_floats else _BASIC_FRAME)

    def whole(self, root: int) -> tuple[int, tuple[str, ...]]:
        """Return the need of a function that has not been followed yet."""
        self.add(root)
        return self.need(root)

    def handlers(self) -> list[int]:
        """Return the handlers of interrupts in the table of vectors."""
        table = self.image.part(_VECTORS)
        if table is None:
            return []
        places = range(table.start + 4 * _FIRST_IRQ, table.end, 4)
        words = {self.image.read(at, 4) or 0 for at in places}
        return sorted(word & ~1 for word in words if word & 1)

    def calls(self, start: int, name: str, seen: frozenset[int] = frozenset()) -> bool:
        """Return whether a function calls another, however indirectly."""
        if self.image.names.get(start) == name:
            return True
        seen |= {start}
        targets = {site.target for site in self.frame(start).calls} - seen
        return any(t is not None and self.calls(t, name, seen) for t in targets)


def float_frames(board: Board) -> FloatFrames:
    """Return when an exception pushes registers of floating point in a board's firmware.

    The Secure side uses them at each call of Non-secure code.
    """
    if not (board.cpu.has_fpu or board.cpu.has_mve):
        return FloatFrames.NEVER
    return FloatFrames.ALWAYS if board.is_non_secure else FloatFrames.IF_USED


def bound_stack(elf: Path, network: str, frames: FloatFrames) -> StackBound:
    """Return the stack that a network needs in a firmware, or the reason why it has no bound."""
    try:
        return StackBound(network, stack_need(elf, network, frames))
    except UnboundedError as error:
        return StackBound(network, why=str(error), is_fault=error.is_fault)


def stack_need(elf: Path, network: str, frames: FloatFrames) -> Need:
    """Return the most stack of a network's functions in a firmware; UnboundedError if unknown."""
    image = read_image(elf)
    is_used = frames is FloatFrames.IF_USED and image.has_floats
    graph = _Graph(image, frames is FloatFrames.ALWAYS or is_used)
    if f"{network}_run" not in image.functions:
        raise UnboundedError(f"the firmware has no function {network}_run()")
    runs, others = _found(image, _RUN, network), _found(image, _OTHERS, network)
    functions = {*runs, *others}
    most, path = max(map(graph.whole, functions), key=lambda need: need[0])
    run = max(graph.whole(addr)[0] for addr in runs)
    handlers = graph.handlers()
    switches = [each for name, each in _SWITCHES.items() if name in image.functions]
    if switches:
        pushed = max(switches) and (pushed_by_switch(image) or max(switches))
        interrupt = graph.exception + pushed
        interrupt += _SWITCHED_FLOATS if pushed and graph.has_floats else 0
    else:
        interrupt = graph.interrupt(a for a in handlers if graph.calls(a, _HANDLER))
    called, measured = run, None
    with suppress(UnboundedError):
        called = max([run, *_around(graph, {*runs})])
        others_most = max(interrupt, graph.interrupt(() if switches else handlers))
        measured = max([most, *_around(graph, functions)]) + others_most
    lacks = _HANDLER in image.functions and not interrupt
    return Need(most + interrupt, path, interrupt, run, called, measured, lacks, bool(switches))


def pushed_by_switch(image: FirmwareImage) -> int:
    """Return the bytes that FreeRTOS's switch pushes on a thread's stack; 0 if it shows none.

    Its assembly has them in STMDB before it calls for the next thread.
    """
    known = [name for name in THREAD_SWITCHES if name in image.functions]
    start = image.functions[known[0]] if known else None
    pushed, at = 0, start
    while at is not None and image.owner(at) == start and image.is_code(at):
        first, second = image.read(at, 2) or 0, image.read(at + 2, 2) or 0
        if first & 0xFFF0 == _STMDB and first & 0xF != SP:
            pushed += 4 * second.bit_count()
        at += 4 if is_wide(first) else 2
    return pushed


def _found(image: FirmwareImage, names: Iterable[str], network: str) -> list[int]:
    known = (image.functions.get(name.format(name=network)) for name in names)
    return [addr for addr in known if addr is not None]


def _around(graph: _Graph, functions: set[int]) -> list[int]:
    """Return the needs of functions in our application's table of networks that call one."""
    table, _ = graph.image.objects.get(_TABLE, (0, 0))
    graph.skips_pointers = True
    return [
        graph.whole(addr)[0]
        for addr in graph.image.functions_at(table)
        if functions & {site.target for site in graph.frame(addr).calls}
    ]
