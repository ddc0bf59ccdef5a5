"""FVPs: command lines against a recorded list, and a stand-in that runs the firmware's twin.

Where a real FVP is installed, a firmware runs on it too.
"""

import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.board import board_names, load_board
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.fvp import choose_executable, find_vectors, fvp_arguments
from ethosgen.toolchain import build
from ethosgen.values.errors import InputError, TargetError, ToolError
from ethosgen.values.outcome import Arrays
from tests import ROOT
from tests.support.needs import needs_arm_gcc, needs_build
from tests.support.programs import ELEMENTS, make_program

INPUT, OUTPUT = "serving/input:0", "serving/output:0"
RECORDED = Path(__file__).parent / "fvp_commands.txt"


def command_lines() -> str:
    """Return the command line of every board with an FVP and every NPU that it has."""
    lines = []
    for name in board_names():
        board = load_board(name)
        facts = board.run.fvp
        if facts is None:
            continue
        fitting = [n for n in board.npu.configurations if n.split("-")[1] in facts.executables]
        for npu in (*fitting, "none"):
            program, macs = choose_executable(board, facts, npu)
            vectors = board.memories[board.placement().code].start_addr
            arguments = fvp_arguments(facts, macs, [Path("firmware.elf")], 5000, vectors)
            lines.append(f"{name} {npu}: {program} {' '.join(arguments)}\n")
    return "".join(lines)


def test_an_npu_that_no_fvp_has_is_refused() -> None:
    board = load_board("corstone300")
    assert board.run.fvp is not None
    with pytest.raises(InputError, match="'corstone300' has no FVP with ethos-u85-256; its FVPs"):
        choose_executable(board, board.run.fvp, "ethos-u85-256")


def test_command_lines_are_as_recorded() -> None:
    assert RECORDED.read_text() == command_lines()


@needs_arm_gcc
@pytest.mark.parametrize(("section", "addr"), [(".vectors", "12000000"), ("rom_start", "10000000")])
def test_the_processor_is_told_where_the_vectors_are(
    tmp_path: Path, section: str, addr: str
) -> None:
    """A Corstone-315 looks for them in its boot memory, where no firmware of ours has them."""
    source, elf = tmp_path / "v.s", tmp_path / "v.elf"
    source.write_text(f'.section {section},"a"\n.word 0x30000000, 0x12000101\n')
    command = ["arm-none-eabi-gcc", "-nostdlib", f"-Wl,--section-start={section}=0x{addr}"]
    subprocess.run([*command, str(source), "-o", str(elf)], check=True, capture_output=True)
    assert find_vectors(elf) == int(addr, 16)
    facts = load_board("corstone315").run.fvp
    assert facts is not None
    arguments = fvp_arguments(facts, 256, [elf], 5000, find_vectors(elf))
    assert f"mps4_board.subsystem.iotss3_systemcontrol.INITSVTOR_RST=0x{addr}" in arguments
    for bad, says in ((source, "is not a firmware"), (tmp_path / "none", "is not a firmware")):
        with pytest.raises(InputError, match=says):
            find_vectors(bad)


def test_a_time_limit_is_always_set() -> None:
    assert all("--timelimit 300" in line for line in command_lines().splitlines())


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> ProjectInfo:
    place = tmp_path_factory.mktemp("fvp") / "p"
    write(render(make_program(), load_board("corstone300")), place)
    return open_project(place)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a program on PATH that listens as an FVP does, and then does what it is told to."""

    def install(what: str) -> None:
        program = tmp_path / "FVP_Corstone_SSE-300_Ethos-U55"
        program.write_text(
            f"#!{sys.executable}\n"
            f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n" + textwrap.dedent(what)
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{Path('/usr/bin')}")

    return install


LISTEN = """
    import socket
    from tests.support.firmware_twin import Twin, serve
    port = next(int(a.split("=")[1]) for a in sys.argv if "telnetterminal0.start_port" in a)
    assert "--timelimit" in sys.argv and "-a" in sys.argv
    listener = socket.create_server(("127.0.0.1", port))
    print(f"terminal_0: Listening for serial connection on port {port}", flush=True)
    twin = Twin(DIGEST, vanishes=VANISHES)
    serve(twin, listener.accept()[0].detach()).join()
    print("Info: /OSCI/SystemC: Simulation stopped by user.", flush=True)
    sys.exit(STATUS)
"""


def script(digest: str, status: int, vanishes: tuple[int, ...] = ()) -> str:
    return (
        LISTEN.replace("DIGEST", repr(digest))
        .replace("VANISHES", repr(vanishes))
        .replace("STATUS", str(status))
    )


def make_samples(count: int) -> list[Arrays]:
    random = np.random.default_rng(5)
    return [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(count)]


@pytest.mark.parametrize("status", [0, 1])
def test_the_outputs_decide_and_not_the_exit_status(
    info: ProjectInfo, stand_in: Callable[[str], None], status: int
) -> None:
    stand_in(script(info.digest, status))
    samples = make_samples(2)
    outcome = targets.run(Path("firmware.elf"), info, samples, on="fvp", attach=None)
    assert outcome.ended
    for sample, result in zip(samples, outcome.samples, strict=True):
        assert np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))


@pytest.mark.parametrize("status", [0, 1])
def test_an_end_before_the_end_marker_is_a_failure(
    info: ProjectInfo, stand_in: Callable[[str], None], status: int
) -> None:
    stand_in(script(info.digest, status, vanishes=(2,)))
    said = r"ended before the firmware's end marker \(time limit 300 s\).*stopped by user"
    with pytest.raises(TargetError, match=f"(?s){said}"):
        targets.run(Path("firmware.elf"), info, make_samples(3), on="fvp", attach=None)


def test_an_fvp_that_does_not_start_says_why(
    info: ProjectInfo, stand_in: Callable[[str], None]
) -> None:
    stand_in("""sys.exit("error while loading shared libraries: libpython3.9.so.1.0")""")
    with pytest.raises(TargetError, match=r"(?s)ended before.*libpython3\.9"):
        targets.run(Path("firmware.elf"), info, [], on="fvp", attach=None)


def test_a_missing_fvp(info: ProjectInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(ToolError, match=r"FVP_Corstone_SSE-300_Ethos-U55 .*developer\.arm\.com"):
        targets.run(Path("firmware.elf"), info, [], on="fvp", attach=None)
    monkeypatch.setenv("ETHOSGEN_FVP", "/none/fvp")
    with pytest.raises(ToolError, match="ETHOSGEN_FVP names '/none/fvp'"):
        targets.run(Path("firmware.elf"), info, [], on="fvp", attach=None)


def test_boards_and_npus_without_an_fvp() -> None:
    facts = load_board("corstone315").run.fvp
    assert facts is not None
    with pytest.raises(InputError, match=r"no FVP with ethos-u55-128; its FVPs have: u65"):
        choose_executable(load_board("corstone315"), facts, "ethos-u55-128")


@needs_build
@pytest.mark.parametrize("name", ["corstone300", "corstone310", "corstone315"])
def test_a_real_fvp_runs_the_firmware(tmp_path: Path, name: str) -> None:
    """A network on the CPU, since `make_program` has no real command stream for the NPU."""
    from tests.support.programs import make_cpu_program

    board = load_board(name)
    assert board.run.fvp is not None
    program = next(iter(board.run.fvp.executables.values()))
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    write(render(make_cpu_program(), board), tmp_path / "p")
    elf = build(tmp_path / "p", "board").elf
    samples = make_samples(2)
    outcome = targets.run(elf, open_project(tmp_path / "p"), samples, on="fvp", attach=None)
    assert outcome.ended
