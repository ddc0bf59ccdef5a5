"""The machine that runs an accelerator's functions: this one, or an emulated one."""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ethosgen.host.tools import HOST_GCC, QEMU_USER, Tool, linux_gcc, linux_gxx, run_command

COMPILE_S = 300.0
C_FLAGS = ("-std=gnu11", "-O2", "-g", "-fno-strict-aliasing")
CXX_FLAGS = ("-std=c++14", "-O2")
CXX_SUFFIXES = (".cpp", ".cc", ".cxx")


@dataclass(frozen=True)
class Parts:
    """The parts of a program; `libraries` are files and -l options, in the linker's order.

    `kept` are sources that stay the same from program to program, in one folder with all their
    headers of the project.
    """

    sources: Sequence[Path]
    flags: Sequence[str] = ()
    libraries: Sequence[str] = ()
    kept: Sequence[Path] = ()


@dataclass(frozen=True)
class Compilers:
    """Compilers, and the program that runs their output, None if this machine does."""

    c: Tool
    cxx: Tool | None = None
    emulator: Tool | None = None

    def build(self, program: Path, parts: Parts) -> None:
        """Compile and link a program; CommandError has the compiler's messages."""
        if self.cxx is None:
            files = map(str, (*parts.sources, *parts.kept))
            options = (*C_FLAGS, *parts.flags, "-o", str(program))
            _run([str(self.c.find()), *options, *files, *parts.libraries, "-lm"])
            return
        objects = []
        for source in parts.sources:
            objects.append(str(source.with_suffix(".o")))
            _run([*self._compile(source), *parts.flags, "-o", objects[-1]])
        objects += [str(self._object(source, parts.flags)) for source in parts.kept]
        linked = ("-static", "-o", str(program), *objects, *parts.libraries, "-lm")
        _run([str(self.cxx.find()), *linked])

    def command(self, program: Path) -> list[str]:
        """Return the command that runs a program."""
        return [*([str(self.emulator.find())] if self.emulator else []), str(program)]

    def _compile(self, source: Path) -> list[str]:
        is_cxx = self.cxx is not None and source.suffix in CXX_SUFFIXES
        compiler = self.cxx if self.cxx and is_cxx else self.c
        return [str(compiler.find()), *(CXX_FLAGS if is_cxx else C_FLAGS), "-c", str(source)]

    def _object(self, source: Path, flags: Sequence[str]) -> Path:
        """Compile a file, or return the earlier result of the same text in this process."""
        folder, (compiler, *options) = source.parent, self._compile(source)
        text = [compiler, *options[:-1], source.name]
        text += [flag for flag in flags if not flag.startswith(f"-I{folder.parent}")]
        text += [path.read_text("utf-8") for path in (source, *sorted(folder.rglob("*.h*")))]
        compiled = _kept_objects() / f"{hashlib.sha256(repr(text).encode()).hexdigest()}.o"
        if not compiled.exists():
            started = compiled.with_suffix(f".{os.getpid()}")
            _run([compiler, *options, *flags, "-o", str(started)])
            started.rename(compiled)
        return compiled


HERE = Compilers(HOST_GCC)
EMULATED = {"aarch64": Compilers(linux_gcc(), linux_gxx(), QEMU_USER)}
"""Machines by the name of their processor."""


@cache
def _kept_objects() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ethosgen-objects-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _run(command: list[str]) -> None:
    """Run a compiler, with messages in English, which are parsed."""
    run_command(command, COMPILE_S, {**os.environ, "LC_ALL": "C"})
