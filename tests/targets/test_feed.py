"""The conversation with an application: its own C, on this machine, behind bad lines."""

import os
import pty
import subprocess
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ethosgen.board import load_board
from ethosgen.project import open_project, render, write
from ethosgen.targets import SerialLine
from ethosgen.targets.console import Console
from ethosgen.targets.feed import Ending, FeedSession, run_application
from ethosgen.targets.frames import Decoder, Frame
from ethosgen.targets.session import RestartError
from ethosgen.values.errors import ProtocolError, TargetError
from tests import ROOT
from tests.support.needs import needs_gcc
from tests.support.noisy_line import NoisyFrames
from tests.support.programs import make_program

TEMPLATES = ROOT / "templates"
DIGEST = "0123456789abcdef"
INFO: Any = SimpleNamespace(digest=DIGEST)
ITEM_BYTES = 3000
PROGRAM = """
#include "busy.h"
#include "feed.h"
#include "frames.h"
#include "report.h"
#include "services.h"
#include <stdio.h>
#include <unistd.h>

static uint64_t turns;

void busy_restart(void) { turns = 0; }
void busy_begin(void) { turns++; }
void busy_end(void) {}
uint64_t busy_ticks(void) { return turns << 32 | turns; }

void console_put(uint8_t byte) { putchar(byte); }

void board_wait(const volatile bool *event)
{
    unsigned char byte;
    fflush(stdout);
    while (!*event) {
        if (read(0, &byte, 1) != 1) _exit(3);
        frames_take(byte);
    }
}

int main(void)
{
    static uint8_t item[ITEM_BYTES];
    while (feed_start(sizeof item)) {
        uint32_t number = 0;
        while (feed_receive(item)) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < sizeof item; i++) sum += item[i];
            report_number((int32_t)number, 4);
            report_number(-(int32_t)sum, 9);
            report_thousandths(sum, 0);
            report_line();
            if (sum == 0) report_failure("a sum", 7);
            number++;
        }
    }
    fflush(stdout);
    return (int)report_failures();
}
"""


