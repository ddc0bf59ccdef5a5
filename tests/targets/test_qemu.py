"""Firmware on QEMU: the whole way to the NPU's registers and back, and all that can go wrong."""

import dataclasses
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.host.tools import QEMU
from ethosgen.project.info import ProjectInfo
from ethosgen.targets import qemu_files, runs
from ethosgen.targets.console import Console
from ethosgen.targets.qemu import QemuTarget
from ethosgen.targets.session import RunReply, Session
from ethosgen.toolchain import Built, build
from ethosgen.values.errors import InputError, NpuFault, TargetError, ToolError
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import ELEMENTS

Firmwares = Callable[[IoStyle], tuple[Built, ProjectInfo]]
INPUT, OUTPUT = "serving/input:0", "serving/output:0"


def make_samples(count: int) -> list[Arrays]:
    random_ = np.random.default_rng(7)
    return [{INPUT: random_.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(count)]


@pytest.fixture
def ram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the shared memory where it can be seen, and see that it is gone in the end."""
    place = tmp_path / "ram"
    place.mkdir()
    monkeypatch.setattr(qemu_files, "_ram_folder", lambda _needed: place)
    yield
    assert not list(place.iterdir())


@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.usefixtures("ram")
def test_samples_come_back_exact_and_counted(firmware: Firmwares, io: IoStyle) -> None:
    built, info = firmware(io)
    told = []
    samples = make_samples(3)
    outcome = targets.run(
        built.elf, info, samples, attach=PlusOneNpu, progress=lambda *at: told.append(at)
    )
    assert outcome.ended
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    for sample, result in zip(samples, outcome.samples, strict=True):
        assert np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))
        assert result.cpu_instructions is not None and 100 < result.cpu_instructions <= 400
        assert result.init_instructions is not None and 20 < result.init_instructions <= 300
        assert result.stack_bytes is not None and 100 < result.stack_bytes <= 512


def test_the_driver_sets_the_regions_that_the_board_says(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    npus: list[PlusOneNpu] = []

    def attach(*arguments: Any) -> PlusOneNpu:
        npus.append(PlusOneNpu(*arguments))
        return npus[-1]

    targets.run(built.elf, info, make_samples(1), attach=attach)
    assert npus[0].region_configurations == [3 | 0 << 2 | 1 << 4]


def test_the_npu_reaches_the_firmwares_sections_and_no_more(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.CALLER)
    seen: dict[str, tuple[int, bool]] = {}

    def attach(page: Any, memory: Any, raise_irq: Any) -> PlusOneNpu:
        seen.update({part.name: (len(part.memory), part.writable) for part in memory})
        return PlusOneNpu(page, memory, raise_irq)

    targets.run(built.elf, info, [], attach=attach)
    assert seen == {
        ".ethosgen_commands": (48, False),
        ".ethosgen_weights": (144, False),
        ".ethosgen_arena": (3200, True),
        ".ethosgen_io": (3008, True),
    }


class NoisyConsole:
    """Loses, doubles and flips bytes in both directions, one in `every`."""

    def __init__(self, console: Console, seed: int, every: int) -> None:
        self._console = console
        self._random = random.Random(seed)
        self._every = every
        self.faults = 0

    def write(self, data: bytes) -> None:
        self._console.write(self._disturb(data))

    def read(self, timeout_s: float) -> bytes:
        return self._disturb(self._console.read(timeout_s))

    def close(self) -> None:
        self._console.close()

    def _disturb(self, data: bytes) -> bytes:
        disturbed = bytearray()
        for byte in data:
            if self._random.randrange(self._every):
                disturbed.append(byte)
                continue
            self.faults += 1
            kind = self._random.choice(("lost", "doubled", "flipped"))
            if kind == "doubled":
                disturbed += bytes((byte, byte))
            elif kind == "flipped":
                disturbed.append(byte ^ 1 << self._random.randrange(8))
        return bytes(disturbed)


@pytest.mark.parametrize("seed", range(4))
def test_a_noisy_line_is_repaired(firmware: Firmwares, seed: int) -> None:
    """The protocol of the real firmware: 12 KB through a line that spoils one byte in 1500."""
    built, info = firmware(IoStyle.ARENA)
    samples = make_samples(4)
    with QemuTarget(QEMU.find(), built.elf, info.board, PlusOneNpu) as machine:
        noisy = NoisyConsole(machine.console, seed, every=1500)
        session = Session(noisy, machine.check, retry_s=0.03)
        assert session.hello(5).digest == info.digest
        for sample in samples:
            session.write_input(0, sample[INPUT].tobytes(), 5)
            assert session.run(5).status == 0
            got = np.frombuffer(session.read_output(0, ELEMENTS, 5), np.int8)
            assert np.array_equal(got, sample[INPUT][0] + np.int8(1))
        marker = session.end(5)
        assert (marker.runs, marker.failed) == (4, 0), "a repeated request runs nothing twice"
        assert noisy.faults > 3 and session.retries > 0


def test_requests_out_of_range_are_refused(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    with QemuTarget(QEMU.find(), built.elf, info.board, PlusOneNpu) as machine:
        session = Session(machine.console, machine.check)
        session.hello(5)
        for attempt in (
            lambda: session.write_input(1, b"x", 5),
            lambda: session.write_input(0, bytes(ELEMENTS + 1), 5),
            lambda: session.read_output(0, ELEMENTS + 1, 5),
            lambda: session.read_output(7, 1, 5),
        ):
            with pytest.raises(TargetError, match="refused a request"):
                attempt()
        session.write_input(0, bytes(ELEMENTS), 5)
        assert session.run(5).status == 0


def test_an_npu_of_another_size_is_refused_by_name(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)

    def attach(*arguments: Any) -> PlusOneNpu:
        return PlusOneNpu(*arguments, npu="ethos-u55-256")

    with pytest.raises(TargetError, match="could not start: ETHOSGEN_NPU_OTHER_MACS"):
        targets.run(built.elf, info, make_samples(1), attach=attach)


class FaultyNpu(PlusOneNpu):
    """Takes no stream for a good one."""

    def _run(self) -> None:
        self.page[8] = 4  # QSIZE: the stream looks cut off
        super()._run()


def test_a_fault_of_the_npu_reaches_the_user(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(NpuFault, match="an unknown stream"):
        targets.run(built.elf, info, make_samples(1), attach=FaultyNpu)


class MuteNpu(PlusOneNpu):
    """Reports a fault in STATUS and nowhere else."""

    def _run(self) -> None:
        self.page[1] = 1 << 2 | 2
        self.page[6] = 12
        self.raise_irq()


def test_without_the_models_word_the_firmwares_stands(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(TargetError, match=r"ETHOSGEN_NPU_BUS_FAULT: .*0x00000006, QREAD 12"):
        targets.run(built.elf, info, make_samples(1), attach=MuteNpu)


class BrokenNpu(PlusOneNpu):
    """Has a bug."""

    def _run(self) -> None:
        raise ZeroDivisionError("a bug of ours")


@pytest.mark.usefixtures("ram")
def test_a_bug_in_the_model_keeps_its_traceback(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(ZeroDivisionError, match="a bug of ours"):
        targets.run(built.elf, info, make_samples(1), attach=BrokenNpu)


@pytest.mark.usefixtures("ram")
def test_qemu_that_ends_during_a_command_stream_is_named(
    firmware: Firmwares, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    spawn = QemuTarget._spawn

    def remember(self: QemuTarget, *command: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(spawn(self, *command, **options))
        return started[-1]

    class Widow(PlusOneNpu):
        """Survives QEMU, and sends its interrupt to nobody."""

        def _run(self) -> None:
            started[0].kill()
            started[0].wait()
            super()._run()

    monkeypatch.setattr(QemuTarget, "_spawn", remember)
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(TargetError, match="QEMU ended early with status -9"):
        targets.run(built.elf, info, make_samples(1), attach=Widow)


class DeafNpu(PlusOneNpu):
    """Never answers to a run."""

    def _run(self) -> None:
        pass


@pytest.mark.usefixtures("ram")
def test_an_inference_that_never_ends_meets_its_deadline(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(TargetError, match="did not end its inference within 1 s"):
        targets.run(built.elf, info, make_samples(1), attach=DeafNpu, timeout_s=1)


def test_firmware_of_another_project(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    other = dataclasses.replace(info, digest="0123456789abcdef")
    with pytest.raises(TargetError, match=r"is 0123456789abcdef; build the project again"):
        targets.run(built.elf, other, [], attach=PlusOneNpu)


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ({}, "'serving/input:0' is missing"),
        ({INPUT: np.zeros((1, 3), np.int8)}, r"is int8 \[1, 3\], but the network expects int8"),
        ({INPUT: np.zeros((1, ELEMENTS), np.uint8)}, "is uint8 "),
    ],
)
def test_inputs_that_do_not_fit(firmware: Firmwares, sample: Arrays, said: str) -> None:
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(InputError, match=said):
        targets.run(built.elf, info, [sample], attach=PlusOneNpu)


def test_an_unknown_target(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    with pytest.raises(InputError, match="unknown target 'moon'; choose one of: qemu"):
        targets.run(built.elf, info, [], on="moon", attach=PlusOneNpu)


def test_a_board_without_qemu(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    board = info.board.model_copy(update={"run": info.board.run.model_copy(update={"qemu": None})})
    with pytest.raises(InputError, match="does not run on QEMU"):
        targets.run(built.elf, dataclasses.replace(info, board=board), [], attach=PlusOneNpu)


@pytest.mark.usefixtures("ram")
def test_qemus_words_reach_the_user(
    firmware: Firmwares, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, info = firmware(IoStyle.ARENA)
    dying = tmp_path / "qemu"
    dying.write_text("#!/bin/sh\necho 'no such machine' >&2\nexit 3\n")
    dying.chmod(0o755)
    monkeypatch.setenv("ETHOSGEN_QEMU", str(dying))
    with pytest.raises(TargetError, match="QEMU ended early with status 3: no such machine"):
        targets.run(built.elf, info, [], attach=PlusOneNpu)


def test_a_missing_qemu(firmware: Firmwares, monkeypatch: pytest.MonkeyPatch) -> None:
    built, info = firmware(IoStyle.ARENA)
    monkeypatch.setenv("ETHOSGEN_QEMU", "/none/qemu")
    with pytest.raises(ToolError, match="ETHOSGEN_QEMU names '/none/qemu'"):
        targets.run(built.elf, info, [], attach=PlusOneNpu)


CRASH = "    *(volatile unsigned *)0xF0000000u = 1; /* no memory */\n"
SPIN = "    for (;;) {\n    }\n"
CRASH_OF_A_THREAD = """    static uint32_t stack[64];
    for (uint32_t i = 0; i < 64; i++) {
        stack[i] = 0x2000u; /* no address of code, wherever the handler reads */
    }
    __asm volatile("msr psp, %0\\n\\tmovs r0, #2\\n\\tmsr control, r0\\n\\tisb\\n\\t"
                   "ldr r0, =0xF0000000\\n\\tstr r0, [r0]" : : "r"(&stack[32]) : "r0", "memory");
"""
"""Threads of an RTOS have a stack pointer of their own."""


@pytest.mark.parametrize(
    ("inserted", "said"),
    [
        (
            CRASH,
            r"processor fault at 0x100\w+ \(CFSR 0x\w{8}\); it is in main\(\), 0x\w+ after",
        ),
        (CRASH_OF_A_THREAD, r"processor fault at 0x100\w+ \(CFSR 0x\w{8}\)"),
        (SPIN, "did not answer on its console within 1 s"),
    ],
)
def test_an_application_that_crashes_or_hangs(
    firmware: Firmwares,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    inserted: str,
    said: str,
) -> None:
    _, info = firmware(IoStyle.ARENA)
    place = copy_sources(info.directory, tmp_path / "p")
    main = place / "app" / "main.c"
    main.write_text(
        main.read_text().replace("    board_init();\n", f"    board_init();\n{inserted}")
    )
    if inserted is SPIN:
        monkeypatch.setattr(runs, "_ANSWER_S", 1.0)
    with pytest.raises(TargetError, match=said):
        targets.run(build(place).elf, info, [], attach=PlusOneNpu)


def test_an_application_that_fails_at_the_end(firmware: Firmwares, tmp_path: Path) -> None:
    """Its status comes from an initialized variable, so that start-up's copy is tested too."""
    _, info = firmware(IoStyle.ARENA)
    place = copy_sources(info.directory, tmp_path / "p")
    main = place / "app" / "main.c"
    source = main.read_text()
    leave = "board_exit(server_run(&firmware))"
    assert leave in source
    source = source.replace(leave, "(void)server_run(&firmware);\n    board_exit(nine)")
    main.write_text(
        source.replace("static void run", "static volatile uint32_t nine = 9;\n\nstatic void run")
    )
    with pytest.raises(TargetError, match="exited with status 9 after its end marker"):
        targets.run(build(place).elf, info, [], attach=PlusOneNpu)


def copy_sources(project: Path, place: Path) -> Path:
    """Copy a project without what was built."""
    for file in project.rglob("*"):
        relative = file.relative_to(project)
        if file.is_file() and relative.parts[0] != "build":
            (place / relative).parent.mkdir(parents=True, exist_ok=True)
            (place / relative).write_bytes(file.read_bytes())
    return place


def test_shared_memory_goes_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = {Path("/dev/shm"): 100, tmp_path: 5000}
    monkeypatch.setattr(qemu_files.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(qemu_files.os, "access", lambda *_: True)
    monkeypatch.setattr(
        qemu_files.shutil, "disk_usage", lambda place: SimpleNamespace(free=room[place])
    )
    assert [qemu_files._ram_folder(need) for need in (50, 5000)] == [Path("/dev/shm"), tmp_path]
    with pytest.raises(TargetError, match=r"needs 9 KiB, and '/dev/shm' has 0 KiB and .* 4 KiB"):
        qemu_files._ram_folder(10_000)


def test_a_full_shared_memory_is_named(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    target_ = QemuTarget(QEMU.find(), built.elf, info.board, None)
    assert "is full" in target_._death(-7)
    assert "ended early with status 1" in target_._death(1)


def test_the_npu_is_blamed_only_for_what_it_did(firmware: Firmwares) -> None:
    _, info = firmware(IoStyle.ARENA)
    silent = SimpleNamespace(last_fault=None)

    def told(status: int) -> str:
        reply = RunReply(status, 0xABCD, 7, 0, 0)
        return str(runs._explain(reply, silent, info.network))  # type: ignore[arg-type]

    assert "index outside its table" in told(15) and "NPU" not in told(15)
    assert "NPU STATUS 0x0000abcd, QREAD 7" in told(8)
    assert "NPU STATUS" not in told(2)
