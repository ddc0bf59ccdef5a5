"""A project of each kind: platforms, boards, several networks, weights apart, devices."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.board.any_board import any_board
from ethosgen.platforms import CSOLUTION, LIBRARY_ONLY, LINUX, ZEPHYR
from ethosgen.project import Project, render
from ethosgen.values.handover import ElementLine, Given, Handover, Piece
from ethosgen.values.program import Program
from ethosgen.values.security import Security
from tests.support.device_programs import make_device_program, make_devices
from tests.support.programs import ELEMENTS, make_cpu_program, make_program

HANDOVER = Handover(
    "first", 0, 2, (ElementLine("", ELEMENTS),), (ElementLine("second", ELEMENTS),), ((0,),),
    ((0,),), (Given(0, 0, 0, ELEMENTS),), ((Piece(True, 0, 0, 0, 0, ELEMENTS),),), bytes(8),
)  # fmt: skip


def apart(program: Program) -> Program:
    """Return a program whose weights are in a file of their own."""
    return replace(program, plan=replace(program.plan, apart=True))


@cache
def projects() -> dict[str, Project]:
    """Return a project of each kind."""
    board, npu, cpu = load_board("corstone300"), make_program(), make_cpu_program()
    two = [npu, make_program(name="plus_two")]
    return {
        "bare metal": render(npu, board),
        "U85": render(make_program(npu="ethos-u85-256"), load_board("corstone320")),
        "CPU alone": render(cpu, load_board("mps2-an386")),
        "stand-in": render(cpu, load_board("nucleo-f446re")),
        "Pico": render(cpu, load_board("rpi-pico2")),
        "two networks": render(two, board),
        "TrustZone": render(npu, board.in_state(Security.NON_SECURE)),
        "Zephyr": render(npu, board, platform=ZEPHYR),
        "library": render(two, any_board(), platform=LIBRARY_ONLY),
        "weights apart": render(apart(npu), any_board(), platform=LIBRARY_ONLY),
        "csolution": render(npu, board, platform=CSOLUTION),
        "element": render(npu, board, handover=HANDOVER),
        "Linux": render(cpu, load_board("aarch64-linux"), platform=LINUX),
        "continuous integration": render(npu, board, with_ci=True),
    }


def device_project(place: Path) -> Project:
    """Return a project with an NPU and devices, whose models are in a folder."""
    program = make_device_program(make_devices(place), has_npu=True)
    return render(program, load_board("corstone300"))
