"""Builds a Zephyr application like west: with Zephyr's own CMake, and ninja."""

import configparser
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.board import Board
from ethosgen.host.tools import GCC
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain.build_steps import compile_configured, configure
from ethosgen.toolchain.sizes import Built, Sizes
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import BuildError, InputError, ToolError

_SUPPORTED = "3.7, and 4.2 or newer"
_CACHE = "CMakeCache.txt"
_MODULES = "zephyr_modules.txt"
"""Where Zephyr lists the modules that it found, before it reads any Kconfig."""
_WHICH = "ETHOSGEN_APPLICATION"
"""The cache variable that chooses between a project's application and its server."""
_ELF = Path("zephyr") / "zephyr.elf"
_NATIVE = "native"
_NATIVE_BOARD = "native_sim/native/64"
"""Zephyr's board for a program on this machine; 64 bits need no other C library."""
_NATIVE_PROGRAM = Path("zephyr") / "zephyr.exe"
_VERSION_LINE = re.compile(r"^(VERSION_MAJOR|VERSION_MINOR)\s*=\s*(\d+)", re.MULTILINE)

Version = tuple[int, int]


def build_zephyr(
    info: ProjectInfo,
    on: str = "qemu",
    options: Mapping[str, str] | None = None,
    application: bool = False,
) -> Built:
    """Build a Zephyr project into DIR/build/ON, its own application into DIR/build/ON-application.

    `options` are CMake cache variables. ToolError without Zephyr or a compiler, InputError for an
    unsupported Zephyr version or board, CapacityError if a memory is too small, BuildError with
    the compiler's message.
    """
    base = find_zephyr_base(info.directory)
    target = choose_target(info.board, read_version(base), on)
    place = info.directory.absolute() / "build" / _folder(on, application)
    variables = {
        "BOARD": target,
        "ETHOSGEN_ON": on,
        **({_WHICH: "ON" if application else "OFF"} if info.app else {}),
        **(options or {}),
    }
    environment = {**os.environ, **_toolchain(on), "ZEPHYR_BASE": str(base)}
    try:
        configure(info.directory, place, variables, environment)
    except BuildError:
        _explain_modules(info, place, target, read_version(base))
        raise
    compile_configured(info.directory, place, environment)
    built = _find(info, place, on)
    if built is None:
        raise BuildError(f"the build of '{info.directory}' produced no application in '{place}'")
    return built


def find_zephyr(
    info: ProjectInfo,
    on: str = "qemu",
    build: Path | None = None,
    target: str | None = None,
    application: bool = False,
) -> Built:
    """Return the ELF that `build_zephyr` or `west build` built; InputError if there is none.

    `build` is west's build directory if it is not DIR/build; `target` is the --on that builds it,
    if different from `on`. `application` is the project's own instead of the server.
    """
    build = build or info.directory / "build"
    own = _folder(on, application)
    for place in (build / own, build):
        is_right = place.name == own or _is_built_for(place, on, application if info.app else None)
        built = _find(info, place, on) if is_right else None
        if built is not None:
            return built
    target = target or on
    raise InputError(
        f"'{info.directory}' was not built for {target} yet; run: ethosgen build "
        f"{shlex.quote(str(info.directory))} --on {target}, or west build"
    )


def find_zephyr_base(directory: Path) -> Path:
    """Return Zephyr's directory: ZEPHYR_BASE, or that of the west workspace around `directory`."""
    named = os.environ.get("ZEPHYR_BASE")
    if named:
        return Path(named)
    for parent in directory.absolute().parents:
        settings = parent / ".west" / "config"
        if settings.is_file():
            parser = configparser.ConfigParser()
            try:
                parser.read(settings, encoding="utf-8")
                base = parent / parser.get("zephyr", "base", fallback="zephyr")
            except (configparser.Error, UnicodeDecodeError, OSError) as error:
                raise ToolError(
                    f"west's settings in '{settings}' are unreadable: {str(error).splitlines()[0]}"
                ) from None
            if base.is_dir():
                return base
    raise ToolError(
        f"Zephyr was not found: ZEPHYR_BASE is not set, and '{directory}' is not in a west "
        "workspace; set ZEPHYR_BASE to Zephyr's directory, or create a workspace with: west init "
        "-l zephyr_app && west update"
    )


def read_version(base: Path) -> Version:
    """Return Zephyr's version; ToolError if it has none, InputError for an unsupported one."""
    try:
        fields = dict(_VERSION_LINE.findall((base / "VERSION").read_text(encoding="utf-8")))
        version = int(fields["VERSION_MAJOR"]), int(fields["VERSION_MINOR"])
    except (OSError, KeyError):
        raise ToolError(
            f"ZEPHYR_BASE names '{base}', which has no VERSION file of Zephyr; correct ZEPHYR_BASE"
        ) from None
    if version < (3, 7) or (3, 7) < version < (4, 2):
        raise InputError(
            f"Zephyr {version[0]}.{version[1]} in '{base}' is not supported; ethosgen supports "
            f"{_SUPPORTED}: set ZEPHYR_BASE to one of these"
        )
    return version


