"""Ethos-U85: compiled for, simulated and driven."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend.ethosu.accelerator import ACCELERATORS, find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.stream import RegionKind, stream_of
from ethosgen.board import load_board
from ethosgen.flow.inspection import list_streams
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.platforms import BAREMETAL, LIBRARY_ONLY
from ethosgen.project import render
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.programs import make_program
from tests.support.small_models import image_net

SIZES = [name for name in ACCELERATORS if "u85" in name]
HERE = Path(__file__).parent
END_REACHED, BRANCH_FAULT = 0x20, 0x200


@pytest.mark.parametrize("npu", SIZES)
def test_velas_streams_are_for_the_npu_that_we_name(npu: str) -> None:
    net = NetworkBuilder("u85", 3)
    network = parse_network(net.build(net.conv2d(net.input((1, 8, 8, 4)), 8)), "u85")
    accelerator = find_accelerator(npu)
    (partition,) = offload(network, accelerator).partitions
    assert f"{stream_of(partition).config_word:08x}" == f"{accelerator.config_word:08x}"
    assert stream_of(partition).id_word >> 20 == accelerator.id_word >> 20, (
        "the architecture's version"
    )


@pytest.mark.parametrize("io", IoStyle)
def test_base_pointers_are_as_on_the_others(io: IoStyle) -> None:
    net = NetworkBuilder("u85", 3)
    network = parse_network(net.build(net.conv2d(net.input((1, 8, 8, 4)), 8)), "u85")
    (partition,) = offload(network, find_accelerator("ethos-u85-256"), io).partitions
    assert stream_of(partition).bases[:2] == (RegionKind.READ_ONLY, RegionKind.SCRATCH)


def drive(folder: Path, config: int, status: int) -> tuple[dict[int, int], dict[str, int]]:
    """Run the direct driver on a page; return its registers and what the functions returned."""
    project = render(make_program(npu="ethos-u85-256"), load_board("corstone320"))
    for name in (
        "ethosgen_npu.h",
        "ethosgen_status.h",
        "ethosgen_npu_run.h",
        "ethosgen_npu_direct.c",
        "ethosgen_npu_identity.c",
    ):
        (folder / name).write_bytes(project.files[f"model/{name}"])
    sources = [
        folder / "ethosgen_npu_identity.c",
        HERE / "u85_registers.c",
    ]
    command = ["gcc", "-std=c11", "-I", str(folder), "-o", str(folder / "run")]
    command += map(str, sources)
    subprocess.run(command, check=True, capture_output=True)
    environment = {**os.environ, "CONFIG": f"{config:x}", "STATUS": f"{status:x}"}
    said = subprocess.run(
        [folder / "run"], env=environment, check=True, capture_output=True, text=True
    ).stdout
    registers = re.findall(r"^([0-9a-f]+)=([0-9a-f]+)$", said, re.MULTILINE)
    returned = re.findall(r"^(\w+) (\d+)$", said, re.MULTILINE)
    return {int(a, 16): int(b, 16) for a, b in registers}, {a: int(b) for a, b in returned}


@needs_gcc
def test_the_driver_writes_the_registers_of_this_product(tmp_path: Path) -> None:
    """Values by hand from Arm's description of the registers and its driver's defaults."""
    registers, returned = drive(tmp_path, 0x20000118, END_REACHED)
    assert returned == {"init": 0, "check": 0, "run": 0}
    assert [registers.get(0x40 + 4 * i, 0) for i in range(4)] == [0, 0, 4, 4], "MEM_ATTR: axi_port"
    assert registers[0x50] == 11 | 15 << 8 | 2 << 16, "AXI_SRAM: 12 reads, 16 writes, 256 bytes"
    assert registers[0x54] == 63 | 31 << 8 | 2 << 16, "AXI_EXT: 64 reads, 32 writes, 256 bytes"
    assert [registers[0x80 + 8 * i] for i in range(8)] == [0x100 * (i + 1) for i in range(8)]
    assert not any(registers.get(0x84 + 8 * i) for i in range(8)), "addresses are of 32 bits"
    assert (registers[0x1C], registers[0x3C], registers[0x20]) == (2, 0x1213, 16)
    assert registers[0x08] == 1, "CMD: run"


@needs_gcc
@pytest.mark.parametrize(
    ("config", "status", "wrong"),
    [
        (0x10000008, END_REACHED, ("check", 5)),  # another product
        (0x20001119, END_REACHED, ("check", 6)),  # more MACs
        (0x20000218, END_REACHED, ("check", 6)),  # more AXI ports
        (0x20000118, END_REACHED | BRANCH_FAULT, ("run", 9)),
        (0x20000118, END_REACHED | 4, ("run", 8)),
        (0x20000118, 0, ("run", 12)),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, config: int, status: int, wrong: tuple[str, int]
) -> None:
    _, returned = drive(tmp_path, config, status)
    assert returned[wrong[0]] == wrong[1]


def test_the_performance_monitor_is_elsewhere() -> None:
    files = render(make_program(npu="ethos-u85-256"), load_board("corstone320")).files
    pmu = files["model/ethosgen_npu_pmu.c"].decode()
    assert "#ifdef ETHOSGEN_NPU_U85\n#define PMU 0x1000u\n" in pmu
    assert "#define ETHOSGEN_NPU_U85\n" in files["model/ethosgen_npu.h"].decode()
    assert "ethosu_device_u85.c" in files["model/CMakeLists.txt"].decode()


@pytest.mark.parametrize("platform", [BAREMETAL, LIBRARY_ONLY])
def test_no_build_has_to_name_the_product(platform: str) -> None:
    """The library's own header names it: a build system that copies files is enough."""
    files = render(make_program(), load_board("corstone300"), platform=platform).files
    assert "ETHOSGEN_NPU_U85" not in files["model/ethosgen_npu.h"].decode()
    files = render(
        make_program(npu="ethos-u85-256"), load_board("corstone320"), platform=platform
    ).files
    for name, text in files.items():
        lines = [line for line in text.decode(errors="replace").splitlines() if "ETHOSU85" in line]
        assert all("ETHOSU_ARCH" in line for line in lines), f"{name} is for Arm's driver alone"


def test_a_network_is_simulated_and_listed(tmp_path: Path) -> None:
    network = image_net(tmp_path / "image_net.tflite")
    inputs = Inputs(None, 1, 1)
    report = flow.simulate(network, npu="ethos-u85-256", inputs=inputs, watch=Watch())
    assert report.passed
    (listing,) = list_streams(network, "ethos-u85-256", Watch())
    assert [line.command for line in listing.lines][-1] == "NPU_OP_STOP"
