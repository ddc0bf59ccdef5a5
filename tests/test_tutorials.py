"""The tutorials on other starts than the first, and the update: they run as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen.host.demos import copy_demo, find_demo
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.tools import GCC
from tests import ROOT
from tests.project.test_build_systems import MAKEFILE
from tests.project.test_build_systems import run as run_tool
from tests.project.test_linking import VENDOR_SCRIPT
from tests.support.command_line import ethosgen
from tests.support.needs import BUILD, needs_extra, needs_keras, needs_qemu, needs_torch
from tests.support.snippets import snippets

PAGES = {
    name: ROOT / "docs" / f"from_{name}.md" for name in ("keras", "onnx", "project", "pytorch")
}
ALIF = """
#define NPU_HP_BASE 0x400e1000u
enum { NPU_HP_IRQ_IRQn = 55 };
void NVIC_EnableIRQ(int number);
void NPU_HP_IRQHandler(void);
"""
"""What the example takes from the header of Alif's pack."""


def commands_of(page: Path) -> list[tuple[list[str], list[str]]]:
    """Return the words of each command of a page, and the lines that it shows."""
    commands: list[tuple[list[str], list[str]]] = []
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for line in re.findall(r"^ {4}(.*)$", text, re.M):
        if line.startswith("$ ethosgen "):
            commands.append((line.split()[2:], []))
        elif line.startswith("ethosgen "):
            commands.append((line.split()[1:], []))
        elif commands and not line.startswith("$"):
            commands[-1][1].append(line)
    return commands


def form(line: str) -> str:
    """Return a line without its figures, which depend on the versions of packages."""
    return re.sub(r"\d[\d,.]*|\s+", " ", line).strip()


def run_commands(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, apart_from: str = "nothing"
) -> None:
    """Run a page's commands in a folder; each prints what the page shows, apart from figures."""
    monkeypatch.chdir(folder)
    for words, shown in commands_of(page):
        if words[0] in ("doctor", "demo"):
            continue
        done = ethosgen(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        printed = {form(line) for line in done.stdout.splitlines()}
        wanted = {form(line) for line in shown if apart_from not in line}
        assert wanted <= printed, done.stdout


def run_python(python: Path, text: str, folder: Path) -> None:
    (folder / "script.py").write_text(text)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([str(python), "script.py"], cwd=folder, check=True, env=environment)


@pytest.mark.slow
@needs_qemu
@needs_extra("onnx")
@needs_extra("demo")
def test_the_way_from_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (make,) = snippets("python", "A float network", PAGES["onnx"])
    run_python(Path(sys.executable), make, tmp_path)
    run_commands(PAGES["onnx"], tmp_path, monkeypatch)


@pytest.mark.slow
@needs_qemu
@needs_torch
@needs_extra("demo")
def test_the_way_from_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data,) = snippets("python", "Data", PAGES["pytorch"])
    (train,) = snippets("python", "Train and export", PAGES["pytorch"])
    run_python(Path(sys.executable), data, tmp_path)
    run_python(ENVIRONMENTS["torch"].find(), train, tmp_path)
    run_commands(PAGES["pytorch"], tmp_path, monkeypatch, "fidelity")


@pytest.mark.slow
@needs_qemu
@needs_keras
@needs_extra("demo")
@needs_extra("quantize")
def test_the_way_from_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data,) = snippets("python", "Data", PAGES["keras"])
    (train,) = snippets("python", "Train", PAGES["keras"])
    run_python(Path(sys.executable), data, tmp_path)
    run_python(ENVIRONMENTS["keras"].find(), train, tmp_path)
    run_commands(PAGES["keras"], tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.compiler(*BUILD, "make")
def test_the_way_into_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGES["project"]
    (network,) = copy_demo(find_demo("digits"), tmp_path)
    monkeypatch.chdir(tmp_path)
    for number, (words, shown) in enumerate(commands_of(page)):
        if words[0] != "project":
            continue
        folder = tmp_path / str(number)
        done = ethosgen(*words[:-1], folder / "digits")
        assert done.returncode == 0, done.stderr
        assert set(shown) <= set(done.stdout.splitlines()), done.stdout
    assert network.name == "digits_int8.tflite"
    stm32 = next(n for n, (words, _) in enumerate(commands_of(page)) if "nucleo-h743zi" in words)
    alif = next(n for n, (words, _) in enumerate(commands_of(page)) if "alif-e7-hp" in words)
    (code,) = snippets("c", "STM32", page)
    (lines,) = snippets("make", "STM32", page)
    folder = tmp_path / str(stm32)
    (folder / "main.c").write_text(
        f"{code}\nstatic uint8_t picture[64];\nvolatile int answer;\n"
        "int main(void)\n{\n    answer = read_digit(picture);\n    return 0;\n}\n"
    )
    makefile = MAKEFILE.replace("cortex-m55", "cortex-m7").format(gcc=GCC.find(), lines=lines)
    (folder / "Makefile").write_text(makefile)
    (folder / "theirs.ld").write_text(VENDOR_SCRIPT.replace("Reset_Handler", "main"))
    run_tool(["make"], folder)
    assert (folder / "build" / "app.elf").exists()
    (npu,) = snippets("c", "Alif Ensemble", page)
    (tmp_path / "npu.c").write_text(npu)
    (tmp_path / "alif.h").write_text(ALIF)
    model = tmp_path / str(alif) / "digits" / "model"
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-mcpu=cortex-m55", "-fsyntax-only"]
    subprocess.run([str(GCC.find()), *strict, f"-I{model}", str(tmp_path / "npu.c")], check=True)
    readme = (model.parent / "README.md").read_text()
    assert "NPU_BASE_ADDR is 0x400e1000 and the NPU's interrupt is 55" in readme


@pytest.mark.slow
@pytest.mark.compiler(*BUILD)
def test_the_way_over_the_air(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (network,) = copy_demo(find_demo("digits"), tmp_path)
    (tmp_path / "RETRAINED.tflite").write_bytes(network.read_bytes())
    page = ROOT / "docs" / "over_the_air.md"
    run_commands(page, tmp_path, monkeypatch)
    (code,) = snippets("c", "3. Choose, test, and go back", page)
    (tmp_path / "start.c").write_text(f"#include <stddef.h>\n{code}")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-mcpu=cortex-m55"]
    model = f"-I{tmp_path}/digits/model"
    command = [str(GCC.find()), *flags, model, "-fsyntax-only"]
    subprocess.run([*command, str(tmp_path / "start.c")], check=True)
