"""A firmware as users write it runs on stock QEMU with the NPU model, without any change."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ethosgen
from ethosgen.cli import cli
from ethosgen.host.tools import GCC
from ethosgen.targets.attach.firmware import check_elf
from ethosgen.targets.attach.packets import Packets
from ethosgen.values.errors import EthosgenError
from ethosgen.values.status import Status
from tests.support.needs import needs_qemu
from tests.targets.attach.firmwares import (
    APPLICATION,
    EXIT_STATUS,
    RUNS,
    build_application,
    expected,
    outputs,
)

pytestmark = [
    pytest.mark.compiler("arm-none-eabi-gcc", "make"),
    needs_qemu,
]


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_application(tmp_path_factory.mktemp("application"))


def attach(elf: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ethosgen", "attach", "--elf", str(elf), *options]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(elf: Path, *options: str) -> tuple[int, str, str]:
    with attach(elf, *options) as process:
        said, told = process.communicate(timeout=120)
        return process.returncode, said, told


def test_the_firmware_runs_unchanged(elf: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    status, said, told = run(elf, "--board", "corstone300", "--timeout", "100", "--log", str(log))
    assert status == EXIT_STATUS, told
    assert outputs(said) == expected(elf.parent)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["number"] for line in lines] == [1, 2, 3]
    assert all(line["operations"] > 2 and line["cycles"] > 0 for line in lines)
    assert {line["fault"] for line in lines} == {""}
    assert f"the firmware ended with status {EXIT_STATUS} after 3 inferences" in told


def test_python_has_the_console_and_the_inferences(
    elf: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    announced: list[object] = []
    run = ethosgen.attach(elf, board="corstone300", limit_s=100, announce=announced.append)
    assert run.status == EXIT_STATUS and run.lockup is None
    assert outputs(run.console) == expected(elf.parent)
    assert [inference.number for inference in run.inferences] == [1, 2, 3]
    assert announced == [*run.inferences] and not any(each.fault for each in run.inferences)
    assert capfd.readouterr().out == ""


def test_the_firmware_refuses_another_npu(elf: Path) -> None:
    status, said, told = run(elf, "--board", "corstone300", "--npu", "ethos-u55-256")
    assert (status, outputs(said)) == (2, []), told
    assert "no NPU" in said


def test_a_fault_of_the_npu_is_reported(elf: Path) -> None:
    damaged = elf.with_name("damaged.elf")
    content = elf.read_bytes()
    text = (elf.parent / "library" / "model" / "image_net_commands.c").read_text()
    words = [int(word, 16) for word in re.findall(r"0x([0-9a-f]{8})u?", text)]
    stream = b"".join(word.to_bytes(4, "little") for word in words[8:24])
    assert content.count(stream) == 1
    damaged.write_bytes(content.replace(stream, b"\xff" * len(stream)))
    status, said, told = run(damaged, "--board", "corstone300")
    assert status == EXIT_STATUS and outputs(said) == []
    assert said.count("status") == RUNS
    assert told.count("fault: ") == RUNS


class Debugger:
    """The least of a GDB."""

    def __init__(self, port: int, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert f"target remote :{port}" in line
        while True:
            try:
                self.packets = Packets(socket.create_connection(("127.0.0.1", port)))
                return
            except ConnectionRefusedError:
                assert process.poll() is None

    def ask(self, request: bytes) -> bytes:
        self.packets.send(request)
        answer = self.packets.receive(60)
        assert answer is not None, request
        return answer


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def debugged(elf: Path, port: int) -> "Iterator[subprocess.Popen[str]]":
    with attach(elf, "--board", "corstone300", "--gdb", str(port)) as process:
        killer = threading.Timer(100, process.kill)
        killer.start()
        yield process
        killer.cancel()
        process.kill()


def address_of(elf: Path, function: str) -> int:
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(function)
    return int(symbols[0]["st_value"]) & ~1


def test_a_debugger_sees_its_own_stops_only(
    elf: Path, port: int, debugged: "subprocess.Popen[str]"
) -> None:
    gdb = Debugger(port, debugged)
    assert gdb.ask(b"?").startswith(b"T05")
    run = address_of(elf, "image_net_run")
    assert gdb.ask(b"Z0,%x,2" % run) == b"OK"
    for _ in range(RUNS):  # init and the runs before access the NPU's registers on the way
        assert gdb.ask(b"c").startswith(b"T05")
        gdb.ask(b"qXfer:features:read:target.xml:0,ffb")
        pc = int.from_bytes(bytes.fromhex(gdb.ask(b"pf").decode()), "little")
        assert pc == run
        assert gdb.ask(b"z0,%x,2" % run) == b"OK"
        assert gdb.ask(b"s").startswith(b"T05")
        assert gdb.ask(b"Z0,%x,2" % run) == b"OK"
    assert gdb.ask(b"D") == b"OK"
    said, told = debugged.communicate(timeout=100)
    assert debugged.returncode == EXIT_STATUS, told
    assert outputs(said) == expected(elf.parent)


def test_a_firmware_that_does_not_end_is_reported(elf: Path) -> None:
    status, said, told = run(elf, "--board", "corstone300", "--timeout", "0.01")
    assert status != 0 and not outputs(said)
    assert "has not ended after 0.01 s" in told
    assert "Traceback" not in told


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the application with a short limit for a run, but not for a busy machine's model."""
    return build_application(
        tmp_path_factory.mktemp("impatient"), "-DETHOSGEN_NPU_TIMEOUT_MS=2000u"
    )


def test_a_delayed_inference_is_waited_for(elf: Path) -> None:
    started = time.monotonic()
    status, said, told = run(elf, "--board", "corstone300", "--npu-delay", "200")
    assert status == EXIT_STATUS and outputs(said) == expected(elf.parent), told
    assert time.monotonic() - started > RUNS * 0.2