class Pipes:
    """The console of a program: its stdin and stdout."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        assert program.stdin is not None and program.stdout is not None
        self._to, self._from = program.stdin, program.stdout
        os.set_blocking(self._from.fileno(), False)

    def write(self, data: bytes) -> None:
        self._to.write(data)
        self._to.flush()

    def read(self, timeout_s: float) -> bytes:
        import select

        ready, _, _ = select.select([self._from], [], [], timeout_s)
        return os.read(self._from.fileno(), 4096) if ready else b""

    def close(self) -> None:
        self._to.close()


class NoisyRequests(NoisyFrames):
    """Damages requests, and loses whole answers; text has no check, so it stays."""

    def read(self, timeout_s: float) -> bytes:
        return self._console.read(timeout_s)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("feed")
    (place / "main.c").write_text(PROGRAM)
    (place / "board.h").write_text('#include "services.h"\n#define BOARD_TICKS_HZ 1000u\n')
    (place / "ethosgen_networks.h").write_text(f'#define ETHOSGEN_DIGEST "{DIGEST}"\n')
    common, app = TEMPLATES / "apps" / "common", TEMPLATES / "common" / "app"
    sources = [place / "main.c", common / "feed.c", common / "report.c", app / "frames.c"]
    folders = [f"-I{folder}" for folder in (place, common, app)]
    options = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", f"-DITEM_BYTES={ITEM_BYTES}"]
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined"]
    target = place / "program"
    subprocess.run(
        ["gcc", *options, *strict, *folders, *map(str, sources), "-o", str(target)], check=True
    )
    return target


@contextmanager
def running(program: Path) -> Iterator[Pipes]:
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Pipes(process)
    finally:
        process.kill()
        process.communicate()


def session(console: Console, retry_s: float = 0.02) -> FeedSession:
    return FeedSession(console, lambda: None, lambda _line: None, retry_s)


def items(count: int) -> list[bytes]:
    return [bytes((number + 1,)) * ITEM_BYTES for number in range(count)]


def lines(count: int) -> list[str]:
    sums = [ITEM_BYTES * (number + 1) for number in range(count)]
    return [f"{i:4}{-s:9}{s // 1000}.{s % 1000:03}" for i, s in enumerate(sums)]


def work(talk: FeedSession, count: int) -> Ending:
    talk.start(INFO, ITEM_BYTES, 20)
    for number, item in enumerate(items(count)):
        talk.send(number, item, 20)
    return talk.finish(20)


@needs_gcc
def test_items_arrive_and_lines_come_back(program: Path) -> None:
    with running(program) as console:
        talk = session(console)
        assert work(talk, 5) == Ending(5, 5, 0)
        assert talk.lines == lines(5)


@needs_gcc
@pytest.mark.parametrize("seed", range(3))
def test_damaged_requests_are_repeated_and_no_item_comes_twice(program: Path, seed: int) -> None:
    with running(program) as console:
        noisy = NoisyRequests(console, 0.4, seed)
        talk = session(noisy)
        assert work(talk, 8) == Ending(8, 8, 0)
        assert talk.lines == lines(8) and noisy.damaged > 3


@needs_gcc
def test_a_new_input_begins_in_the_middle_of_another(program: Path) -> None:
    with running(program) as console:
        talk = session(console)
        talk.start(INFO, ITEM_BYTES, 20)
        talk.send(0, items(1)[0], 20)
        again = session(console)
        assert work(again, 2) == Ending(2, 2, 0)
        assert again.lines[-2:] == lines(2)


@needs_gcc
def test_failures_are_counted(program: Path) -> None:
    with running(program) as console:
        talk = session(console)
        talk.start(INFO, ITEM_BYTES, 20)
        talk.send(0, bytes(ITEM_BYTES), 20)
        ending = talk.finish(20)
        assert ending == Ending(1, 2, 1)
        # it worked on the item, and when the input had ended
        assert (ending.ticks_hz, ending.ticks) == (1000, 2 << 32 | 2)
        assert talk.lines == ["   0        00.000", "FAILED: a sum, with status 7"]


@needs_gcc
def test_another_firmware_or_driver_is_named(program: Path) -> None:
    with running(program) as console:
        other: Any = SimpleNamespace(digest="f" * 16)
        with pytest.raises(TargetError, match="another library than the project's ffff"):
            session(console).start(other, ITEM_BYTES, 20)
        with pytest.raises(TargetError, match=r"takes 3,000 bytes at a time, but .* 7"):
            session(console).start(INFO, 7, 20)
        with pytest.raises(ProtocolError, match="refused a request"):
            talk = session(console)
            talk.start(INFO, ITEM_BYTES, 20)
            talk.send(4, items(1)[0], 20)


@needs_gcc
def test_data_without_a_greeting_tells_a_restart(program: Path) -> None:
    with running(program) as console:
        talk = session(console)
        talk.start(INFO, ITEM_BYTES, 20)
        with running(program) as restarted, pytest.raises(RestartError):
            talk._console = restarted
            talk.send(0, items(1)[0], 20)


@needs_gcc
def test_a_board_on_a_serial_line_is_fed_too(program: Path, tmp_path: Path) -> None:
    write(render(make_program(), load_board("corstone300")), tmp_path / "p")
    info = replace(open_project(tmp_path / "p"), digest=DIGEST)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    board = subprocess.Popen([program], stdin=ours, stdout=ours)
    shown: list[str] = []
    try:
        line = SerialLine(os.ttyname(theirs))
        printed, _ = run_application(
            program, info, items(4), on="serial", attach=None, line=line, on_line=shown.append
        )
    finally:
        board.kill()
        board.wait()
        for end in (ours, theirs):
            os.close(end)
    assert printed == shown == lines(4)


def test_text_between_frames_is_kept_whole() -> None:
    text = bytearray()
    decoder = Decoder(text.extend)
    frame = Frame(3, 4, b"body")
    data = b"one\r\ntw" + frame.encode() + b"o\r\n" + frame.encode()
    frames = [frame for i in range(len(data)) for frame in decoder.feed(data[i : i + 1])]
    assert frames == [frame, frame]
    assert text == b"one\r\ntwo\r\n"
    decoder.feed(b"x" * 5000)
    assert text.endswith(b"x" * 5000)
