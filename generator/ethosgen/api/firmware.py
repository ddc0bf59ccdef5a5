"""The options of a firmware, which `verify` and `create_project` share."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from ethosgen.api.networks import NetworkLike, choice, names_of
from ethosgen.values.errors import InputError
from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.security import Security
from ethosgen.values.source import ReadOptions

CODE, BLOB = "code", "blob"
"""Where weights are: in the code, or in files apart from it."""


class FirmwareOptions(TypedDict, total=False):
    """The commands' options, all with their defaults."""

    npu: str | None
    """An NPU such as "ethos-u55-128", or "none" for the CPU alone; by default the board's."""
    platform: str
    memory_mode: str | None
    io: str | None
    """Inputs and outputs in the "arena", or in buffers of the "caller"."""
    weights: str
    """Weights in the "code", or in a "blob" apart from it."""
    names: Sequence[str]
    """Prefixes of the C functions, one for each network."""
    accelerators: Sequence[str]
    app: str | None
    labels: str | os.PathLike[str] | None
    """A file with the names of the classes."""
    security: str
    """The TrustZone state: "secure" or "non-secure"."""
    sram_limit: int | None
    """The bytes of SRAM that the networks may take."""
    options: OffloadOptions


def make_recipe(
    networks: Sequence[NetworkLike],
    files: tuple[tuple[Path, ...], ReadOptions],
    board: str | None,
    given: FirmwareOptions,
) -> Recipe:
    """Return the request for a firmware; InputError for a value that an option does not have."""
    unknown = next((name for name in given if name not in FirmwareOptions.__annotations__), None)
    if unknown is not None:
        raise TypeError(f"unexpected keyword argument '{unknown}'")
    weights = given.get("weights", CODE)
    if weights not in (CODE, BLOB):
        raise InputError(f"weights: '{weights}' is none of {CODE}, {BLOB}")
    usual = IoStyle.CALLER if weights == BLOB else IoStyle.ARENA
    labels = given.get("labels")
    return Recipe(
        networks=files[0],
        board=board,
        npu=given.get("npu"),
        names=names_of(networks, given.get("names", ())),
        io=choice(IoStyle, given.get("io") or usual.value, "io"),
        platform=given.get("platform", "baremetal"),
        memory_mode=given.get("memory_mode"),
        options=given.get("options", EXACT),
        reading=files[1],
        accelerators=tuple(given.get("accelerators", ())),
        app=given.get("app"),
        labels=None if labels is None else Path(labels),
        sram_limit=given.get("sram_limit"),
        security=choice(Security, given.get("security", Security.SECURE.value), "security"),
        apart=weights == BLOB,
    )
