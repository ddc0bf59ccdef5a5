"""Weights apart from the code on QEMU, which loads their file beside the firmware."""

import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from ethosgen import flow
from ethosgen.flow.weights import BuiltWeights, build_weights, read_file, verify_weights
from ethosgen.project import open_project
from ethosgen.project.weights_file import HEADER_BYTES, write_weights
from ethosgen.targets.slots import find_slots
from ethosgen.toolchain import build
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.retrained import retrained

pytestmark = needs_qemu

NETWORK = ROOT / "demo" / "digits_int8.tflite"
SAMPLES = Inputs(None, 2, 0)
Damage = Callable[[bytes], bytes]


def make_project(network: Path, directory: Path, npu: str) -> Path:
    recipe = Recipe((network,), "corstone300", npu, ("digits",), apart=True)
    flow.create_project(recipe, directory=directory, watch=Watch())
    build(directory)
    return directory


@pytest.fixture(scope="module", params=["ethos-u55-128", "none"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built project on the NPU, and one on the CPU."""
    return make_project(NETWORK, tmp_path_factory.mktemp(request.param) / "p", request.param)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a retrained network."""
    file = tmp_path_factory.mktemp("new") / "new.tflite"
    file.write_bytes(retrained(NETWORK.read_bytes()))
    return file


def loaded_bytes(elf: Path) -> dict[str, bytes]:
    """Return the content of each section that is loaded."""
    with elf.open("rb") as file:
        return {
            section.name: section.data()
            for section in ELFFile(file).iter_sections("SHT_PROGBITS")
            if section["sh_addr"] or section.name.startswith(".vectors")
        }


def test_the_firmware_runs_with_the_file_beside_it(project: Path) -> None:
    report = flow.run_project(project, flow.RunOptions(SAMPLES), watch=Watch())
    assert isinstance(report, Report)
    assert report.passed
    assert report.golden is not None
    assert report.golden.elements == 20
    assert not report.flash_bytes["weights"] + report.flash_bytes["command_streams"]


def test_a_retrained_network_needs_only_its_file(project: Path, new: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.weights"
    built = build_weights(new, project, output=file, revision=5, watch=Watch())
    assert read_file(file).revision == 5
    report = verify_weights(built, project, inputs=SAMPLES, watch=Watch())
    assert isinstance(report, Report)
    assert report.passed
    assert report.golden is not None
    assert report.golden.elements == 20
    old = verify_weights(
        replace(built, file=old_file(project)), project, inputs=SAMPLES, watch=Watch()
    )
    assert not old.passed  # the old weights are not the new network
    whole = make_project(new, tmp_path / "p", open_project(project).npu)
    loaded, other = (loaded_bytes(p / "build" / "qemu" / "firmware.elf") for p in (project, whole))
    assert sum(map(len, loaded.values())) > 4000
    assert loaded == other
    assert (whole / "model" / "digits.weights").read_bytes() == write_weights(
        replace(built.weights, revision=0), 16
    )


def old_file(project: Path) -> Path:
    return project / "model" / "digits.weights"


def header(data: bytes, place: int, value: int) -> bytes:
    """Return a file with another word in its header, whose CRC is right."""
    changed = bytearray(data)
    struct.pack_into("<I", changed, place, value)
    struct.pack_into("<I", changed, 8, zlib.crc32(changed[:8] + changed[12:HEADER_BYTES]))
    return bytes(changed)


DAMAGES: dict[str, Damage] = {
    "UNKNOWN": lambda data: b"\xff" * len(data),
    "TOO_OLD": lambda data: header(data, 4, 0),
    "TOO_NEW": lambda data: header(data, 4, 2),
    "DAMAGED": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "TRUNCATED": lambda data: header(data, 12, 1 << 20),
    "OTHER_NETWORK": lambda data: header(data, 48, 0x41414141),
    "OTHER_CODE": lambda data: header(data, 32, 0),
}

SAID = {
    "UNKNOWN": r"the slot holds no file .*; load '.*it\.weights'$",
    "TOO_OLD": "the file has an older format .*; create it again with: ethosgen weights build",
    "TOO_NEW": "the file has a newer format .*, with the ethosgen that generated the project$",
    "DAMAGED": "the file's CRC is wrong, .* and if it is damaged itself, create it again with: ",
    "TRUNCATED": "the file is cut short, or its slot is too small; load all of '",
    "OTHER_NETWORK": "the file is for a network of another name; create it again with: ",
    "OTHER_CODE": "the file is for other code, .* --for .*, or build the firmware again$",
}


@pytest.mark.parametrize("status", DAMAGES)
def test_each_damage_has_its_status(project: Path, tmp_path: Path, status: str) -> None:
    file = tmp_path / "it.weights"
    file.write_bytes(DAMAGES[status](old_file(project).read_bytes()))
    with pytest.raises(
        TargetError, match=rf"could not start: ETHOSGEN_WEIGHTS_{status}: {SAID[status]}"
    ):
        run_with(project, file)


def run_with(project: Path, file: Path) -> None:
    network = flow.read(NETWORK, "digits", Watch())
    built = BuiltWeights(file, 0, read_file(old_file(project)), network, 0)
    verify_weights(built, project, inputs=SAMPLES, watch=Watch())


def test_a_misaligned_address_has_its_status(tmp_path: Path) -> None:
    recipe = Recipe((NETWORK,), "corstone300", "none", ("digits",), apart=True)
    flow.create_project(recipe, directory=tmp_path / "p", watch=Watch())
    slots = tmp_path / "p" / "app" / "board_weights.c"
    text = slots.read_text()
    assert "{board_slot_digits, " in text
    slots.write_text(text.replace("{board_slot_digits, ", "{board_slot_digits + 8, "))
    build(tmp_path / "p")
    with pytest.raises(TargetError, match=r"ETHOSGEN_WEIGHTS_MISALIGNED: .* align it in"):
        run_with(tmp_path / "p", old_file(tmp_path / "p"))


def test_a_file_that_exceeds_its_slot_is_refused(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "it.weights"
    file.write_bytes(bytes(1 << 20))
    with pytest.raises(InputError, match="enlarge DIGITS_SLOT_BYTES in the application's"):
        run_with(project, file)


def test_a_firmware_with_the_file_in_its_image_needs_no_loader(project: Path) -> None:
    built = build(project, options={"ETHOSGEN_WEIGHTS_INSIDE": "ON"})
    assert find_slots(built.elf, open_project(project)) == {}
    report = flow.run_project(project, flow.RunOptions(SAMPLES), watch=Watch())
    assert report.passed
    assert loaded_bytes(built.elf)[".ethosgen_weights"].startswith(b"EGWB")
