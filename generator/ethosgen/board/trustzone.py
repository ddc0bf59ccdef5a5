"""TrustZone: what the secure side keeps, guards and hands over, and the non-secure view."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ethosgen.board.fields import Addr, RegisterWrite, Size
from ethosgen.platforms import find_platform
from ethosgen.toml.tables import Table
from ethosgen.values.security import Security

SAU_ALIGNMENT = 32
"""Regions of the SAU begin and end at multiples of this."""


class Reserved(Table):
    """The first part of a memory, which the secure image keeps."""

    memory: str
    """The memory's name."""
    size_bytes: Size
    """The size of that part, a multiple of the controller's block."""

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        if self.size_bytes % SAU_ALIGNMENT:
            raise ValueError(f"size_bytes: must be a multiple of {SAU_ALIGNMENT}, as in the SAU")
        return self


class Range(Table):
    """A range of addresses."""

    start_addr: Addr
    """The first address."""
    size_bytes: Size
    """Its size."""


class Guard(Table):
    """A controller that allows secure or non-secure access to each block of a memory."""

    memory: str
    """The memory's name."""
    base_addr: Addr
    """Address of its registers."""
    start_addr: Addr | None = None
    """The non-secure address of its first block [default: where the whole memory begins]."""
    size_bytes: Size | None = None
    """The size of what it protects, if a memory has several [default: to the memory's end]."""


class Trustzone(Table):
    """The chip's facts that the secure side needs, for --security non-secure."""

    secure_bit: int = Field(ge=24, le=31)
    """The bit of an address that makes it secure, as the IDAU decides: 28 in Arm's subsystems."""
    code: Reserved
    """Where the secure image is: at the start of the memory for code."""
    data: Reserved
    """Where its variables and its stack are."""
    peripherals: Range
    """The non-secure aliases of the peripherals."""
    counter_value_addr: Addr | None = None
    """The time counter's count at a non-secure address [default: its non-secure alias]."""
    mpcs: list[Guard] = Field(default=[])
    """Memory protection controllers (Arm SIE-200, SIE-300)."""
    tgus: list[Guard] = Field(default=[])
    """TCM security gates of a Cortex-M55 or M85 (ITGU, DTGU)."""
    setup: list[RegisterWrite] = Field(default=[])
    """Register writes that hand over the peripherals: PPC, IDAU. Addresses are secure."""
    state: Literal["secure", "non-secure"] = "secure"
    """The security state to which the file's addresses belong; --security derives the other.
    """


def non_secure_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board's facts as non-secure firmware sees it, from those for secure firmware.

    Addresses lose the IDAU's bit, and memories the part that the secure image keeps. Register
    writes keep the bit: the secure side performs them.
    """
    trustzone = dict(facts["trustzone"])
    mask = ~(1 << trustzone["secure_bit"])

    def alias(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if table is None:
            return None
        names = [name for name in table if name.endswith("_addr") and table[name] is not None]
        return {**table, **{name: table[name] & mask for name in names}}

    memories = {name: dict(alias(memory) or {}) for name, memory in facts["memories"].items()}
    for part in ("code", "data"):
        reserved = trustzone[part]
        memories[reserved["memory"]]["start_addr"] += reserved["size_bytes"]
        memories[reserved["memory"]]["size_bytes"] -= reserved["size_bytes"]
    trustzone["state"] = Security.NON_SECURE.value
    run = {**facts["run"], "zephyr": [], "stand_in": None}
    if run["qemu"] is not None:
        shared = run["qemu"]["shared_start_addr"]
        run["qemu"] = {**(alias(run["qemu"]) or {}), "shared_start_addr": shared}
        run["qemu"]["bell"] = alias(run["qemu"]["bell"])
    npu = alias(facts["npu"])
    if npu is not None:
        npu |= {"secure": False, "others": [alias(other) for other in npu["others"]]}
    counter = alias(facts["counter"])
    if counter is not None and trustzone["counter_value_addr"] is not None:
        counter["value_addr"] = trustzone["counter_value_addr"]
    return {
        **facts,
        "description": f"{facts['description']}, non-secure",
        "platforms": [
            platform for platform in facts["platforms"] if find_platform(platform).has_secure_side
        ],
        "npu": npu,
        "memories": memories,
        "console": alias(facts["console"]),
        "counter": counter,
        "links": [alias(link) for link in facts["links"]],
        "run": run,
        "cmsis": None,
        "trustzone": trustzone,
    }
