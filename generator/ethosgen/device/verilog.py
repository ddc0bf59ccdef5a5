"""Makes a model of a device's RTL: Verilator compiles it to C++, and this machine's compiler that.

Both take seconds, so libraries are kept in the user's cache folder, by what they are made of.
"""

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from ethosgen.device.ports import Pinout, read_ports
from ethosgen.host.kept_files import compiled_file, modules_digest
from ethosgen.host.resources import template_folder
from ethosgen.host.tools import HOST_GXX, VERILATOR, CommandError, Tool, run_command
from ethosgen.values.device import Device
from ethosgen.values.errors import BuildError, ToolError

_COMPILE_S = 600.0
_ASK_S = 30.0
_CXX = ("-std=c++17", "-fPIC", "-w")
_LIGHT, _FAST = "-O1", "-O2"
_FIRST_MAJOR = 5
_FLAGS = (
    *("--cc", "--prefix", "Vmodel", "--no-timing", "--assert", "--x-initial", "unique"),
    *("-Wno-lint", "-Wno-style", "-Wno-UNOPTFLAT", "-Wno-STMTDLY", "-Wno-ASSIGNDLY"),
)
"""Warnings of style are the user's own affair; a loop of signals without a register fails when it
runs, and delays, which no clock has, are ignored."""
_MOST_KEPT = 64
_FAULT = re.compile(r"%(?:Error|Warning)(?:-(?P<code>\w+))?: (?P<what>.+)")
_INCLUDED = (".svh", ".vh")
"""Files that others include are no sources of their own."""


def stored_model(device: Device) -> Path:
    """Return the library of a device's RTL, compiled unless it is in the user's cache folder.

    ToolError without Verilator or a C++ compiler; BuildError quotes them, or says which port is
    missing.
    """
    model = device.model
    assert model is not None and model.verilog is not None
    settings, folder = model.verilog, model.folder
    sources = {name: (folder / name).read_bytes() for name in (model.file, *settings.sources)}
    options = [*settings.options, *(["--trace"] if settings.trace else [])]
    options += ["--top-module", model.member] if model.member else []
    facts = (sources, options, settings, device.register_bytes, device.has_interrupt, _our_texts())

    def build(into: Path) -> Path:
        for name, data in sources.items():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes(data)
        classes = into / "verilated"
        _verilate(device, [name for name in sources if not name.endswith(_INCLUDED)], options, into)
        pinout = Pinout(device, read_ports((classes / "Vmodel.h").read_text()))
        (classes / "ethosgen_ports.h").write_text(pinout.header())
        return _compile(device, classes, bool(settings.trace))

    return _stored("model.so", facts, build)


def _verilate(device: Device, files: Sequence[str], options: Sequence[str], place: Path) -> None:
    """Let Verilator write C++ to the folder `verilated`."""
    command = [str(VERILATOR.find()), *_FLAGS, "-Mdir", str(place / "verilated"), f"-I{place}"]
    command += [*options, *(str(place / file) for file in files)]
    try:
        run_command(command, _COMPILE_S)
    except CommandError as error:
        text = error.words.replace(f"{place}{os.sep}", "")
        raise BuildError(
            f"the model of device '{device.name}' does not compile: {_first_fault(text) or error}"
        ) from None


def _first_fault(text: str) -> str:
    """Return Verilator's first error, else its first warning, as one line; "" if there is none."""
    faults = [match for match in _FAULT.finditer(text) if "Exiting due to" not in match["what"]]
    errors = [match for match in faults if match[0].startswith("%Error")]
    for match in errors or faults:
        code = f" ({match['code']})" if match["code"] else ""
        return " ".join(match["what"].split()) + code
    return ""


