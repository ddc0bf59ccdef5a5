"""Firmware runs under the installed programs, as under an FVP."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import ethosgen
from tests.support.needs import needs_build, needs_qemu
from tests.targets.attach.firmwares import EXIT_STATUS, build_application, expected, outputs

pytestmark = [pytest.mark.compiler("arm-none-eabi-gcc", "gcc", "make"), needs_qemu]

DIGITS = Path(__file__).parents[2] / "demo" / "digits_int8.tflite"
U55 = "FVP_Corstone_SSE-300_Ethos-U55"


@pytest.fixture(scope="module")
def fvps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "fvps"
    assert ethosgen("fvp", "install", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_application(tmp_path_factory.mktemp("application"))


def simulate(program: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, *words], check=False, capture_output=True, text=True, timeout=120
    )


def settings(*parameters: str) -> list[str]:
    return [word for parameter in parameters for word in ("-C", parameter)]


def test_a_firmware_ends_by_semihosting(fvps: Path, elf: Path) -> None:
    words = settings('mps3_board.uart0.out_file="-"', "cpu0.semihosting-enable=1")
    done = simulate(fvps / U55, *words, "--timelimit", "100", str(elf))
    assert done.returncode == EXIT_STATUS and not done.stderr, done.stderr
    assert outputs(done.stdout) == expected(elf.parent)
    first, *_, last = done.stdout.strip().splitlines()
    assert first.startswith("telnetterminal0: Listening for serial connection on port 5")
    assert last == "Info: /OSCI/SystemC: Simulation stopped by user."


def test_a_firmware_ends_by_a_text(fvps: Path, elf: Path, tmp_path: Path) -> None:
    """A line of the second output ends the run, whatever follows; the file has it whole."""
    output = tmp_path / "uart0"
    second = "status 0: " + " ".join(map(str, expected(elf.parent)[1]))
    words = settings(
        f"mps3_board.uart0.out_file={output}", f"mps3_board.uart0.shutdown_tag={second}"
    )
    done = simulate(fvps / U55, *words, "--quiet", "--stat", "-a", f"cpu0*={elf}")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert outputs(output.read_text()) == expected(elf.parent)[:2]
    assert "Listening" not in done.stdout and "Wall time" in done.stdout


SPINNING = """
    .section .vectors, "a"
    .word 0x30001000, start + 1
    .text
    .thumb_func
start:
    b start
"""


ASKING_THE_TIMING_ADAPTERS = """
    .section .vectors, "a"
    .word 0x30001000, start + 1
    .text
    .thumb_func
start:
    movs r4, #0x24              @ SYS_EXIT's reasons: 0x20024 is a failure, 0x20026 none
    ldr r2, =0x1117
    ldr r0, =0x48103038         @ VERSION of the first, non-secure
    ldr r1, [r0]
    cmp r1, r2
    bne end
    ldr r0, =0x58103238         @ VERSION of the second, secure
    ldr r1, [r0]
    cmp r1, r2
    bne end
    ldr r0, =0x58103000         @ MAXR has six bits
    ldr r1, =0x1ff
    str r1, [r0]
    ldr r0, =0x48103000
    ldr r1, [r0]
    cmp r1, #0x3f
    bne end
    movs r4, #0x26
end:
    ldr r1, =0x20000
    orrs r1, r4
    movs r0, #0x18
    bkpt 0xab
"""


def build_spinning(folder: Path, vectors: str, code: str = SPINNING) -> Path:
    source, elf = folder / "spin.s", folder / "spin.elf"
    source.write_text(".syntax unified\n.thumb\n" + code)
    places = f"-Wl,--section-start=.vectors={vectors},-Ttext={int(vectors, 16) + 0x100:#x},-e,start"
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-nostdlib", places]
    subprocess.run([*command, str(source), "-o", str(elf)], check=True)
    return elf


def test_a_limit_of_time(fvps: Path, tmp_path: Path) -> None:
    elf = build_spinning(tmp_path, "0x10000000")
    done = simulate(fvps / U55, "--timelimit", "1", "-a", str(elf))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Info: Simulation is stopping. Reason: CPU time has been exceeded.\n" in done.stdout


@pytest.mark.parametrize("name", [U55, "FVP_Corstone_SSE-310"])
def test_a_limit_of_simulated_time(fvps: Path, tmp_path: Path, name: str) -> None:
    """Two seconds are 31 million instructions, so it is no limit of this machine's time."""
    elf = build_spinning(tmp_path, "0x10000000" if name == U55 else "0x11000000")
    done = simulate(fvps / name, "--simlimit", "2", "--timelimit", "100", "-a", str(elf))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Reason: Simulated time has been exceeded.\n" in done.stdout


