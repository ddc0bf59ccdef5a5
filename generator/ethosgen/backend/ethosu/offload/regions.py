"""Give every tensor of a partition its own base pointer (IoStyle.CALLER).

With separate_io_regions, Regor puts all tensors that the NPU only reads in region 3 and all that it
writes in region 4, contiguously. But the caller's buffers can be anywhere. So the command stream is
rewritten: an access to region 3 or 4 becomes an access to the tensor's own region, relative to the
tensor. Registers keep their value between operations, so regions and addresses are tracked, and
set again where they changed.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ethosgen.backend.ethosu.isa import (
    CMD1,
    CONTROL_LSB,
    OPCODE_MASK,
    U55,
    InstructionSet,
)
from ethosgen.backend.ethosu.stream import OWN_BASES
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted

INPUT_REGION, OUTPUT_REGION = 3, 4
FIRST_OWN_REGION = 3

_ADVICE = "use --io arena for this network"


@dataclass(frozen=True)
class Extent:
    """A tensor's bytes [start, start + size) in Regor's region."""

    name: str
    region: int
    start: int
    size: int


_BLOCK = re.compile(r"^Allocation, memory .*, usage mask: FeatureMap\|(Input|Output)$")
_ROW = re.compile(
    r"^ *\d+ - +\d+: +0x([0-9a-f]+) - +0x[0-9a-f]+: +(\d+): +\d+: *\w+ *: ?(.*)$"
)  # time, addresses, size, memory usage, format, name


def read_spans(log: str) -> list[list[Extent]]:
    """Return each partition's tensors in regions 3 and 4, from Regor's output.

    Regor allocates them by partition, and prints one block for inputs and one for outputs each time
    (verbose_allocation); no other output relates them to the partition.
    """
    partitions: list[list[Extent]] = []
    region = None
    for line in log.splitlines():
        block = _BLOCK.match(line)
        if block:
            region = INPUT_REGION if block[1] == "Input" else OUTPUT_REGION
            if region == INPUT_REGION:
                partitions.append([])
        elif line.startswith("Allocation"):
            region = None
        elif region is not None and partitions:
            row = _ROW.match(line)
            if row:
                span = Extent(row[3], region, int(row[1], 16), int(row[2]))
                partitions[-1].append(span)
    return partitions


_PAYLOAD = CMD1 << CONTROL_LSB
"""The control bits of a command that has a payload word."""


_USES = {
    "NPU_OP_CONV": ("IFM", "OFM", "WEIGHT", "SCALE"),
    "NPU_OP_DEPTHWISE": ("IFM", "OFM", "WEIGHT", "SCALE"),
    "NPU_OP_POOL": ("IFM", "OFM"),
    "NPU_OP_ELEMENTWISE": ("IFM", "IFM2", "OFM"),
    "NPU_OP_DMA_START": ("DMA0_SRC", "DMA0_DST"),
}
_U85_USES = {
    **_USES,
    "NPU_OP_CONV": ("IFM", "IFM2", "OFM", "WEIGHT", "SCALE"),
    "NPU_OP_DEPTHWISE": ("IFM", "IFM2", "OFM", "WEIGHT", "SCALE"),
    "NPU_OP_POOL": ("IFM", "IFM2", "OFM", "SCALE"),
    "NPU_OP_RESIZE": ("IFM", "OFM"),
    "NPU_OP_DMA_START": ("DMA0_SRC", "DMA0_DST", "DMA0_IDX"),
}
"""The groups that an operation can use: IFM2 is also U85's accumulators and matrices."""

_WORD_BYTES = 4
_STORAGE_LSB = 14
_TILES = (0, 1)