def choose_target(board: Board, version: Version, on: str) -> str:
    """Return Zephyr's board name for a way to run; InputError lists the known ones."""
    if on == _NATIVE:
        return _NATIVE_BOARD
    for candidate in board.run.zephyr:
        if candidate.exists_in(version) and on in candidate.ways:
            return candidate.target
    known = ", ".join(f"{c.target} ({' or '.join(c.ways)})" for c in board.run.zephyr)
    raise InputError(
        f"Zephyr {version[0]}.{version[1]} has no board for '{board.name}' with --on {on}; "
        + (f"it has: {known}" if known else "name one in the board file's run.zephyr")
    )


def _explain_modules(info: ProjectInfo, place: Path, target: str, version: Version) -> None:
    """Raise BuildError if the configuration failed because Zephyr lacks modules."""
    listed = place / _MODULES
    if target == _NATIVE_BOARD or not listed.is_file():
        return
    wanted = ["cmsis_6" if version >= (4, 2) else "cmsis"]
    wanted += ["hal_ethos_u"] if info.npu != NO_NPU else []
    boards = info.board.run.zephyr
    wanted += [board.module for board in boards if board.target == target and board.module]
    text = listed.read_text(encoding="utf-8")
    missing = [name for name in wanted if f'"{name}":' not in text]
    if missing:
        raise BuildError(
            f"'{info.directory}' cannot be built for {target}: Zephyr found no module "
            f"{' or '.join(missing)}; in a west workspace add its name to the name-allowlist in "
            "west.yml and run west update, otherwise add its folder to ZEPHYR_MODULES"
        )


def _toolchain(on: str) -> dict[str, str]:
    """Return Zephyr's toolchain variables (our own compiler), unless the user has set them."""
    if "ZEPHYR_TOOLCHAIN_VARIANT" in os.environ or "ZEPHYR_SDK_INSTALL_DIR" in os.environ:
        return {}
    if on == _NATIVE:
        # Zephyr itself chooses this compiler, but only after it has found its SDK.
        return {"ZEPHYR_TOOLCHAIN_VARIANT": "host"}
    gcc = GCC.find()
    prefix = str(gcc).removesuffix("gcc")
    return {"ZEPHYR_TOOLCHAIN_VARIANT": "cross-compile", "CROSS_COMPILE": prefix}


def _find(info: ProjectInfo, place: Path, on: str) -> Built | None:
    if on == _NATIVE:
        program = place / _NATIVE_PROGRAM
        sizes = Sizes({}, {}, {})  # a program for this machine has no meaningful sizes
        return Built(program, on, sizes) if program.is_file() else None
    elf = place / _ELF
    return Built(elf, on, measure_zephyr(elf)) if elf.is_file() else None


def _folder(on: str, application: bool) -> str:
    return f"{on}-application" if application else on


def _is_built_for(place: Path, on: str, application: bool | None) -> bool:
    """Return whether west built this; `application` is None in a project without one."""
    cache = place / _CACHE
    if not cache.is_file():
        return False
    text = cache.read_text(encoding="utf-8")
    is_wanted = application is None or f"\n{_WHICH}:BOOL={'ON' if application else 'OFF'}\n" in text
    return f"\nETHOSGEN_ON:STRING={on}\n" in text and is_wanted


def measure_zephyr(elf: Path) -> Sizes:
    """Return an application's sizes: sections that start-up clears or copies are RAM.

    `library` is empty: Zephyr's linker script does not separate the library's sections.
    """
    try:
        with elf.open("rb") as file:
            parsed = ELFFile(file)
            copied = [
                range(s["p_vaddr"], s["p_vaddr"] + s["p_memsz"])
                for s in parsed.iter_segments("PT_LOAD")
                if s["p_vaddr"] != s["p_paddr"]
            ]
            sections = [
                (s.name, s["sh_addr"], s["sh_size"], s["sh_flags"], s["sh_type"] == "SHT_NOBITS")
                for s in parsed.iter_sections()
                if s["sh_flags"] & SH_FLAGS.SHF_ALLOC and s["sh_size"]
            ]
    except (OSError, ELFError) as error:
        raise InputError(f"cannot read firmware '{elf}': {error}") from None
    size = {name: bytes_ for name, _, bytes_, _, _ in sections}
    commands, weights = size.get(".ethosgen_commands", 0), size.get(".ethosgen_weights", 0)
    arena, io, fast = (size.get(f".ethosgen_{part}", 0) for part in ("arena", "io", "fast"))
    loaded = sum(b for _, _, b, _, is_zero in sections if not is_zero)
    code = sum(b for _, _, b, flags, _ in sections if flags & SH_FLAGS.SHF_EXECINSTR)
    data = sum(
        bytes_
        for name, addr, bytes_, _, is_zero in sections
        if (is_zero or any(addr in segment for segment in copied))
        and not name.startswith(".ethosgen_")
    )
    constants = loaded - code - commands - weights
    return Sizes(
        flash={
            "total": loaded,
            "code": code,
            "constants": constants,
            "command_streams": commands,
            "weights": weights,
        },
        ram={"total": data + arena + io + fast, "arena": arena, "io": io},
        library={},
    )