def test_interrupts_without_a_cause_change_nothing(elf: Path) -> None:
    options = ("--spurious-irq", "5", "--npu-delay", "50")
    status, said, told = run(elf, "--board", "corstone300", *options)
    assert status == EXIT_STATUS and outputs(said) == expected(elf.parent), told


def test_a_firmware_gives_an_npu_up_that_hangs(impatient: Path) -> None:
    status, said, told = run(impatient, "--board", "corstone300", "--npu-hang", "2")
    first, _, last = expected(impatient.parent)
    assert status == EXIT_STATUS and outputs(said) == [first, last], told
    assert re.findall(r"^status (\d+)", said, re.MULTILINE) == [
        "0",
        str(int(Status.NPU_TIMEOUT)),
        "0",
    ]
    assert "after 2 inferences" in told


def test_a_lost_interrupt_costs_the_limit_of_time(impatient: Path) -> None:
    status, said, told = run(impatient, "--board", "corstone300", "--drop-irq", "2")
    assert status == EXIT_STATUS and outputs(said) == expected(impatient.parent), told
    assert "after 3 inferences" in told


HANGING = """
extern unsigned stack_top;
volatile unsigned turns;
__attribute__((noinline)) static void wander(volatile unsigned *place) {{ *place = 1u; }}
__attribute__((noinline)) static void spin(void) {{ for (;;) {{ turns++; }} }}
int main(void) {{ {body} spin(); }}
static void fault_handler(void) {{ {handler} }}
__attribute__((section(".vectors"), used)) static void *const vectors[16] = {{
    &stack_top, main, fault_handler, fault_handler,
}};
"""
WANDER = "wander((volatile unsigned *)0x0FFFFFFCu);"
IN_FAULT = (
    r"in exception 3 \(HardFault, in IPSR\), which stopped the code at 0x\w+ \(wander \+ 0x\w+\), "
)


def build_hanging(folder: Path, body: str, handler: str) -> None:
    (folder / "main.c").write_text(HANGING.format(body=body, handler=handler))
    options = ["-mcpu=cortex-m55", "-mthumb", "-O1", "-nostdlib", "-nostartfiles"]
    script = str(APPLICATION / "app.ld")
    command = [str(GCC.find()), *options, "-T", script, "main.c", "-o", "hang.elf"]
    subprocess.run(command, cwd=folder, check=True)


def test_a_lockup_is_located(tmp_path: Path) -> None:
    """A fault in the fault handler, which ends QEMU."""
    build_hanging(tmp_path, WANDER, WANDER)
    _, _, told = run(tmp_path / "hang.elf", "--board", "corstone300")
    assert "qemu: fatal: Lockup" in told, "what QEMU prints is passed on"
    where = r"locked up at 0x\w+ \(it is in wander\(\), 0x\w+ after its start\), in exception 3, "
    assert re.search(where, told), told


@pytest.mark.parametrize(
    ("body", "handler", "where"),
    [
        ("", "", r"\(spin \+ 0x\w+\), in no exception \(IPSR 0\), CFSR 0x00000000, HFSR 0x0{8};"),
        (
            WANDER,
            "for (;;) { turns++; }",
            rf"\(fault_handler \+ 0x\w+\), {IN_FAULT}CFSR 0x00008200",
        ),
        (WANDER, "spin(); turns = 0u;", rf"\(spin \+ 0x\w+\), {IN_FAULT}CFSR 0x00008200, HFSR 0x4"),
    ],
)
def test_a_firmware_that_hangs_is_located(
    tmp_path: Path, body: str, handler: str, where: str
) -> None:
    build_hanging(tmp_path, body, handler)
    status, _, told = run(tmp_path / "hang.elf", "--board", "corstone300", "--timeout", "1")
    assert status != 0 and re.search(rf"not ended after 1 s: it is at 0x\w+ {where}", told), told


def refuse(elf: Path, *options: str, sentence: str) -> None:
    """Expect a refusal before QEMU starts; a process of its own would take a second more."""
    with pytest.raises(EthosgenError, match=sentence) as refusal:
        cli.main(["attach", "--elf", str(elf), *options], standalone_mode=False)
    assert refusal.value.exit_status != 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--board", "corstone310"), r"no machine with the memories of board 'corstone310'"),
        (("--board", "corstone300", "--npu", "ethos-u65-1"), "is not an NPU|no NPU|unknown"),
        (("--board", "mps2-an385", "--drop-irq", "1"), r"change what an NPU does; name one with"),
        (
            ("--board", "corstone300", "--npu", "none", "--npu-hang", "1"),
            r"change what an NPU does",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    elf: Path, options: tuple[str, ...], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    refuse(elf, *options, sentence=sentence)
    assert not outputs(capfd.readouterr().out)


def test_no_elf_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "app.bin"
    other.write_bytes(b"no ELF")
    board = ("--board", "corstone300")
    refuse(other, *board, sentence="is not an ELF file; pass the linker's output")
    refuse(Path(sys.executable).resolve(), *board, sentence="not for a Cortex-M")


def test_a_truncated_elf_is_refused(elf: Path, tmp_path: Path) -> None:
    whole, part = elf.read_bytes(), tmp_path / "part.elf"
    check_elf(elf)
    for size in (60, len(whole) // 2, len(whole) - 1):
        part.write_bytes(whole[:size])
        refuse(part, "--board", "corstone300", sentence="part.elf' is truncated or damaged; link")


def test_a_log_is_never_overwritten(elf: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("mine")
    options = ("--board", "corstone300", "--log", str(log))
    refuse(elf, *options, sentence="exists; pass another --log")
    assert log.read_text() == "mine"
