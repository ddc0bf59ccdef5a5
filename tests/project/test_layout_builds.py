"""PlatformIO's and Arduino's own builds of the library, for platforms of the tests' own.

The boards' compilers come from servers of the vendors; these platforms use the one on PATH.
"""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.flow.attachment import attach_firmware
from tests.support.needs import needs_qemu
from tests.support.snippets import snippets
from tests.targets.attach.firmwares import (
    APPLICATION,
    EXIT_STATUS,
    RUNS,
    expected,
    outputs,
    write_library,
)

LAYOUTS = Path(__file__).parent / "layouts"
SCRIPT = APPLICATION / "app.ld"
SKETCH = "#include <image_net.h>\n\nvoid setup() {}\nvoid loop() {}\n"
"""The application's own main() runs; the sketch makes Arduino find the library."""
INI = """[env:corstone300]
platform = symlink://{platform}
board = corstone300
build_flags = -Wl,-T{script}
"""
SCONS = "tool-scons"

pytestmark = [needs_qemu]


def write_application(place: Path, shorthands: str) -> None:
    """Write the application's files into a folder, with what its own Makefile defines."""
    npu = load_board("corstone300").npu
    assert npu is not None
    facts = {"NPU_BASE": f"{npu.base_addr:#x}u", "RUNS": RUNS, "EXIT_STATUS": f"{EXIT_STATUS}u"}
    defined = "".join(f"#define {name} {value}\n" for name, value in facts.items())
    place.mkdir(parents=True)
    shutil.copy(APPLICATION / "main.c", place)
    (place / "network.h").write_text(shorthands + defined)


def run(command: list[str], place: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=place, env=environment, check=False, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warning:" not in said, said
    return said


def check_outputs(elf: Path, npu: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Run the firmware and compare each line with TensorFlow Lite Micro's outputs."""
    end = attach_firmware(elf, "corstone300", npu=npu, limit_s=100, log=lambda _run: None)
    said = capfd.readouterr().out
    assert (end.status, end.inferences) == (EXIT_STATUS, RUNS), said
    assert outputs(said) == expected(folder)


@pytest.mark.compiler("arm-none-eabi-gcc", "arduino-builder")
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_arduino_builds_a_sketch(
    tmp_path: Path, npu: str, capfd: pytest.CaptureFixture[str]
) -> None:
    write_application(tmp_path / "product", write_library(tmp_path, npu))
    (tmp_path / "product" / "product.ino").write_text(SKETCH)
    (lines,) = snippets("sh", "Arduino")
    for word, value in (("ARDUINO", "."), ("PATH", "library"), ("NAME", "image_net")):
        lines = lines.replace(word, value)
    subprocess.run(["sh", "-e", "-c", lines], cwd=tmp_path, check=True)
    shutil.rmtree(tmp_path / "library")
    (tmp_path / "build").mkdir()
    options = ["-fqbn", "ethosgen:arm:corstone300", "-warnings", "all", "-tools", "/usr/bin"]
    for folder in (LAYOUTS / "arduino" / "hardware", "/usr/share/arduino-builder"):
        options += ["-hardware", str(folder)]
    options += ["-libraries", str(tmp_path / "libraries"), "-build-path", str(tmp_path / "build")]
    options += [f"-prefs=build.linker_script={SCRIPT}", "product/product.ino"]
    run(["arduino-builder", "-compile", *options], tmp_path, dict(os.environ))
    check_outputs(tmp_path / "build" / "product.ino.elf", npu, tmp_path, capfd)


def write_scons(core: Path) -> None:
    """Give PlatformIO the package of SCons that it would download: PyPI's, on its own PATH."""
    package = core / "packages" / SCONS
    package.mkdir(parents=True)
    (package / "package.json").write_text(f'{{"name": "{SCONS}", "version": "4.41101.0"}}')
    spec = f'{{"owner": "platformio", "id": 8192, "name": "{SCONS}"}}'
    record = f'{{"type": "tool", "name": "{SCONS}", "version": "4.41101.0", "spec": {spec}}}'
    (package / ".piopm").write_text(record)
    (package / "scons.py").write_text("from SCons.Script import main\nmain()\n")


@pytest.mark.compiler("arm-none-eabi-gcc", "pio")
@pytest.mark.parametrize("way", ["lib", "lib_deps"])
def test_platformio_builds_a_project(
    tmp_path: Path, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    product = tmp_path / "product"
    write_application(product / "src", write_library(tmp_path, "ethos-u85-256"))
    shutil.copytree(LAYOUTS / "platformio", tmp_path / "platformio")
    text = INI.format(platform=tmp_path / "platformio" / "arm", script=SCRIPT)
    if way == "lib":
        (product / "lib").mkdir()
        (tmp_path / "library").rename(product / "lib" / "image_net")
    else:
        text += snippets("ini", "PlatformIO")[0].replace("PATH", str(tmp_path / "library"))
    (product / "platformio.ini").write_text(text)
    write_scons(tmp_path / "core")
    mine = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in mine}
    environment |= {
        "PLATFORMIO_CORE_DIR": str(tmp_path / "core"),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
    }
    said = run(["pio", "run"], product, environment)
    assert "image_net @ 1.0.0" in said, "PlatformIO read library.json"
    elf = product / ".pio" / "build" / "corstone300" / "firmware.elf"
    check_outputs(elf, "ethos-u85-256", tmp_path, capfd)


@pytest.mark.compiler("pio")
def test_platformio_packs_the_library(tmp_path: Path) -> None:
    """`pio pkg pack` checks library.json by its own schema, and takes every file."""
    write_library(tmp_path, "ethos-u55-128")
    library = tmp_path / "library"
    archive = tmp_path / "it.tar.gz"
    environment = dict(os.environ) | {
        "PLATFORMIO_CORE_DIR": str(tmp_path / "core"),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
    }
    run(["pio", "pkg", "pack", str(library), "-o", str(archive)], tmp_path, environment)
    with tarfile.open(archive) as packed:
        names = {name.removeprefix("./") for name in packed.getnames()}
    there = {p.relative_to(library).as_posix() for p in library.rglob("*") if p.is_file()}
    assert there <= names
    manifest = library / "library.json"
    manifest.write_text(manifest.read_text().replace('"version": "1.0.0"', '"version": ""'))
    refused = subprocess.run(
        ["pio", "pkg", "pack", str(library), "-o", str(archive)],
        cwd=tmp_path, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert refused.returncode != 0, "it checks the manifest"
