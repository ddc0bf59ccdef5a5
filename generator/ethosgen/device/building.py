"""Compiles a device's model for this machine: C, or RTL."""

from collections.abc import Sequence
from pathlib import Path

from ethosgen.device import verilog
from ethosgen.host.resources import template_folder
from ethosgen.host.sanitizers import sanitizers
from ethosgen.host.tools import HOST_GCC, CommandError, run_command
from ethosgen.values.device import Device, DeviceModel
from ethosgen.values.errors import BuildError, InputError

_COMPILE_S = 120.0
_OPTIONS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-g")
_SAID_LINES = 3


def check_entry(device: str, model: DeviceModel) -> None:
    """Raise InputError for a model of no known kind, or one that is not in the folder."""
    kind = model.member
    is_named = kind.isidentifier()
    is_known = (
        (model.file.endswith(".py") and is_named)
        or (model.file.endswith(".c") and not kind)
        or (model.is_verilog and (is_named or not kind))
    )
    if not is_known:
        raise InputError(
            f"the model of device '{device}' is '{model.entry}'; write \"model.py:CLASS\" for a "
            'Python class, "model.c" for C, or "model.sv" or "model.sv:TOP" for RTL'
        )
    if not (model.folder / model.file).is_file():
        raise InputError(
            f"the model of device '{device}' is missing: there is no '{model.folder / model.file}'"
        )


def compile_model(device: Device, into: Path) -> Path | None:
    """Compile a model for this machine and return the library, None for one in Python.

    BuildError quotes the compiler, ToolError if there is none.
    """
    model = device.model
    assert model is not None
    if model.is_verilog:
        return verilog.stored_model(device)
    if not model.file.endswith(".c"):
        return None
    return _compile_c(device.name, model, into, sanitizers() if model.is_watched else ())


def _compile_c(device: str, model: DeviceModel, into: Path, options: Sequence[str]) -> Path:
    ours, folder = template_folder("device") / "host", model.folder.resolve()
    library = into / f"{device}.so"
    command = [str(HOST_GCC.find()), *_OPTIONS, *options, "-I", str(ours), "-I", str(folder)]
    command += [str(folder / model.file), str(ours / "ethosgen_model.c"), "-lm", "-o", str(library)]
    try:
        run_command(command, _COMPILE_S)
    except CommandError as error:
        faults = [
            line for line in error.words.splitlines() if "error" in line or "undefined" in line
        ]
        message = "; ".join((faults or error.words.splitlines())[:_SAID_LINES]) or str(error)
        raise BuildError(f"the model of device '{device}' does not compile: {message}") from None
    return library
