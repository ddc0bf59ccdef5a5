"""Find chains of U85 that overwrite their own tables.

The operations of a chain pass results in the NPU's buffers. Vela loads all tables of a chain before
its first operation, even if a later table overwrites an earlier one: the memory for tables has 2
KiB, the size of one table of 16-bit values. This is the erratum chained-tables in errata_table.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.isa import PARAMETER_BITS, DmaRegionMode, InstructionSet
from ethosgen.backend.ethosu.isa_u85 import TABLES, U85, ActivationStorage, U85ActivationFunction
from ethosgen.backend.ethosu.offload.regions import commands_of

_STARTS = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE")


def overwrites_table(commands: bytes, isa: InstructionSet = U85) -> bool:
    """Return whether a chain may need a table that is overwritten before it starts.

    Two of its operations have tables in the same place, and one was loaded just before the chain.
    The stream does not show whether both need that one; the answer is yes in either case.
    """
    return isa is U85 and any(_overwrites(chain) for chain in _chains(commands))


@dataclass
class _TableChain:
    """The tables that are loaded before a chain, and those that its operations use."""

    loaded: list[range] = field(default_factory=list)
    used: list[range] = field(default_factory=list)


def _overwrites(chain: _TableChain) -> bool:
    pairs = ((a, b) for i, a in enumerate(chain.used) for b in chain.used[:i])
    shared = [range(max(a.start, b.start), min(a.stop, b.stop)) for a, b in pairs]
    return any(_overlap(place, load) for place in shared for load in chain.loaded)


def _overlap(a: range, b: range) -> bool:
    return max(a.start, b.start) < min(a.stop, b.stop)


def _chains(commands: bytes) -> Iterator[_TableChain]:
    """Yield the chains of a stream; an operation outside any chain is a chain by itself."""
    rows = {U85.by_name[name].code: name for name in _WANTED}
    values = dict.fromkeys(_WANTED, 0)
    chain = _TableChain()
    for code, word, payload in commands_of(commands):
        name = rows.get(code)
        if name is None or (payload is None) == U85.by_name[name].control:
            continue
        values[name] = word >> PARAMETER_BITS | (payload or 0) << PARAMETER_BITS
        if name == "NPU_OP_DMA_START":
            chain.loaded += _loaded(values)
        elif name.startswith("NPU_OP_"):
            chain.used += _used(values)
            if _field(values, "NPU_SET_OFM_PRECISION", "activation_storage") != _CHAINED:
                yield chain
                chain = _TableChain()


_CHAINED = ActivationStorage.CHAINED
_WANTED = (
    "NPU_SET_ACTIVATION",
    "NPU_SET_OFM_PRECISION",
    "NPU_SET_DMA0_DST_REGION",
    "NPU_SET_DMA0_DST",
    "NPU_SET_DMA0_LEN",
    "NPU_OP_DMA_START",
    *(f"NPU_OP_{name}" for name in _STARTS),
)


def _field(values: dict[str, int], command: str, name: str) -> int:
    return U85.by_name[command].field(name).get(values[command])


def _used(values: dict[str, int]) -> list[range]:
    """Return the place of the table that an operation uses, if it does."""
    function = _field(values, "NPU_SET_ACTIVATION", "activation_function")
    if function == U85ActivationFunction.LUT_NONE:
        return []
    size = TABLES[U85ActivationFunction(function)].bytes
    start = _field(values, "NPU_SET_ACTIVATION", "table") * size
    return [range(start, start + size)]


def _loaded(values: dict[str, int]) -> list[range]:
    """Return the place that a DMA writes, if it is in the memory for tables."""
    if _field(values, "NPU_SET_DMA0_DST_REGION", "region_mode") != DmaRegionMode.INTERNAL:
        return []
    start = _field(values, "NPU_SET_DMA0_DST", "addr_lo")
    return [range(start, start + _field(values, "NPU_SET_DMA0_LEN", "addr_lo"))]
