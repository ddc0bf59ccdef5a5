"""Sizes of a firmware from its ELF, by the sections of its linker script."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.proof.stack import StackBound
from ethosgen.values.errors import InputError

_COMMANDS = ".ethosgen_commands"
_WEIGHTS = ".ethosgen_weights"
_ARENA = ".ethosgen_arena"
_IO = ".ethosgen_io"
_LIBRARY = {"code": ".model_text", "constants": ".model_rodata", "data": ".model_bss"}
"""The model library's sections; with several networks, each has its own, suffixed ".NAME"."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a firmware, in bytes.

    `flash` and `ram` are by category, including `total`. In `flash`, constants are vectors, string
    and table constants, and initial values of variables. In `ram`, io is the application's memory
    besides the arena (none with --io arena, whose buffers are in the arena); total includes static
    data and the stack's reservation. `library` is the share of the model library and its driver
    apart from command streams, weights and arena: code, constants, data. With several networks,
    `networks` has each library's own part of that; the rest is shared.
    """

    flash: Mapping[str, int]
    ram: Mapping[str, int]
    library: Mapping[str, int]
    networks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    """A firmware that is ready to run."""

    elf: Path
    on: str
    sizes: Sizes
    application: "Built | None" = None
    """The project's own application beside it, if it has one."""
    stack: tuple[StackBound, ...] = ()
    """The networks' need of stack, if the build has computed it."""


def measure_elf(elf: Path) -> Sizes:
    """Return a firmware's sizes, by the sections of its linker script.

    InputError if the file is not an ELF.
    """
    try:
        with elf.open("rb") as file:
            sections = [
                (section.name, section["sh_size"], section["sh_flags"], section["sh_type"])
                for section in ELFFile(file).iter_sections()
                if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
            ]
    except (OSError, ELFError) as error:
        raise InputError(f"cannot read firmware '{elf}': {error}") from None
    size = {name: bytes_ for name, bytes_, _, _ in sections}
    loaded = {name: (b, flags) for name, b, flags, kind in sections if kind != "SHT_NOBITS"}
    total = sum(b for b, _ in loaded.values())
    code = sum(b for b, flags in loaded.values() if flags & SH_FLAGS.SHF_EXECINSTR)
    commands, weights = size.get(_COMMANDS, 0), size.get(_WEIGHTS, 0)
    return Sizes(
        flash={
            "total": total,
            "code": code,
            "constants": total - code - commands - weights,
            "command_streams": commands,
            "weights": weights,
        },
        ram={
            "total": sum(b for _, b, flags, _ in sections if flags & SH_FLAGS.SHF_WRITE),
            "arena": size.get(_ARENA, 0),
            "io": size.get(_IO, 0),
        },
        library={
            kind: sum(b for name, b in size.items() if f"{name}.".startswith(f"{part}."))
            for kind, part in _LIBRARY.items()
        },
        networks=_network_sizes(size),
    )


def _network_sizes(size: Mapping[str, int]) -> dict[str, dict[str, int]]:
    code = f"{_LIBRARY['code']}."
    names = [section.removeprefix(code) for section in size if section.startswith(code)]
    return {
        name: {kind: size.get(f"{part}.{name}", 0) for kind, part in _LIBRARY.items()}
        for name in names
    }
