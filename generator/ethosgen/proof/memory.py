"""Checks a firmware's memory from its ELF and its manifest: places, sizes, and the NPU's accesses.

It shares no code with the planner of the memory, the NPU model, or the compiler.
"""

import json
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ethosgen.proof.commands import RegionAccess, accesses
from ethosgen.proof.image import FirmwareImage, LoadedSection, read_image
from ethosgen.proof.ownership import Ownership, WrongAccessError
from ethosgen.values.grammar import counted

_PARTS = ("commands", "weights", "arena", "io", "fast")
"""The parts of a firmware that the NPU reaches; each has a section."""
_STREAM = struct.Struct("<4I8I")
"""struct ethosgen_npu_stream: address, bytes, QCONFIG, REGIONCFG, and the bytes of the regions."""
_NO_NPU = "none"
_BITS_OF_BOOL = 8
_COUNT_AT, _TABLE_AT = 20, 96
"""Of the regions, and their table, in a file of weights."""
_DRIVER_MAGIC = b"COP1"


def memory_fault(elf: Path, manifest: Path, *, has_board_memories: bool) -> str:
    """Return the first fault of a firmware's memory, "" if there is none.

    Without `has_board_memories` the firmware is linked for another board's memories.
    """
    image, content = read_image(elf), json.loads(manifest.read_bytes())
    faults = [_networks(image, content, manifest.parent)]
    if has_board_memories:
        faults.insert(0, _places(image, content))
    return next((fault for group in faults for fault in group), "")


