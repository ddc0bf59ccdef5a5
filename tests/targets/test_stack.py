"""Firmware that overflows its stack: a failure that says so, on every board that QEMU has."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from ethosgen import flow, targets
from ethosgen.board import board_names, load_board
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.fault_reports import describe_fault
from ethosgen.targets.frames import Decoder, Frame
from ethosgen.targets.session import Session
from ethosgen.targets.stack import STKOF, describe_lockup, stack_size
from ethosgen.toolchain import build
from ethosgen.values.errors import BuildError, TargetError
from ethosgen.values.security import Security
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_build, needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import make_program
from tests.support.recipes import recipe

NETWORK = ROOT / "demo" / "digits_int8.tflite"
ON_QEMU = [name for name in board_names() if load_board(name).run.qemu]
WITHOUT_LIMIT = [n for n in ON_QEMU if not load_board(n).cpu.has_stack_limit]
SMALL = 256
SENTENCE = "main()'s stack of 256 bytes overflowed, so no result can be trusted; increase __stack_b"


def with_stack(directory: Path, size: int, below: int = 0) -> Path:
    """Give a project's firmware for QEMU a stack of `size` bytes above `below` bytes of RAM."""
    script = directory / "board" / "qemu.ld"
    text = re.sub(r"__stack_bytes = \d+;", f"__stack_bytes = {size};", script.read_text())
    script.write_text(text.replace("__stack_limit = .;", f". += {below}; __stack_limit = .;"))
    return build(directory).elf


def project_on(name: str, directory: Path) -> ProjectInfo:
    """Create a project: digits on the CPU, or one partition of an NPU."""
    if load_board(name).npu:
        write(render(make_program(), load_board(name)), directory)
    else:
        asked = recipe(NETWORK, board=name, check=False)
        flow.create_project(asked, directory=directory, watch=Watch())
    return open_project(directory)


def run_small(info: ProjectInfo, below: int = 0) -> str:
    """Run a firmware whose stack is too small; return why it failed."""
    elf = with_stack(info.directory, SMALL, below)
    attach = PlusOneNpu if info.board.npu else None
    zeros = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in info.network.inputs}
    with pytest.raises(TargetError) as caught:
        targets.run(elf, info, [zeros], attach=attach)
    return str(caught.value)


def test_every_kind_of_core_is_there() -> None:
    limits = {load_board(name).cpu.has_stack_limit for name in ON_QEMU}
    assert limits == {True, False} and len(WITHOUT_LIMIT) >= 6


@needs_qemu
@pytest.mark.parametrize("name", ON_QEMU)
def test_it_is_found_on_every_board(name: str, tmp_path: Path) -> None:
    assert SENTENCE in run_small(project_on(name, tmp_path / "p"))


@needs_qemu
def test_paint_that_is_used_up_is_found_where_nothing_faults(tmp_path: Path) -> None:
    """RAM lies below this stack, as on a chip with another memory there."""
    said = run_small(project_on("mps2-an386", tmp_path / "p"), below=4096)
    assert said.startswith(SENTENCE)


@needs_qemu
def test_it_is_found_in_non_secure_firmware(tmp_path: Path) -> None:
    board = load_board("corstone300").in_state(Security.NON_SECURE)
    write(render(make_program(), board), tmp_path / "p")
    assert SENTENCE in run_small(open_project(tmp_path / "p"))


@needs_build
@pytest.mark.parametrize("name", WITHOUT_LIMIT)
def test_the_stack_is_at_the_bottom_of_the_memory(name: str, tmp_path: Path) -> None:
    info = project_on(name, tmp_path / "p")
    built = build(info.directory)
    with built.elf.open("rb") as file:
        stack = ELFFile(file).get_section_by_name(".stack")
        board = info.board
        data = board.memories[board.placements["shared_sram"].data]
        assert stack is not None and stack["sh_addr"] == data.start_addr
    assert stack_size(built.elf) == 2048


@needs_build
def test_a_stack_without_room_for_the_report_is_not_linked(tmp_path: Path) -> None:
    info = project_on("mps2-an386", tmp_path / "p")
    with pytest.raises(BuildError, match="__stack_bytes must be a multiple of 8, and at least 256"):
        with_stack(info.directory, 64)


class Answering:
    """A console whose firmware answers each request with the same body."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._sent = b""
        self._decoder = Decoder()

    def write(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            self._sent += Frame(frame.type | 0x80, frame.sequence, self._body).encode()

    def read(self, _timeout_s: float) -> bytes:
        data, self._sent = self._sent, b""
        return data

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("used", "is_found"), [(2044, False), (2048, True)])
def test_the_last_word_decides(used: int, is_found: bool) -> None:
    session = Session(Answering(struct.pack("<7I", 1, 0, 0, 0, 9, used, 0)), stack_bytes=2048)
    if not is_found:
        assert session.run(1).stack_bytes == used
        return
    with pytest.raises(TargetError, match="stack of 2,048 bytes overflowed"):
        session.run(1)


@pytest.mark.parametrize(
    ("body", "size", "text"),
    [
        (struct.pack("<4I", STKOF, 0, 256, 200), None, "main()'s stack of 256 bytes overflowed"),
        (struct.pack("<4I", 0x1000, 0, 512, 512), None, "main()'s stack of 512 bytes overflowed"),
        (struct.pack("<4I", 0x8200, 0x1234, 512, 508), 512, "fault at 0x00001234 (CFSR 0x00008"),
        (struct.pack("<2I", STKOF, 0x1234), None, "main()'s stack overflowed"),
        (struct.pack("<2I", STKOF, 0x1234), 1024, "main()'s stack of 1,024 bytes overflowed"),
        (struct.pack("<8I", 0, 4, 0, 1, 0, 0, 0, STKOF), 256, "main()'s stack of 256 bytes over"),
        (struct.pack("<8I", STKOF, 4, 0, 0, 0, 0, 0, 0), 256, "linker script (secure/secure.ld)"),
    ],
)
def test_a_fault_of_the_stack_is_a_sentence(body: bytes, size: int | None, text: str) -> None:
    assert text in describe_fault(body, size)


LOCKUP = """qemu: fatal: Lockup: can't escalate 3 to HardFault (current priority -1)

R00=00002614 R01=00000000 R02=2d03dc02 R03=003ff746
R12=05aa17a5 R13={sp:08x} R14=fffffff1 R15=eac8fc9c
XPSR=80030003 N--- A handler
"""


@needs_build
def test_a_lockup_is_a_sentence(tmp_path: Path) -> None:
    elf = build(project_on("mps2-an386", tmp_path / "p").directory).elf
    text = describe_lockup(LOCKUP.format(sp=0x1FFFFEE0), elf)
    assert text is not None and "stack of 2,048 bytes overflowed" in text
    text = describe_lockup(LOCKUP.format(sp=0x20000400), elf)
    assert text is not None and "stack pointer at 0x20000400" in text
    assert "locked up at 0xeac8fc9c (no function of firmware.elf is there), in exception 3," in text
    assert describe_lockup("qemu: terminating on signal 15", elf) is None