class _AddressCodes:
    """The codes of one instruction set. A group is a region register and its address registers.

    `all_groups` has the group of each address register's code, `groups` those of feature maps and
    copies. `storages` has the precision register of each group whose feature map can be in the NPU,
    where the region register has another meaning.
    """

    def __init__(self, isa: InstructionSet) -> None:
        self._isa = isa
        self.all_groups = {
            self.code(address): region.removesuffix("_REGION")
            for address, region in isa.region_registers.items()
        }
        inner = ("WEIGHT", "SCALE")
        self.groups = {code: g for code, g in self.all_groups.items() if g not in inner}
        self.region_commands = self.regions(self.groups)
        uses = _USES if isa is U55 else _U85_USES
        self.operations = {isa.by_name[name].code: groups for name, groups in uses.items()}
        self.dma_start = isa.by_name["NPU_OP_DMA_START"].code
        self.dma_length = self.code("DMA0_LEN") | _PAYLOAD
        branch = isa.by_name.get("NPU_OP_BRANCH")
        self.branch = branch.code if branch else None
        self.storages: dict[int, str] = {}
        if isa is not U55:
            self.storages = {self.code(f"{g}_PRECISION"): g for g in ("IFM", "IFM2", "OFM")}

    def code(self, register: str) -> int:
        """Return the code of a register's command."""
        return self._isa.by_name[f"NPU_SET_{register}"].code

    def regions(self, groups: Mapping[int, str]) -> dict[int, str]:
        """Return the groups by the code of their region register."""
        return {self.code(f"{group}_REGION"): group for group in groups.values()}

    def ends(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Yield region and address register of a copy's ends, and (count, stride) registers."""
        for end in ("DMA0_SRC", "DMA0_DST"):
            steps = []
            if self._isa is not U55:
                names = (("DMA0_SIZE0", f"{end}_STRIDE0"), ("DMA0_SIZE1", f"{end}_STRIDE1"))
                steps = [(self.code(size), self.code(step) | _PAYLOAD) for size, step in names]
            yield self.code(f"{end}_REGION"), self.code(end) | _PAYLOAD, steps


_table = cache(_AddressCodes)
_REGION_MASK = 0x7
_STRIDES_LSB = 9
_INTERNAL = 1 << 8
"""region_mode of a DMA: the address is in SHRAM, and the region is ignored."""


@dataclass
class _Group:
    """A region register and its address registers, by code: Regor's values and rewritten ones."""

    wanted: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    is_inner: bool = False
    """Whether the feature map is in the NPU."""


def own_regions(commands: bytes, spans: Sequence[Extent], isa: InstructionSet = U55) -> bytes:
    """Rewrite a command stream so that spans[i] starts at 0 in region FIRST_OWN_REGION + i.

    Raises UnsupportedError if there are more spans than base pointers, or if an access to region 3
    or 4 is outside all spans.
    """
    if len(spans) > OWN_BASES:
        ports = counted(len(spans), "input and output", "inputs and outputs")
        raise UnsupportedError(
            f"a part of the network that runs on the NPU has {ports}, but the NPU has base "
            f"pointers for {OWN_BASES}; {_ADVICE}"
        )
    table = _table(isa)
    return _rewritten(commands, table, table.groups, lambda wanted: _moved(wanted, spans))


def shifted(commands: bytes, region: int, offset: int, isa: InstructionSet = U55) -> bytes:
    """Rewrite a command stream so that the content at 0 in a region moves to `offset`."""

    def shift(wanted: dict[int, int]) -> dict[int, int]:
        regions, addresses = _split(wanted)
        if not regions or next(iter(regions.values())) & (_INTERNAL | _REGION_MASK) != region:
            return wanted
        return {**regions, **{key: address + offset for key, address in addresses.items()}}

    table = _table(isa)
    return _rewritten(commands, table, table.all_groups, shift)


_Move = Callable[[dict[int, int]], dict[int, int]]


def _rewritten(
    commands: bytes, table: _AddressCodes, groups: Mapping[int, str], move: _Move
) -> bytes:
    """Rewrite a stream: `move` gets a group's registers and returns the new ones.

    `groups` has the group of each address register. Other registers do not change. Branches follow
    their targets, where no register counts as written yet.
    """
    regions = table.regions(groups)
    held = {name: _Group() for name in regions.values()}
    words: list[int] = []
    places = dict.fromkeys(_targets(commands, table))
    branches, offset = [], 0
    for code, word, payload in commands_of(commands):
        if offset in places:
            places[offset] = _WORD_BYTES * len(words)
            for group in held.values():
                group.written.clear()
        offset += _WORD_BYTES if payload is None else 2 * _WORD_BYTES
        name = groups.get(code) if payload is not None else regions.get(code)
        if name is not None:
            held[name].wanted[code | (word & _PAYLOAD)] = (
                word >> 16 if payload is None else (word >> 16) << 32 | payload
            )
            continue
        if payload is None:
            if code in table.storages:
                held[table.storages[code]].is_inner = word >> 16 + _STORAGE_LSB not in _TILES
            for name in table.operations.get(code, ()):
                if name in held:
                    words += _changes(held[name], move)
        words.append(word)
        if payload is not None:
            branches += [len(words)] * (code == table.branch)
            words.append(payload)
    for index in branches:
        words[index] = places[words[index]] or words[index]
    return struct.pack(f"<{len(words)}I", *words)


def _targets(commands: bytes, table: _AddressCodes) -> Iterator[int]:
    """Yield the byte offset to which each branch goes; U55 and U65 have no branches."""
    if table.branch is None:
        return
    for code, _, payload in commands_of(commands):
        if payload is not None and code == table.branch:
            yield payload


def operations(commands: bytes, isa: InstructionSet = U55) -> int:
    """Return the number of operations in a stream, without copies."""
    table = _table(isa)
    starts = table.operations.keys() - {table.dma_start}
    return sum(p is None and code in starts for code, _, p in commands_of(commands))


def operation_offsets(commands: bytes, isa: InstructionSet = U55) -> list[int]:
    """Return the offset of each operation in a stream, copies included."""
    table, offset, offsets = _table(isa), 0, []
    for code, _, payload in commands_of(commands):
        if payload is None and code in table.operations:
            offsets.append(offset)
        offset += _WORD_BYTES if payload is None else 2 * _WORD_BYTES
    return offsets


def copied_bytes(commands: bytes, isa: InstructionSet = U55) -> dict[int, int]:
    """Return the bytes of each region, from FIRST_OWN_REGION on, up to the end of DMA accesses.

    Regor copies multiples of 16 bytes, as the hardware requires: a tensor's size rounded up
    (ethos_u55_register_cs_generator.cpp, InsertTransposeCommand).
    """
    table = _table(isa)
    registers: dict[int, int] = {}
    extents: dict[int, int] = {}
    for code, word, payload in commands_of(commands):
        if code == table.dma_start and payload is None:
            source, *_ = table.ends()
            dims = registers.get(source[0], 0) >> _STRIDES_LSB & 3
            for region_code, address_code, steps in table.ends():
                region, end = registers.get(region_code, 0), registers.get(address_code, 0)
                end += registers.get(table.dma_length, 0)
                for count, stride in steps[:dims]:
                    end += (registers.get(count, 1) - 1) * registers.get(stride, 0)
                if not region & _INTERNAL and region & _REGION_MASK >= FIRST_OWN_REGION:
                    region &= _REGION_MASK
                    extents[region] = max(extents.get(region, 0), end)
        elif payload is not None:
            registers[code | _PAYLOAD] = (word >> 16) << 32 | payload
        else:
            registers[code] = word >> 16
    return extents


def accesses(commands: bytes, isa: InstructionSet = U55) -> frozenset[tuple[int, int]]:
    """Return (region, first address) of all accesses of a stream's operations and DMAs.

    Weights and scales are omitted: outside the blob, a DMA has put them there.
    """
    table = _table(isa)
    groups = {name: _Group() for name in table.region_commands.values()}
    pairs = set()
    for code, word, payload in commands_of(commands):
        if payload is not None:
            if code in table.groups:
                wanted = groups[table.groups[code]].wanted
                wanted[code | _PAYLOAD] = (word >> 16) << 32 | payload
        elif code in table.region_commands:
            groups[table.region_commands[code]].wanted[code] = word >> 16
        elif code in table.storages:
            groups[table.storages[code]].is_inner = word >> 16 + _STORAGE_LSB not in _TILES
        else:
            for name in table.operations.get(code, ()):
                if name not in groups or groups[name].is_inner:
                    continue
                regions, addresses = _split(groups[name].wanted)
                if regions and addresses and not next(iter(regions.values())) & _INTERNAL:
                    region = next(iter(regions.values())) & _REGION_MASK
                    pairs.add((region, addresses[min(addresses)]))
    return frozenset(pairs)


def commands_of(stream: bytes) -> Iterator[tuple[int, int, int | None]]:
    """Yield (code, word, payload) of each command; payload is None if it has none."""
    words = iter(struct.unpack(f"<{len(stream) // 4}I", stream))
    for word in words:
        yield word & OPCODE_MASK, word, next(words, 0) if word & _PAYLOAD else None


def _changes(group: _Group, move: _Move) -> list[int]:
    """Return the command words that set a group's changed registers."""
    words: list[int] = []
    moved = _split(group.wanted)[0] if group.is_inner else move(group.wanted)
    for key, value in moved.items():
        if group.written.get(key) == value:
            continue
        group.written[key] = value
        if key & _PAYLOAD:
            words += [key | (value >> 32) << 16, value & 0xFFFFFFFF]
        else:
            words.append(key | value << 16)
    return words


def _split(wanted: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the region register and the address registers of a group."""
    regions = {key: value for key, value in wanted.items() if not key & _PAYLOAD}
    return regions, {key: value for key, value in wanted.items() if key & _PAYLOAD}


def _moved(wanted: dict[int, int], spans: Sequence[Extent]) -> dict[int, int]:
    """Return a group's registers for its tensor's own region."""
    regions, addresses = _split(wanted)
    if not regions or not addresses:
        return wanted
    (key, region), *_ = regions.items()
    if region & _INTERNAL or region & _REGION_MASK not in (INPUT_REGION, OUTPUT_REGION):
        return wanted
    first = addresses[min(addresses)]
    for position, span in enumerate(spans):
        if span.region == region & _REGION_MASK and 0 <= first - span.start < span.size:
            own = region & ~_REGION_MASK | FIRST_OWN_REGION + position
            # The tiles after the first are 0 if unused.
            moved = {k: max(value - span.start, 0) for k, value in addresses.items()}
            return {key: own, **moved}
    raise UnsupportedError(
        f"the command stream accesses 0x{first:x} in region {region & _REGION_MASK}, where Vela "
        f"reported no tensor; {_ADVICE}"
    )
