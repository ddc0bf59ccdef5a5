"""The check of a firmware's memory: what a build yields passes, and each mutation is found."""

import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ethosgen import flow
from ethosgen.proof.image import read_image
from ethosgen.proof.memory import memory_fault
from ethosgen.values.errors import BuildError
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.catalogue.recurrent import svdf
from tests.support.needs import needs_build
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

pytestmark = needs_build
NAME = "digits_int8"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("memory") / "p"
    asked = recipe(ROOT / "demo" / f"{NAME}.tflite", board="corstone300", check=False)
    flow.create_project(asked, directory=directory, watch=Watch())
    flow.build_project(directory, watch=Watch())
    return directory


def fault(elf: Path, manifest: Path) -> str:
    return memory_fault(elf, manifest, has_board_memories=True)


def changed_manifest(
    project: Path, place: Path, change: Callable[[dict[str, Any]], object]
) -> Path:
    content = json.loads((project / "model" / "ethosgen.json").read_text())
    change(content)
    path = place / "ethosgen.json"
    path.write_text(json.dumps(content))
    return path


def elf_of(project: Path) -> Path:
    return project / "build" / "qemu" / "firmware.elf"


def test_a_firmware_passes(project: Path) -> None:
    assert fault(elf_of(project), project / "model" / "ethosgen.json") == ""


def test_an_arena_that_is_too_small_is_found(project: Path, tmp_path: Path) -> None:
    def grow(content: dict[str, Any]) -> None:
        content["networks"][0]["memory"]["arena"] += 1024

    sentence = fault(elf_of(project), changed_manifest(project, tmp_path, grow))
    assert re.fullmatch(
        r"the arena has [\d,]+ bytes, but its plan has [\d,]+, in network .*", sentence
    )


def test_memory_that_the_npu_does_not_reach_is_found(project: Path, tmp_path: Path) -> None:
    def cut(content: dict[str, Any]) -> None:
        content["board"]["memories"]["ddr"]["npu_port"] = None

    sentence = fault(elf_of(project), changed_manifest(project, tmp_path, cut))
    assert sentence.endswith("is in memory 'ddr', which the NPU does not reach")


def test_a_section_elsewhere_fails_the_build(project: Path, tmp_path: Path) -> None:
    """The arena in the processor's own memory, by a changed linker script."""
    copy = tmp_path / "p"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("build"))
    script = copy / "board" / "qemu.ld"
    text, count = re.subn(r"(\.ethosgen_arena .*\} > )\w+", r"\1DTCM", script.read_text())
    assert count == 1
    script.write_text(text)
    with pytest.raises(BuildError, match=r"memory of '.*' is wrong: .*_arena is in memory 'dtcm'"):
        flow.build_project(copy, watch=Watch())


REGISTERS = {"OFM_BASE0": 0x10, "WEIGHT_LENGTH": 0x21, "SCALE_BASE": 0x22, "IFM_BASE0": 0x00}
"""Commands with a payload, by their numbers in Arm's register description."""


@pytest.mark.parametrize("register", REGISTERS)
def test_an_access_outside_of_a_region_is_found(
    register: str, project: Path, tmp_path: Path
) -> None:
    elf, image = elf_of(project), read_image(elf_of(project))
    addr, size = image.objects[f"{NAME}_commands_0"]
    words = list(struct.unpack(f"<{size // 4}I", image.bytes_at(addr, size)))
    place, code = 8, 0x4000 | REGISTERS[register]
    while words[place] & 0xFFFF != code:
        place += 1 + (words[place] >> 14 & 1)
    old = struct.pack("<2I", *words[place : place + 2])
    before = struct.pack(f"<{place}I", *words[:place])
    data = elf.read_bytes()
    assert data.count(before + old) == 1
    bad = tmp_path / "bad.elf"
    bad.write_bytes(data.replace(before + old, before + old[:4] + struct.pack("<I", 0x7F000000)))
    sentence = fault(bad, project / "model" / "ethosgen.json")
    assert re.search(rf"at byte \d+ of {NAME}_commands_0 ends at byte \d+ of region \d", sentence)


