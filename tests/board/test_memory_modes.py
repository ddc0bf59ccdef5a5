"""Memory modes: Vela's configuration, the linker script, REGIONCFG and the devicetree agree."""

import configparser
import dataclasses
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend.ethosu.memory_system import MEMORY_MODES, SYSTEM_CONFIGS
from ethosgen.backend.ethosu.stream import RegionKind, stream_of
from ethosgen.board import Board, board_names, load_board
from ethosgen.project import Project, open_project, render
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_qemu
from tests.support.programs import make_program, with_fast_scratch
from tests.support.recipes import recipe
from tests.support.small_models import image_net

AXI = {"Axi0": 0, "Axi1": 1}


def velas_words() -> configparser.ConfigParser:
    """Return Vela's own vela.ini, which says what its modes mean."""
    package = find_spec("ethosu")
    assert package is not None and package.submodule_search_locations
    words = configparser.ConfigParser()
    folder = Path(next(iter(package.submodule_search_locations)))
    assert words.read(folder / "config_files" / "Arm" / "vela.ini")
    return words


def cases() -> list[tuple[str, str, str]]:
    """Return board, NPU and memory mode: every mode of every board and product."""
    rows = []
    for name in board_names():
        board = load_board(name)
        own = board.npu.configurations if board.npu else ()
        for npu in {npu[:10]: npu for npu in own}.values():
            rows += [(name, npu, mode) for mode in board.memory_modes(board.accelerator(npu))]
    return rows


def program_with_fast_scratch(npu: str) -> Program:
    """Return the program whose BASEP2 is fast scratch, as Vela's are in dedicated_sram."""
    program = make_program(IoStyle.ARENA, npu)
    assert stream_of(program.plan.partitions[0]).bases[2] is RegionKind.SCRATCH_FAST
    return dataclasses.replace(program, plan=with_fast_scratch(program.plan, 640))


def startable(board: Board) -> Board:
    """Return the board as if its start-up were known: only its memories matter here."""
    if "baremetal" in board.platforms:
        return board
    known = load_board("corstone300")
    assert board.npu and known.npu
    npu = board.npu.model_copy(update={"base_addr": known.npu.base_addr, "irq": known.npu.irq})
    update = {"platforms": ["baremetal"], "console": known.console, "npu": npu}
    return board.model_copy(update=update)


def linked(project: Project, way: str) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
    """Return the region of each ethosgen section, and each region's origin and length."""
    script = project.files[f"board/{way}.ld"].decode()
    regions = {
        name.lower(): (int(origin, 16), int(length, 16))
        for name, origin, length in re.findall(
            r"(\w+) \(\w+\) : ORIGIN = (0x\w+), LENGTH = (0x\w+)", script
        )
    }
    sections = re.findall(r"\.ethosgen_(\w+) (?:\(NOLOAD\) )?:[^}]*\} > (\w+)", script)
    return {part: region.lower() for part, region in sections}, regions


def region_ports(project: Project) -> dict[str, int]:
    """Return the AXI port of commands, weights (BASEP0), arena (1) and fast scratch (2)."""
    source = project.files["model/plus_one.c"].decode()
    configuration = re.search(r"\.regioncfg = (0x\w+)", source)
    commands = re.search(r"\.qconfig = (\d)", source)
    assert configuration and commands
    word = int(configuration[1].rstrip("u"), 16)
    ports = {part: (word >> 2 * i & 3) >> 1 for i, part in enumerate(("weights", "arena", "fast"))}
    return {**ports, "commands": int(commands[1]) >> 1}


def axi_beats(project: Project) -> list[int]:
    """Return the field max_beats of each limit, from the direct driver and from Arm's options."""
    driver = project.files["model/ethosgen_npu_direct.c"].decode()
    options = project.files["model/CMakeLists.txt"].decode()
    if limits := re.search(r"\? (\d)u : (\d)u\)", driver):
        direct = [int(limits[1])] * 2 + [int(limits[2])] * 2
        return direct if direct == numbers(r"AXI_LIMIT\d_MAX_BEATS_BYTES=(\d)", options) else []
    direct = numbers(r"LIMIT AXI_LIMIT\((\d)u", driver)
    return direct if direct == numbers(r"AXI_LIMIT_\w+_MAX_BEATS=(\d)", options) else []