RUNNER = """
#include <stdio.h>
#include <stdlib.h>
extern unsigned __stack;
extern void _start(void);
static void reset(void)
{
    *(volatile unsigned *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\\n\\tisb");
    _start();
}
__attribute__((section(".vectors"), used)) static void *const vectors[16] = {&__stack, reset};
int main(int argc, char **argv)
{
    char *text = malloc(100000);
    FILE *in = fopen(argv[2], "rb"), *out = fopen(argv[4], "wb");
    if (argc != 5 || text == NULL || in == NULL || out == NULL) {
        return 3;
    }
    printf("%s %s, heap 0x%08x\\n", argv[0], argv[1], (unsigned)text & 0xFFFF0000u);
    fwrite(text, 1, fread(text, 1, 100000, in), out);
    fclose(out);
    return 5;
}
"""
PLACES = """
SECTIONS
{
    .vectors 0x10000000 : { KEEP(*(.vectors)) }
    .text : { *(.text*) *(.rodata*) *(.init) *(.fini) *(.ARM.ex*) *(.eh_frame*) *(.init_array*)
        *(.fini_array*) }
    .data 0x30000000 : { *(.data*) }
    .bss (NOLOAD) : { __bss_start__ = .; *(.bss*) *(COMMON) . = ALIGN(8); __bss_end__ = .; }
    end = .; __end__ = .; __stack = 0x30080000;
}
"""


def test_a_program_with_files_and_arguments(fvps: Path, tmp_path: Path) -> None:
    """ExecuTorch's way: newlib's own start asks for heap and stack, and opens files in the folder.

    The values 0 leave heap and stack to the linker's script.
    """
    (tmp_path / "main.c").write_text(RUNNER)
    (tmp_path / "places.ld").write_text(PLACES)
    (tmp_path / "i0.bin").write_bytes(b"content, of a kind")
    options = ["-mcpu=cortex-m55", "-mfloat-abi=hard", "-O1", "--specs=rdimon.specs", "-T"]
    command = ["arm-none-eabi-gcc", *options, "places.ld", "main.c", "-o", "runner.elf"]
    subprocess.run([*command, "-Wl,--no-warn-rwx-segment"], cwd=tmp_path, check=True)
    words = settings(
        "cpu0.semihosting-enable=1",
        *(f"cpu0.semihosting-{name}=0" for name in ("heap_limit", "stack_base", "stack_limit")),
        f"cpu0.semihosting-cwd={tmp_path}",
        "cpu0.semihosting-cmd_line='executor_runner -i i0.bin -o out,0'",
    )
    end = ["-a", str(tmp_path / "runner.elf"), "--timelimit", "100"]
    done = simulate(fvps / U55, *words, *end)
    assert done.returncode == 5 and not done.stderr, done.stderr
    assert "executor_runner -i, heap 0x30000000" in done.stdout
    assert (tmp_path / "out,0").read_bytes() == b"content, of a kind"


def test_a_smaller_npu_is_refused_by_the_firmware(fvps: Path, elf: Path) -> None:
    words = settings(
        "mps3_board.uart0.out_file=-", "cpu0.semihosting-enable=1", "ethosu.num_macs=64"
    )
    done = simulate(fvps / U55, *words, "--timelimit", "100", "-a", str(elf))
    assert done.returncode == 2 and "no NPU" in done.stdout