def test_a_damaged_stream_is_found(project: Path, tmp_path: Path) -> None:
    elf, image = elf_of(project), read_image(elf_of(project))
    addr, size = image.objects[f"{NAME}_commands_0"]
    stream = image.bytes_at(addr, size)
    bad = tmp_path / "bad.elf"
    worse = stream[:36] + b"\xff\xff\xff\xff" + stream[40:]
    bad.write_bytes(elf.read_bytes().replace(stream, worse))
    sentence = fault(bad, project / "model" / "ethosgen.json")
    assert sentence.startswith(f"stream {NAME}_commands_0 is damaged")


@pytest.fixture(scope="module")
def on_the_cpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cpu") / "p"
    asked = recipe(ROOT / "demo" / "kws_int8.tflite", board="mps2-an386", check=False)
    flow.create_project(asked, directory=directory, watch=Watch())
    flow.build_project(directory, watch=Watch())
    return directory


def test_a_block_behind_the_arena_is_found(on_the_cpu: Path, tmp_path: Path) -> None:
    def move(content: dict[str, Any]) -> None:
        memory = content["networks"][0]["memory"]
        memory["blocks"][0]["offset"] = memory["arena"]

    sentence = fault(elf_of(on_the_cpu), changed_manifest(on_the_cpu, tmp_path, move))
    assert re.search(r"ends at byte \d+ of the arena, which has \d+", sentence)


def test_a_tensor_without_all_the_bytes_of_its_shape_is_found(
    on_the_cpu: Path, tmp_path: Path
) -> None:
    def grow(content: dict[str, Any]) -> None:
        content["networks"][0]["memory"]["tensors"]["3"]["shape"][-1] += 1

    sentence = fault(elf_of(on_the_cpu), changed_manifest(on_the_cpu, tmp_path, grow))
    assert re.search(r"has [\d,]+ bytes, but its shape \[.*\] of int8 needs [\d,]+", sentence)


@pytest.mark.parametrize("npu", ["ethos-u85-256", "ethos-u85-512"])
def test_firmware_of_an_ethos_u85_passes(npu: str, tmp_path: Path) -> None:
    """A chain's values between its operations are in no memory: no false alarm."""
    asked = recipe(ROOT / "demo" / "kws_int8.tflite", board="corstone320", npu=npu, check=False)
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    (bound,) = flow.build_project(tmp_path / "p", watch=Watch()).stack
    assert bound.need is not None and bound.need.interrupt > 0


def test_streams_in_a_file_of_weights_are_read(tmp_path: Path) -> None:
    asked = recipe(ROOT / "demo" / f"{NAME}.tflite", check=False, apart=True)
    place = flow.create_project(asked, directory=tmp_path / "p", watch=Watch()).directory
    flow.build_project(place, watch=Watch())
    (path,) = (place / "model").glob("*.weights")
    data = path.read_bytes()
    start = data.index(b"COP1") + 32
    words = list(struct.unpack_from("<400I", data, start))
    at = words.index(0x4000 | REGISTERS["OFM_BASE0"]) + 1
    worse = bytearray(data)
    worse[start + 4 * at : start + 4 * at + 4] = struct.pack("<I", 0x7F000000)
    path.write_bytes(worse)
    sentence = fault(elf_of(place), place / "model" / "ethosgen.json")
    assert "leaves 'scratch', with its" in sentence
    path.write_bytes(data[:90])
    assert "is missing or damaged" in fault(elf_of(place), place / "model" / "ethosgen.json")


def test_a_variable_outside_of_the_state_is_found(tmp_path: Path) -> None:
    net = NetworkBuilder("net")
    (tmp_path / "net.tflite").write_bytes(net.build(svdf(net, net.input((1, 8)), 3, 4, rank=2)))
    asked = recipe(tmp_path / "net.tflite", board="mps2-an386", check=False)
    place = flow.create_project(asked, directory=tmp_path / "p", watch=Watch()).directory
    flow.build_project(place, watch=Watch())

    def move(content: dict[str, Any]) -> None:
        content["networks"][0]["memory"]["variables"][0]["offset"] += 1

    assert fault(elf_of(place), place / "model" / "ethosgen.json") == ""
    sentence = fault(elf_of(place), changed_manifest(place, tmp_path, move))
    assert re.search(r"variable '.*' ends at byte \d+ of the state, which has \d+", sentence)
