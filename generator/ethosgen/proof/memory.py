"""Checks a firmware's memory from its ELF and its manifest: places, sizes, and the NPU's accesses.

It shares no code with the planner of the memory, the NPU model, or the compiler.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ethosgen.proof.commands import accesses
from ethosgen.proof.image import FirmwareImage, LoadedSection, read_image
from ethosgen.values.grammar import counted

_PARTS = ("commands", "weights", "arena", "io", "fast")
"""The parts of a firmware that the NPU reaches; each has a section."""
_STREAM = struct.Struct("<4I8I")
"""struct ethosgen_npu_stream: address, bytes, QCONFIG, REGIONCFG, and the bytes of the regions."""
_HEADER_BYTES = 32
_NO_NPU = "none"
_U85 = "ethos-u85"
"""Its chains of operations have outputs that are in no memory, so its streams are not read here."""


def memory_fault(elf: Path, manifest: Path, *, has_board_memories: bool) -> str:
    """Return the first fault of a firmware's memory, "" if there is none.

    Without `has_board_memories` the firmware is linked for the memories of another board.
    """
    image, content = read_image(elf), json.loads(manifest.read_bytes())
    faults = [_networks(image, content)]
    if has_board_memories:
        faults.insert(0, _places(image, content))
    return next((fault for found in faults for fault in found), "")


def _places(image: FirmwareImage, content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sections that are in no memory of the board, or where the NPU does not reach."""
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


def _networks(image: FirmwareImage, content: Mapping[str, Any]) -> Iterator[str]:
    for network in content["networks"]:
        yield from _arena(image, network)
        if "blocks" in network:
            yield from _overlaps(network)
        if not content["npu"].startswith(_U85):
            yield from _streams(image, network["name"])


def _arena(image: FirmwareImage, network: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is outside of the arena, which is the network's own or a shared one."""
    names = (f"{network['name']}_arena", "ethosgen_arena")
    found = [image.objects[name] for name in names if name in image.objects]
    if not found:
        return
    (addr, size), plan = found[0], network["plan"]["arena"]
    wanted = plan["bytes"] if plan else 0
    if wanted > size:
        yield (
            f"the arena of '{network['name']}' has {counted(size, 'byte')}, but its plan has "
            f"{wanted:,}"
        )
    section = image.part(".ethosgen_arena")
    if section is not None and not section.start <= addr <= addr + size <= section.end:
        yield f"the arena of '{network['name']}' is outside of section {section.name}"
    for block in network.get("blocks", ()):
        if block["offset"] < 0 or block["offset"] + block["bytes"] > size:
            yield (
                f"'{block['name']}' of network '{network['name']}' ends at byte "
                f"{block['offset'] + block['bytes']} of the arena, which has {size}"
            )


def _overlaps(network: Mapping[str, Any]) -> Iterator[str]:
    """Yield the blocks that share bytes while both are in use, unless the plan says so."""
    blocks = sorted(network["blocks"], key=lambda block: int(block["offset"]))
    for index, first in enumerate(blocks):
        end = first["offset"] + first["bytes"]
        for second in blocks[index + 1 :]:
            if second["offset"] >= end:
                break
            is_live = first["first"] <= second["last"] and second["first"] <= first["last"]
            is_meant = second["name"] in first["over"] or first["name"] in second["over"]
            if is_live and not is_meant:
                yield (
                    f"'{first['name']}' and '{second['name']}' of network '{network['name']}' "
                    f"share byte {second['offset']} of the arena while both are in use"
                )


def _streams(image: FirmwareImage, network: str) -> Iterator[str]:
    """Yield the accesses of the NPU outside of the memory behind its base pointers."""
    start = f"{network}_commands_"
    for name, (addr, size) in image.objects.items():
        if not name.startswith(start):
            continue
        regions = _regions(image, addr, size)
        if regions is None:
            yield f"the table of streams has no entry of {name}, with its {counted(size, 'byte')}"
            continue
        words = image.bytes_at(addr + _HEADER_BYTES, size - _HEADER_BYTES)
        try:
            for access in accesses(words):
                if access.end > regions[access.region]:
                    yield (
                        f"{access.what} at byte {access.at} of {name} ends at byte {access.end} of "
                        f"region {access.region}, which has {regions[access.region]}"
                    )
        except ValueError as error:
            yield f"stream {name} is damaged: {error}"


def _regions(image: FirmwareImage, addr: int, size: int) -> tuple[int, ...] | None:
    """Return the bytes of a stream's regions, from the driver's table."""
    wanted = struct.pack("<II", addr, size)
    for section in image.parts:
        place = section.data.find(wanted)
        if place >= 0 and place + _STREAM.size <= len(section.data):
            return _STREAM.unpack_from(section.data, place)[4:]
    return None
