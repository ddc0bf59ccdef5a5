"""The options of a firmware, which `verify` and `create_project` share."""

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypedDict

from ethosgen.api.networks import NetworkLike, choice, names_of
from ethosgen.values.errors import InputError
from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.security import Security
from ethosgen.values.source import ReadOptions

CODE, BLOB = "code", "blob"
"""Where weights are: in the code, or in separate files."""


class FirmwareOptions(TypedDict, total=False):
    """The commands' options, all with their defaults."""

    npu: str | None
    """An NPU such as "ethos-u55-128", or "none" for the CPU alone; by default the board's."""
    platform: str
    """What the firmware is built with: "baremetal" (the default), "zephyr" and others."""
    memory_mode: str | None
    """Where the NPU's tensors and weights are: "shared_sram", "sram_only" and others."""
    io: str | None
    """Inputs and outputs in the "arena", or in buffers of the "caller"."""
    weights: str
    """Weights in the "code", or in a separate "blob"."""
    names: Sequence[str]
    """Prefixes of the C functions, one for each network."""
    accelerators: Sequence[str]
    """The names or files of wrapped accelerators that may run operators."""
    app: str | None
    """The application that is made with the networks, such as "kws"."""
    labels: str | os.PathLike[str] | None
    """A file with the names of the classes."""
    security: str
    """The TrustZone state: "secure" or "non-secure"."""
    sram_limit: int | None
    """The SRAM in bytes that the networks may use."""
    options: OffloadOptions
    """The division of the network between NPU and CPU."""


def require_known(options: Mapping[str, object], kind: type) -> None:
    """Raise TypeError for an option that a TypedDict does not declare, as Python does."""
    for name in options:
        if name not in kind.__annotations__:
            near = get_close_matches(name, kind.__annotations__, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"unexpected keyword argument '{name}'{hint}")


def make_recipe(
    networks: Sequence[NetworkLike],
    files: tuple[tuple[Path, ...], ReadOptions],
    board: str | None,
    options: FirmwareOptions,
) -> Recipe:
    """Return the recipe for a firmware; InputError for an invalid value of an option."""
    weights = options.get("weights", CODE)
    if weights not in (CODE, BLOB):
        raise InputError(f"weights: '{weights}' is none of {CODE}, {BLOB}")
    usual = IoStyle.CALLER if weights == BLOB else IoStyle.ARENA
    labels = options.get("labels")
    return Recipe(
        networks=files[0],
        board=board,
        npu=options.get("npu"),
        names=names_of(networks, options.get("names", ())),
        io=choice(IoStyle, options.get("io") or usual.value, "io"),
        platform=options.get("platform", "baremetal"),
        memory_mode=options.get("memory_mode"),
        options=options.get("options", EXACT),
        reading=files[1],
        accelerators=tuple(options.get("accelerators", ())),
        app=options.get("app"),
        labels=None if labels is None else Path(labels),
        sram_limit=options.get("sram_limit"),
        security=choice(Security, options.get("security", Security.SECURE.value), "security"),
        apart=weights == BLOB,
    )