def test_firmware_for_another_board_is_refused(fvps: Path, tmp_path: Path) -> None:
    elf = build_spinning(tmp_path, "0x12000000")
    done = simulate(fvps / U55, "-a", str(elf))
    assert done.returncode == 2 and "bytes at 0x12000000, where " in done.stderr
    assert done.stderr.endswith("on QEMU has no memory; docs/fvp.md lists its memories\n")
    done = simulate(fvps / "FVP_Corstone_SSE-320", "-a", str(elf))
    assert done.returncode == 2
    assert "has no vectors at 0x11000000, where the processor starts" in done.stderr
    start = "mps4_board.subsystem.iotss3_systemcontrol.INITSVTOR_RST=0x12000000"
    words = (*settings(start), "--timelimit", "1", "-a", str(elf))
    done = simulate(fvps / "FVP_Corstone_SSE-320", *words)
    assert done.returncode == 0 and "CPU time has been exceeded" in done.stdout, done.stderr


@needs_build
@pytest.mark.parametrize(
    ("board", "npu"),
    [
        ("corstone300", "ethos-u55-256"),
        ("corstone300", "ethos-u65-256"),
        ("corstone310", "ethos-u55-256"),
        ("corstone310", "ethos-u65-512"),
        ("corstone315", "ethos-u65-256"),
        ("corstone320", "ethos-u85-256"),
    ],
)
def test_our_own_target_runs_through_them(
    fvps: Path, monkeypatch: pytest.MonkeyPatch, board: str, npu: str
) -> None:
    """The console is telnetterminal0, and the outputs are the oracle's.

    A Corstone-315 and a 320 have code at 0x12000000, and another UART: QEMU's plug-in adds both.
    """
    monkeypatch.setenv("PATH", f"{fvps}:{os.environ['PATH']}")
    words = ("--board", board, "--npu", npu, "--on", "fvp", "--samples", "2")
    done = ethosgen("verify", DIGITS, *words)
    assert done.returncode == 0, done.stderr
    assert "PASS  digits_int8" in done.stdout and "20 outputs of 2 samples equal" in done.stdout


def test_the_timing_adapters_answer(fvps: Path, tmp_path: Path) -> None:
    """Arm's ML embedded evaluation kit ends at once if VERSION is not the one that it knows."""
    elf = build_spinning(tmp_path, "0x10000000", ASKING_THE_TIMING_ADAPTERS)
    words = settings("cpu0.semihosting-enable=1")
    done = simulate(fvps / U55, *words, "--timelimit", "60", "-a", str(elf))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CPU time" not in done.stdout


STORING = """
    .section .vectors, "a"
    .word 0x30001000, start + 1
    .text
    .thumb_func
start:
    ldr r0, =0x80000004
    ldr r1, =0x67452301
    str r1, [r0]
    ldr r1, =0x20026
    movs r0, #0x18              @ SYS_EXIT
    bkpt 0xab
"""


def test_memory_is_saved_at_the_end(fvps: Path, tmp_path: Path) -> None:
    """What the firmware wrote, and what --data loaded, in the evaluation kit's words."""
    elf = build_spinning(tmp_path, "0x10000000", STORING)
    loaded, saved = tmp_path / "loaded.bin", tmp_path / "saved.bin"
    loaded.write_bytes(bytes(range(16)))
    words = [*settings("cpu0.semihosting-enable=1"), "--timelimit", "60", "-a", str(elf)]
    words += ["--data", f"{loaded}@0x80000000"]
    done = simulate(fvps / U55, *words, "--dump", f"cpu0={saved}@Memory:0x80000002,0xc")
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert saved.read_bytes() == bytes([2, 3, 1, 0x23, 0x45, 0x67, 8, 9, 10, 11, 12, 13])
    for place in ("0x10000000,4", "0xdfffffff,2", "0x5fffffff,2"):
        done = simulate(fvps / U55, *words, "--dump", f"{saved}@{place}")
        assert done.returncode and "only memory from 0x60000000 to" in done.stderr
    done = simulate(fvps / U55, *words, "--dump", f"{tmp_path}@0x80000000,4")
    assert done.returncode and f"cannot write '{tmp_path}'" in done.stderr