def _compile(device: Device, classes: Path, has_trace: bool) -> Path:
    """Compile Verilator's C++ and ours."""
    library = classes / "model.so"
    ours = template_folder("device")
    files = [*sorted(classes.glob("*.cpp")), ours / "verilog" / "ethosgen_verilog.cpp"]
    whole = classes / "ethosgen_whole.cpp"  # most time goes into headers, which are read once
    whole.write_text("".join(f'#include "{path}"\n' for path in files))
    in_c = ["-x", "c", str(ours / "host" / "ethosgen_model.c"), "-x", "none"]
    command = [*_cxx(has_trace), _FAST, "-shared", f"-I{classes}"]
    command += [f"-I{ours / name}" for name in ("host", "verilog")]
    command += [str(whole), *in_c, str(_runtime(has_trace)), "-o", str(library)]
    _run_compiler(command, f"the model of device '{device.name}'")
    return library


def _runtime(has_trace: bool) -> Path:
    """Return Verilator's own C++, compiled once for all models."""
    root = _root() / "include"
    names = ["verilated", "verilated_threads", *(["verilated_vcd_c"] if has_trace else [])]

    def build(into: Path) -> Path:
        objects = []
        for name in names:
            objects.append(str(into / f"{name}.o"))
            command = [*_cxx(has_trace), _LIGHT, "-c", str(root / f"{name}.cpp"), "-o", objects[-1]]
            _run_compiler(command, "Verilator's library")
        joined = into / "runtime.o"
        _run_compiler([str(HOST_GXX.find()), "-r", *objects, "-o", str(joined)], "it")
        return joined

    return _stored("verilator.o", (has_trace, _our_texts()), build)


def _cxx(has_trace: bool) -> list[str]:
    """Return the compiler with the options that all of Verilator's C++ needs."""
    root = _root() / "include"
    said = template_folder("device") / "verilog" / "ethosgen_said.h"
    macros = [f"-DVM_TRACE={int(has_trace)}", f"-DVM_TRACE_VCD={int(has_trace)}"]
    macros += [f"-DVL_USER_{name}" for name in ("FINISH", "STOP", "FATAL")]
    folders = [f"-I{root}", f"-I{root / 'vltstd'}"]
    return [str(HOST_GXX.find()), *_CXX, *macros, "-include", str(said), *folders]


def _run_compiler(command: Sequence[str], what: str) -> None:
    try:
        run_command(command, _COMPILE_S)
    except CommandError as error:
        lines = [line for line in error.words.splitlines() if "error" in line]
        raise BuildError(f"{what} does not compile: {lines[0] if lines else error}") from None


def _stored(name: str, facts: object, build: Callable[[Path], Path]) -> Path:
    """Return a file that Verilator and the compiler make, from the cache folder if it is there."""
    ours = modules_digest(Path(__file__).parent)
    tools = _version(VERILATOR), _version(HOST_GXX)
    return compiled_file("verilog", name, (*tools, ours, facts), build, _MOST_KEPT)


@cache
def _our_texts() -> tuple[str, ...]:
    """Return the text of our own C++ and C."""
    ours = template_folder("device")
    files = [ours / "host" / "ethosgen_model.c", *sorted((ours / "verilog").iterdir())]
    return tuple(path.read_text("utf-8") for path in files)


def _version(tool: Tool) -> str:
    """Return a program's path and version."""
    path = tool.find()
    return f"{path} {_asked(path)}"


@cache
def _asked(path: Path) -> str:
    try:
        text = run_command([str(path), "--version"], _ASK_S)
    except CommandError as error:
        raise ToolError(f"'{path}' does not report its version: {error}") from None
    if (match := re.match(r"Verilator (\d+)", text)) and int(match[1]) < _FIRST_MAJOR:
        raise ToolError(
            f"'{path}' is {text.split(' 20')[0]}, but a model in Verilog needs Verilator "
            f"{_FIRST_MAJOR}"
        )
    return text.splitlines()[0] if text else ""


@cache
def _root() -> Path:
    """Return the folder of Verilator's own files."""
    try:
        text = run_command([str(VERILATOR.find()), "--getenv", "VERILATOR_ROOT"], _ASK_S)
    except CommandError as error:
        raise ToolError(f"Verilator does not report its folder: {error}") from None
    return Path(text.strip())
