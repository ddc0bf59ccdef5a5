"""Finds a firmware's inputs and outputs in memory, from its library's table in the ELF.

QEMU takes some 20 us for a byte of its console. Data in shared memory can bypass it: a network
with inputs of some megabytes would spend minutes there.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from ethosgen.project.info import NetworkInfo, ProjectInfo
from ethosgen.values.network import Tensor

LARGE_BYTES = 4096
"""Tensors of this size or more bypass the console; smaller ones use it, as on a board."""

_TABLE = "ethosgen_networks"
_NETWORK = struct.Struct("<IIIBBxxIII")
"""struct ethosgen_network of ethosgen_networks.h: name, inputs, outputs, counts, functions."""
_PORT = struct.Struct("<II")
"""struct ethosgen_port: buffer, bytes."""


@dataclass(frozen=True)
class PortIndex:
    """An input or output of a network: `network` and `port` are indices in the project."""

    network: int
    is_output: bool
    port: int


def find_buffers(elf: Path, info: ProjectInfo) -> dict[PortIndex, tuple[int, int]]:
    """Return address and size of each large input and output; none if the table differs."""
    with elf.open("rb") as file:
        image = ELFFile(file)
        table = _symbol(image)
        if table is None or len(table) != _NETWORK.size * len(info.networks):
            return {}
        buffers: dict[PortIndex, tuple[int, int]] = {}
        for index, (row, network) in enumerate(
            zip(_NETWORK.iter_unpack(table), info.networks, strict=True)
        ):
            ports = _ports(image, row, network)
            if ports is None:
                return {}
            buffers |= {
                PortIndex(index, *place): port
                for place, port in ports.items()
                if port[1] >= LARGE_BYTES
            }
        return buffers


def _ports(
    image: ELFFile, row: tuple[int, ...], network: NetworkInfo
) -> Mapping[tuple[bool, int], tuple[int, int]] | None:
    """Return a network's ports; None if they differ from the project's."""
    _, inputs, outputs, input_count, output_count, *_ = row
    if (input_count, output_count) != (len(network.inputs), len(network.outputs)):
        return None
    ports: dict[tuple[bool, int], tuple[int, int]] = {}
    sides: Iterator[tuple[bool, int, tuple[Tensor, ...]]] = iter(
        ((False, inputs, network.inputs), (True, outputs, network.outputs))
    )
    for is_output, address, tensors in sides:
        data = _read(image, address, _PORT.size * len(tensors))
        if data is None:
            return None
        for number, (tensor, port) in enumerate(zip(tensors, _PORT.iter_unpack(data), strict=True)):
            if port[1] != tensor.bytes:
                return None
            ports[is_output, number] = (port[0], port[1])
    return ports


def _symbol(image: ELFFile) -> bytes | None:
    """Return the table's bytes."""
    symbols = image.get_section_by_name(".symtab")
    named = symbols.get_symbol_by_name(_TABLE) if symbols is not None else None
    return _read(image, named[0]["st_value"], named[0]["st_size"]) if named else None


def _read(image: ELFFile, address: int, size: int) -> bytes | None:
    """Return initialized bytes of the image; None if it has none there."""
    for section in image.iter_sections("SHT_PROGBITS"):
        offset = address - section["sh_addr"]
        if section["sh_addr"] and offset >= 0 and offset + size <= section["sh_size"]:
            return bytes(section.data()[offset : offset + size])
    return None