def _places(image: FirmwareImage, content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sections that are in no memory of the board, or that the NPU does not reach."""
    memories = content["board"]["memories"]
    for part in _PARTS:
        section = image.part(f".ethosgen_{part}")
        if section is None:
            continue
        name = _memory_of(section, memories)
        if name is None:
            yield f"section {section.name} at 0x{section.start:08x} is in no memory of the board"
        elif content["npu"] != _NO_NPU and memories[name]["npu_port"] is None:
            yield (f"section {section.name} is in memory '{name}', which the NPU does not reach")


def _memory_of(section: LoadedSection, memories: Mapping[str, Any]) -> str | None:
    for name, memory in memories.items():
        end = memory["start_addr"] + memory["size_bytes"]
        if memory["start_addr"] <= section.start and section.end <= end:
            return str(name)
    return None


def _networks(image: FirmwareImage, content: Mapping[str, Any], library: Path) -> Iterator[str]:
    for network in content["networks"]:
        facts = network["memory"]
        for faults in (_arena(image, network), _state(image, network), _shapes(facts)):
            yield from (f"{fault}, in network '{network['name']}'" for fault in faults)
        apart = library / network["weights"]["file"] if "weights" in network else None
        try:
            streams = _Streams(image, network["name"], apart)
            yield from streams.faults()
            if not network["trust_compiler"]:  # else unwritten bytes are accepted
                Ownership(facts, streams.accesses).walk()
        except ValueError as error:
            yield str(error)
        except WrongAccessError as error:
            yield f"{error}, in network '{network['name']}'"


def _arena(image: FirmwareImage, network: Mapping[str, Any]) -> Iterator[str]:
    """Yield the blocks outside the arena, the network's own or a shared one."""
    names = (f"{network['name']}_arena", "ethosgen_arena")
    arenas = [image.objects[name] for name in names if name in image.objects]
    facts = network["memory"]
    if arenas:
        addr, size = arenas[0]
        if facts["arena"] > size:
            yield f"the arena has {counted(size, 'byte')}, but its plan has {facts['arena']:,}"
        section = image.part(".ethosgen_arena")
        if section is not None and not section.start <= addr <= addr + size <= section.end:
            yield f"the arena is outside of section {section.name}"
    for block in facts["blocks"]:
        end = block["offset"] + block["bytes"]
        if block["offset"] < 0 or end > facts["arena"]:
            yield f"'{block['name']}' ends at byte {end} of the arena, which has {facts['arena']}"


def _state(image: FirmwareImage, network: Mapping[str, Any]) -> Iterator[str]:
    """Yield the variables that share bytes, or are outside their memory."""
    facts = network["memory"]
    _, size = image.objects.get(f"{network['name']}_state", (0, facts["state"]))
    held = [v for v in facts["variables"] if v["memory"] == "state"]
    end = 0
    for variable in sorted(held, key=lambda variable: int(variable["offset"])):
        if variable["offset"] < end:
            yield f"variable '{variable['name']}' shares bytes of the state with another one"
        end = variable["offset"] + variable["bytes"]
        if end > size:
            yield f"variable '{variable['name']}' ends at byte {end} of the state, which has {size}"


def _shapes(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tensors that have fewer bytes than their shapes."""
    for block in facts["blocks"]:
        if block["tensor"] is None:
            continue
        tensor = facts["tensors"][str(block["tensor"])]
        wanted = _tensor_bytes(tensor)
        if block["bytes"] < wanted:
            yield (
                f"'{block['name']}' has {counted(block['bytes'], 'byte')}, but its shape "
                f"{tensor['shape']} of {tensor['dtype']} needs {wanted:,}"
            )


def _tensor_bytes(tensor: Mapping[str, Any]) -> int:
    """Return the bytes of a tensor by its shape and the bits of its elements."""
    digits = re.search(r"\d+$", tensor["dtype"])
    bits = int(digits[0]) if digits else _BITS_OF_BOOL
    elements = math.prod(int(extent) for extent in tensor["shape"])
    return elements * bits + 7 >> 3


class _Streams:
    """The streams of a network in an image, or in a file of weights `apart` from it.

    Each is decoded once. ValueError for a damaged file or stream.
    """

    def __init__(self, image: FirmwareImage, network: str, apart: Path | None) -> None:
        self._image = image
        symbol = f"{network}_commands_"
        if apart is None:
            self._places = {name: p for name, p in image.objects.items() if name.startswith(symbol)}
            streams = {name: image.bytes_at(*place) for name, place in self._places.items()}
        else:
            self._places = {}
            streams = {f"{symbol}{i}": data for i, data in enumerate(_streams_of(apart))}
        self._accesses = {name: _decoded(name, stream) for name, stream in streams.items()}
        self._symbol = symbol

    def accesses(self, number: int) -> list[RegionAccess]:
        """Return the accesses of a stream by its number; ValueError if it is missing."""
        name = f"{self._symbol}{number}"
        if name not in self._accesses:
            raise ValueError(f"the firmware has no stream {name}")
        return self._accesses[name]

    def faults(self) -> Iterator[str]:
        """Yield the NPU's accesses outside the memory of its base pointers."""
        for name, (addr, size) in self._places.items():
            regions = _regions(self._image, addr, size)
            if regions is None:
                size_text = counted(size, "byte")
                yield f"the table of streams has no entry of {name}, with its {size_text}"
                continue
            yield from _outside(self._accesses[name], name, regions)


def _decoded(name: str, stream: bytes) -> list[RegionAccess]:
    try:
        return list(accesses(stream))
    except ValueError as error:
        raise ValueError(f"stream {name} is damaged: {error}") from None


def _streams_of(weights: Path) -> Iterator[bytes]:
    """Yield the streams in a file of weights: the regions that begin with a driver's header."""
    try:
        data = weights.read_bytes()
        (count,) = struct.unpack_from("<I", data, _COUNT_AT)
        places = [struct.unpack_from("<II", data, _TABLE_AT + 8 * i) for i in range(count)]
    except (OSError, struct.error):
        raise ValueError(f"the file of weights '{weights}' is missing or damaged") from None
    for offset, size in places:
        if data[offset : offset + len(_DRIVER_MAGIC)] == _DRIVER_MAGIC:
            yield data[offset : offset + size]


def _outside(
    region_accesses: Iterable[RegionAccess], name: str, regions: Sequence[int]
) -> Iterator[str]:
    for access in region_accesses:
        if access.low < 0 or access.end > regions[access.region]:
            yield (
                f"{access.what} at byte {access.at} of {name} ends at byte {access.end} of "
                f"region {access.region}, which has {regions[access.region]}"
            )


def _regions(image: FirmwareImage, addr: int, size: int) -> tuple[int, ...] | None:
    """Return the bytes of a stream's regions, from the driver's table."""
    wanted = struct.pack("<II", addr, size)
    for section in image.parts:
        place = section.data.find(wanted)
        if place >= 0 and place + _STREAM.size <= len(section.data):
            return _STREAM.unpack_from(section.data, place)[4:]
    return None
