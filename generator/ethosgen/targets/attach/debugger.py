"""The user's GDB: it sees QEMU's stub, without the watchpoint on the NPU's registers."""

import re
import select
import socket
import time
from collections.abc import Callable
from typing import Protocol

from ethosgen.targets.attach.heap import HeapAnswer
from ethosgen.targets.attach.packets import INTERRUPT, Closed, Packets
from ethosgen.targets.attach.stub import Stub

CONTINUE = b"c"
_STOPPED = b"T05thread:01;"
_WATCHPOINT = re.compile(rb"(?:r|a)?watch:([0-9a-f]+);")
_RESUMES = (b"c", b"C", b"s", b"S", b"vCont;")
_WHY_STOPPED = b"?"
_CHECK_S = 0.2
_HALT_S = 5.0


class Watched(Protocol):
    """The owner of a watchpoint."""

    @property
    def due_s(self) -> float | None:
        """The next time for `act`, on the monotonic clock; None if never."""

    def act(self) -> None:
        """Do what is due, while the processor runs."""

    def watch(self) -> None:
        """Set the watchpoint."""

    def owns(self, addr: int) -> bool:
        """Return whether an address is the watchpoint's."""

    def serve(self) -> None:
        """Execute the instruction that has met the watchpoint."""


class Conversation:
    """Runs the processor, serves the watchpoint, and passes everything else to the user's GDB.

    With a `listener`, the processor waits at reset until a GDB continues it. When that GDB
    detaches, the processor continues, and another one may connect. `heap` is for a run without one.
    """

    def __init__(
        self,
        stub: Stub,
        npu: Watched | None = None,
        listener: socket.socket | None = None,
        heap: HeapAnswer | None = None,
    ) -> None:
        self._stub = stub
        self._heap = heap
        self._npu = npu
        self._listener = listener
        self._debugger: Packets | None = None
        self._resume: bytes | None = None
        """What the processor does: the request that started it, None while it is stopped."""

    def run(self, check: Callable[[], None]) -> None:
        """Converse until QEMU ends; `check` is called regularly, and raises to end it."""
        self._watch()
        if self._heap is not None:
            self._heap.watch()
        if self._listener is None:
            self._go(CONTINUE)
        try:
            while True:
                check()
                self._step()
        except Closed:
            return
        finally:
            self._drop()

    def halt(self) -> bool:
        """Stop the processor, if it runs; return whether it has stopped."""
        if self._resume is not None:
            try:
                self._stub.interrupt()
                if self._stub.receive(_HALT_S) is None:
                    return False
            except Closed:
                return False
            self._resume = None
        return True

    def _step(self) -> None:
        """Wait for something to happen, and react."""
        lines = [line for line in (self._stub, self._debugger) if line is not None]
        ready = [line for line in lines if line.is_ready]
        waiting: list[Packets | socket.socket] = [*lines]
        if self._listener is not None and self._debugger is None:
            waiting.append(self._listener)
        readable = ready or select.select(waiting, [], [], self._patience_s())[0]
        if self._stub in readable:
            # Acknowledgements are not a packet: waiting for one would stop checks of the time.
            reply = self._stub.receive(0)
            if reply is not None:
                self._hear(reply)
        elif self._debugger is not None and self._debugger in readable:
            self._obey(self._debugger)
        elif self._listener is not None and self._listener in readable:
            self._accept(self._listener)
        if self._npu is not None and self._patience_s() == 0.0:
            self._npu.act()

    def _patience_s(self) -> float:
        """Return the time until the next action; it stops while the processor does."""
        due_s = self._npu.due_s if self._npu is not None else None
        if due_s is None or self._resume is None:
            return _CHECK_S
        return min(_CHECK_S, max(0.0, due_s - time.monotonic()))

    def _accept(self, listener: socket.socket) -> None:
        """Let a GDB connect: it expects that the processor stops."""
        line, _ = listener.accept()
        # Else each answer waits some 40 ms, until GDB's system has acknowledged our "+".
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._debugger = Packets(line)
        if self._resume is not None:
            self._stub.interrupt()
            while self._resume is not None:
                self._hear(self._stub.receive() or b"", silent=True)

    def _hear(self, reply: bytes, silent: bool = False) -> None:
        """React to a stop of the processor, or to its end."""
        match = _WATCHPOINT.search(reply)
        npu = self._npu
        if match and npu and npu.owns(int(match[1], 16)) and self._resume is not None:
            npu.serve()
            if self._resume[:1] not in (b"s", b"S") and b";s" not in self._resume:
                self._go(self._resume)
                return
            reply = _STOPPED  # a step over an access is a step like any other
        if reply[:1] in (b"T", b"S", b"W", b"X"):
            self._resume = None
        if self._debugger is not None and not silent:
            self._debugger.send(reply)
        elif reply[:1] in (b"T", b"S") and self._debugger is None:
            if self._heap is not None:
                self._heap.serve()
            self._go(CONTINUE)

    def _obey(self, debugger: Packets) -> None:
        """Pass a request of the user's GDB on."""
        try:
            request = debugger.receive(0)
        except Closed:
            self._leave()
            return
        if request is None:  # an acknowledgement
            return
        if request == INTERRUPT:
            self._stub.interrupt()
        elif request.startswith(b"D"):
            debugger.send(b"OK")
            self._leave()
        elif request.startswith((b"k", b"vKill")):
            self._stub.end()
            raise Closed
        elif request.startswith(_RESUMES):
            self._go(request)
        else:
            debugger.send(self._stub.ask(request))
            if request == _WHY_STOPPED:  # QEMU clears all watchpoints for a GDB that connects
                self._watch()

    def _watch(self) -> None:
        if self._npu is not None:
            self._npu.watch()

    def _leave(self) -> None:
        """Continue without the user's GDB, which has removed its breakpoints."""
        self._drop()
        if self._resume is None:
            self._go(CONTINUE)

    def _drop(self) -> None:
        if self._debugger is not None:
            self._debugger.close()
            self._debugger = None

    def _go(self, request: bytes) -> None:
        self._resume = request
        self._stub.send(request)