def numbers(pattern: str, text: str) -> list[int]:
    return [int(number) for number in re.findall(pattern, text)]


@pytest.mark.parametrize(("name", "npu", "mode"), cases())
def test_the_parts_agree(name: str, npu: str, mode: str) -> None:
    board = load_board(name)
    accelerator = board.accelerator(npu)
    memories = board.memories_in(board.choose_memory_mode(mode, accelerator))
    system_name = f"System_Config.{SYSTEM_CONFIGS[accelerator.product, memories.mode].name}"
    words = velas_words()[f"Memory_Mode.{MEMORY_MODES[memories.mode]}"]
    assert system_name in velas_words()
    placement = board.placement(mode)
    near = placement.fast or placement.arena
    assert board.memories[placement.arena].npu_port == AXI[words["arena_mem_area"]]
    assert board.memories[placement.weights].npu_port == AXI[words["const_mem_area"]]
    assert board.memories[near].npu_port == AXI[words["cache_mem_area"]]

    project = render(program_with_fast_scratch(npu), startable(board), memory_mode=mode)
    sections, regions = linked(project, "board")
    assert sections == placement.npu_parts()
    for memory, (origin, length) in regions.items():
        facts = board.memories[memory]
        assert (origin, length) == (facts.start_addr, facts.size_bytes)
    assert regions[sections.get("fast", sections["arena"])][1] == memories.near_bytes

    ports = region_ports(project)
    for part, memory in sections.items():
        if part != "io":
            assert ports[part] == board.memories[memory].npu_port, part

    system = velas_words()[system_name]
    assumed = [int(system[f"{system[f'axi{port}_port']}_burst_length"]) for port in (0, 1)]
    shortest = 256 if "u85" in npu else 64  # what Arm's driver never goes below
    wanted = [{64: 0, 128: 1, 256: 2}[max(length, shortest)] for length in assumed]
    assert sorted(set(axi_beats(project))) == sorted(set(wanted))
    assert axi_beats(project)[:: 2 if len(axi_beats(project)) == 4 else 1] == wanted


@pytest.mark.parametrize("mode", ["shared_sram", "sram_only", "dedicated_sram"])
def test_the_devicetree_agrees(mode: str) -> None:
    board = load_board("corstone300")
    npu = "ethos-u65-256" if mode == "dedicated_sram" else "ethos-u55-128"
    project = render(program_with_fast_scratch(npu), board, memory_mode=mode, platform="zephyr")
    overlays = [path for path in project.files if re.search(r"on_board.*\.overlay$", path)]
    assert overlays
    for path in overlays:
        text = project.files[path].decode()
        chosen = dict(re.findall(r"ethosgen,(\w+) = &ethosgen_(\w+);", text))
        assert chosen == board.placement(mode).npu_parts()


def test_a_mode_is_the_projects_and_stays(tmp_path: Path) -> None:
    network = image_net(tmp_path / "image_net.tflite")
    place = tmp_path / "p"
    wanted = recipe(network, memory_mode="sram_only")
    flow.create_project(wanted, directory=place, watch=Watch())
    assert open_project(place).memory_mode == "sram_only"
    with pytest.raises(InputError, match=r"--memory-mode 'sram_only'.*for 'shared_sram' choose"):
        flow.create_project(recipe(network), directory=place, watch=Watch())


@needs_qemu
@pytest.mark.parametrize(
    ("npu", "mode", "io"),
    [
        ("ethos-u55-128", "sram_only", "arena"),
        ("ethos-u65-256", "dedicated_sram", "arena"),
        ("ethos-u65-512", "dedicated_sram", "caller"),
    ],
)
def test_firmware_of_each_mode_is_exact(tmp_path: Path, npu: str, mode: str, io: str) -> None:
    report = flow.verify(
        recipe(image_net(tmp_path / "image_net.tflite"), npu=npu, io=io, memory_mode=mode),
        flow.RunOptions(Inputs(None, 2, 5)),
        watch=Watch(),
    )
    assert report.passed


def test_every_board_has_a_mode_for_the_cpu_alone() -> None:
    boards: list[Board] = [load_board(name) for name in board_names()]
    assert all(board.memory_modes(None) for board in boards)
