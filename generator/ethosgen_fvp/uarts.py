"""The serial lines of a simulated board: files, sockets for terminals, and the end of the run."""

import contextlib
import os
import select
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from ethosgen.values.errors import InputError, TargetError
from ethosgen_fvp.parameters import TERMINALS, UARTS, ParameterValues

STDOUT = 1
_EOT = b"\x04"
_IAC = 0xFF
_OPTION_COMMANDS = range(0xFB, 0xFF)
"""Telnet's WILL, WON'T, DO and DON'T, which an option follows."""
_CHUNK = 1 << 16
_KEPT_BYTES = 1 << 16
"""Of the output before a terminal connects."""
_PORTS = 100
"""How many ports are tried for a terminal."""
_WAIT_S = 0.2
_DRAIN_S = 5.0


class UartTerminal:
    """A socket that one terminal at a time connects to, with or without telnet's commands."""

    def __init__(self, number: int, first_port: int, is_raw: bool) -> None:
        self.number = number
        self._is_raw = is_raw
        self._listener = _listen(first_port)
        self._client: socket.socket | None = None
        self._missed = b""

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self._listener.getsockname()[1])

    @property
    def waits_for(self) -> socket.socket:
        """The socket that becomes readable when the terminal does something."""
        return self._client or self._listener

    def receive(self) -> bytes:
        """Accept a terminal, or return the bytes that it sends."""
        if self._client is None:
            self._client, _ = self._listener.accept()
            self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            missed, self._missed = self._missed, b""
            self.send(missed)
            return b""
        data = b""
        with contextlib.suppress(OSError):
            data = self._client.recv(_CHUNK)
        if not data:
            self._client.close()
            self._client = None
        return data if self._is_raw else without_commands(data)

    def send(self, data: bytes) -> None:
        """Send to the terminal, or keep the last bytes for one that connects."""
        if self._client is None:
            self._missed = (self._missed + data)[-_KEPT_BYTES:]
            return
        if not self._is_raw:
            data = data.replace(bytes([_IAC]), bytes([_IAC, _IAC]))
        with contextlib.suppress(OSError):
            self._client.sendall(data)

    def close(self) -> None:
        """Close the sockets."""
        self._listener.close()
        if self._client is not None:
            self._client.close()


def without_commands(data: bytes) -> bytes:
    """Return a terminal's bytes without telnet's commands."""
    text = bytearray()
    place = 0
    while place < len(data):
        if data[place] != _IAC:
            text.append(data[place])
            place += 1
            continue
        command = data[place + 1] if place + 1 < len(data) else 0
        if command == _IAC:
            text.append(_IAC)
        place += 3 if command in _OPTION_COMMANDS else 2
    return bytes(text)


class UartLine:
    """A UART: its output goes to a file and a terminal, until it announces the end.

    `far` is QEMU's end. `ending` are texts that end the simulation.
    """

    def __init__(
        self,
        output: int | None = None,
        terminal: UartTerminal | None = None,
        ending: Sequence[bytes] = (),
        typed: bytes = b"",
    ) -> None:
        self.near, self.far = socket.socketpair()
        self.terminal = terminal
        self.has_ended = self.is_closed = False
        self.typed = typed
        self._output = output
        self._ending = ending
        self._tail = b""

    def hear(self) -> None:
        """Pass on the UART's output, up to the text that ends the simulation."""
        data = b""
        with contextlib.suppress(OSError):
            data = self.near.recv(_CHUNK)
        if not data:
            self.is_closed = True
            return
        if self.has_ended:
            return
        seen = self._tail + data
        ends = [seen.find(text) + len(text) for text in self._ending if text in seen]
        if ends:
            self.has_ended = True
            data = data[: min(ends) - len(self._tail)]
        longest = max(map(len, self._ending), default=1)
        self._tail = seen[-(longest - 1) :] if longest > 1 else b""
        if self._output is not None:
            _write(self._output, data)
        if self.terminal is not None:
            self.terminal.send(data)

    def type_on(self) -> None:
        """Give the UART the waiting input, as much as it accepts."""
        with contextlib.suppress(OSError):
            self.typed = self.typed[self.near.send(self.typed) :]


class UartLines:
    """All lines, served by a thread until QEMU closes them."""

    def __init__(self, lines: Sequence[UartLine]) -> None:
        self._lines = lines
        self._thread = threading.Thread(target=self._serve, name="uarts", daemon=True)

    @property
    def have_ended(self) -> bool:
        """Whether a firmware has transmitted the text that ends the simulation."""
        return any(line.has_ended for line in self._lines)

    def start(self) -> None:
        """Begin to serve them."""
        self._thread.start()

    def drain(self) -> None:
        """Wait until all output has been passed on; QEMU has ended."""
        if self._thread.ident is not None:
            self._thread.join(_DRAIN_S)

    def _serve(self) -> None:
        while lines := [line for line in self._lines if not line.is_closed]:
            terminals = {line.terminal.waits_for: line for line in lines if line.terminal}
            nears = {line.near: line for line in lines}
            typing = [line.near for line in lines if line.typed]
            ready, writable, _ = select.select([*nears, *terminals], typing, [], _WAIT_S)
            for place in ready:
                if place in nears:
                    nears[place].hear()
                elif (terminal := terminals[place].terminal) is not None:
                    terminals[place].typed += terminal.receive()
            for place in writable:
                nears[place].type_on()


def open_lines(values: ParameterValues, stack: ExitStack) -> dict[int, UartLine]:
    """Return the lines by the UARTs' numbers; `stack` closes what they open.

    InputError for a file that cannot be written or read.
    """
    lines = {}
    for number in UARTS:
        terminal = None
        if number in TERMINALS:
            terminal = UartTerminal(number, values.port(number), values.is_raw(number))
            stack.callback(terminal.close)
        tag = values.uart(number, "shutdown_tag").encode()
        endings = [_EOT] if values.ends_on_eot(number) else []
        line = UartLine(
            _open(values.uart(number, "out_file"), stack),
            terminal,
            [*endings, *([tag] if tag else [])],
            _read(values.uart(number, "in_file")),
        )
        stack.callback(line.near.close)
        stack.callback(line.far.close)
        lines[number] = line
    return lines


def _listen(first_port: int) -> socket.socket:
    """Return a socket on the first free port."""
    for port in range(first_port, first_port + _PORTS):
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    raise TargetError(f"no TCP port from {first_port} to {first_port + _PORTS - 1} is free")


def _open(name: str, stack: ExitStack) -> int | None:
    """Open a UART's file for output, as an FVP does: old content is lost."""
    if not name:
        return None
    if name in ("-", "/dev/stdout"):
        return STDOUT
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        raise InputError(f"cannot write out_file '{name}': {error.strerror}") from None
    stack.callback(os.close, handle)
    return handle


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes() if name else b""
    except OSError as error:
        raise InputError(f"cannot read in_file '{name}': {error.strerror}") from None


def _write(handle: int, data: bytes) -> None:
    """Write all; a reader that has gone, such as `head`, does not end the simulation."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(handle, data) :]


def listening(lines: dict[int, UartLine], values: ParameterValues) -> Iterator[str]:
    """Yield a line with the address of each terminal, as the FVPs print it."""
    for number, line in lines.items():
        if line.terminal is not None and not values.is_quiet(number):
            yield (
                f"telnetterminal{number}: Listening for serial connection on port "
                f"{line.terminal.port}"
            )
