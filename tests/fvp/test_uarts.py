"""Serial lines: files, terminals, and the texts that end a simulation."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ethosgen.values.errors import InputError
from ethosgen_fvp.parameters import ParameterValues
from ethosgen_fvp.platforms import find_platform
from ethosgen_fvp.uarts import (
    UartLine,
    UartLines,
    UartTerminal,
    listening,
    open_lines,
    without_commands,
)

U55 = "FVP_Corstone_SSE-300_Ethos-U55"


def sent(*chunks: bytes, ending: tuple[bytes, ...]) -> tuple[bytes, bool]:
    """Return what a line passes on of what a UART transmits, and whether it ends the run."""
    reading, writing = os.pipe()
    line = UartLine(output=writing, ending=ending)
    for chunk in chunks:
        line.far.sendall(chunk)
        line.hear()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read()
    for end in (line.near, line.far):
        end.close()
    return output, line.has_ended


@pytest.mark.parametrize(
    ("chunks", "output", "ends"),
    [
        ((b"all ", b"is well\n"), b"all is well\n", False),
        ((b"done\x04more", b"and more"), b"done\x04", True),
        ((b"EXITTHE", b"SIM and more"), b"EXITTHESIM", True),
        ((b"EXITT", b"HESIM\n", b"x"), b"EXITTHESIM", True),
        ((b"EXITTHE\nSIM",), b"EXITTHE\nSIM", False),
        ((b"EX\x04EXITTHESIM",), b"EX\x04", True),
    ],
)
def test_what_ends_a_simulation(chunks: tuple[bytes, ...], output: bytes, ends: bool) -> None:
    assert sent(*chunks, ending=(b"\x04", b"EXITTHESIM")) == (output, ends)


def test_nothing_ends_it_unasked() -> None:
    assert sent(b"a\x04b", ending=()) == (b"a\x04b", False)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (b"hello", b"hello"),
        (b"a\xff\xfb\x01b", b"ab"),
        (b"\xff\xff\xff\xf1x", b"\xffx"),
        (b"cut \xff", b"cut "),
    ],
)
def test_telnet_commands(typed: bytes, text: bytes) -> None:
    assert without_commands(typed) == text


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_terminals_take_the_next_free_ports(stack: ExitStack) -> None:
    values = ParameterValues(find_platform(U55), ["mps3_board.telnetterminal1.quiet=1"])
    lines = open_lines(values, stack)
    said = list(listening(lines, values))
    ports = [int(line.rsplit(" ", 1)[1]) for line in said]
    assert len(set(ports)) == 3 and all(port >= 5000 for port in ports)
    assert said[0] == f"telnetterminal0: Listening for serial connection on port {ports[0]}"
    assert [line.split(":")[0][-1] for line in said] == ["0", "2", "5"]


@pytest.mark.parametrize("is_raw", [True, False])
def test_a_terminal_gets_what_was_said_before(stack: ExitStack, is_raw: bool) -> None:
    terminal = UartTerminal(0, 5000, is_raw)
    stack.callback(terminal.close)
    line = UartLine(terminal=terminal)
    served = UartLines([line])
    line.far.sendall(b"early \xff\n")
    served.start()
    with socket.create_connection(("127.0.0.1", terminal.port), timeout=20) as client:
        early = b"early \xff\n" if is_raw else b"early \xff\xff\n"
        assert client.recv(len(early), socket.MSG_WAITALL) == early
        client.sendall(b"typed \xff\xff")
        expected = b"typed \xff\xff" if is_raw else b"typed \xff"
        line.far.settimeout(20)
        assert line.far.recv(len(expected), socket.MSG_WAITALL) == expected
    line.far.close()
    served.drain()
    line.near.close()
    assert line.is_closed and not served.have_ended


def test_files(stack: ExitStack, tmp_path: Path) -> None:
    output, typed = tmp_path / "out", tmp_path / "in"
    output.write_text("a former run's")
    typed.write_bytes(b"typed")
    settings = [
        f"mps3_board.uart0.out_file={output}",
        f"mps3_board.uart0.in_file={typed}",
        "mps3_board.uart0.shutdown_tag=END",
    ]
    lines = open_lines(ParameterValues(find_platform(U55), settings), stack)
    served = UartLines(list(lines.values()))
    served.start()
    far = lines[0].far
    far.settimeout(20)
    assert far.recv(5, socket.MSG_WAITALL) == b"typed"
    far.sendall(b"all is well END")
    for line in lines.values():
        line.far.close()
    served.drain()
    assert output.read_bytes() == b"all is well END" and served.have_ended


@pytest.mark.parametrize("what", ["out_file", "in_file"])
def test_a_file_that_cannot_be_opened(stack: ExitStack, what: str) -> None:
    values = ParameterValues(find_platform(U55), [f"mps3_board.uart0.{what}=/none/file"])
    with pytest.raises(InputError, match=rf"cannot (write|read) {what} '/none/file'"):
        open_lines(values, stack)
