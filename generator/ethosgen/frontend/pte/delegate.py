"""Reads an Ethos-U delegate's data: a vela_bin_stream.

The format is ExecuTorch's own (backends/arm/runtime/VelaBinStream.h): blocks with a name of 16
bytes, a size, a flag, 11 reserved bytes, and the data, padded to 16 bytes. Inputs and outputs are
descriptors of int32: a shape, the element's size, an offset and its region. Their shapes have 6
dimensions since ExecuTorch 1.0, and had 4 before. Until 0.6 the scratch was a block of zeros.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from ethosgen.frontend.pte.program import Delegate
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up

BACKENDS = ("EthosUBackend", "ArmBackend")
"""The names of the Ethos-U backend; ExecuTorch 0.5 and older used the second."""

MAX_SCRATCH_BYTES = 1 << 28
"""More than any Cortex-M's memory."""

_BLOCK = struct.Struct("<16sIB11s")
_ALIGNMENT = 16
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"
_REQUIRED = ("cmd_data", "weight_data", "inputs", "outputs")
_OLD_DIMENSIONS = 4
_DIMENSIONS = (6, _OLD_DIMENSIONS)


@dataclass(frozen=True)
class DelegatePort:
    """An input or output: `shape` as Vela has it, `offset` in bytes from the start of `region`."""

    shape: tuple[int, ...]
    element_bytes: int
    offset: int
    region: int

    @property
    def elements(self) -> int:
        """Number of elements; older files fill unused dimensions with 0."""
        return math.prod(size or 1 for size in self.shape)

    @property
    def may_permute(self) -> bool:
        """Whether the runtime of that time changed between NCHW and NHWC."""
        return len(self.shape) == _OLD_DIMENSIONS


@dataclass(frozen=True)
class VelaStream:
    """The result of Vela: the commands after the driver's header, weights, and the scratch."""

    commands: bytes = field(repr=False)
    weights: bytes = field(repr=False)
    scratch_bytes: int
    inputs: tuple[DelegatePort, ...]
    outputs: tuple[DelegatePort, ...]


def read_stream(delegate: Delegate, named_data: Mapping[str, bytes], name: str) -> VelaStream:
    """Read a delegate's data; `named_data` has the blocks that it stores elsewhere in the file.

    Raises InputError if the data is damaged, UnsupportedError if it is not for the NPU or lacks
    blocks that are in another file.
    """
    if delegate.data[4:8] == b"TOSA":
        raise UnsupportedError(
            f"a delegate of '{name}' holds TOSA instead of commands; export it with an "
            "EthosUCompileSpec, so that Vela compiles it"
        )
    blocks = dict(_blocks(delegate.data, named_data, name))
    missing = [block for block in _REQUIRED if block not in blocks]
    if missing:
        raise InputError(f"'{name}' is damaged: a delegate has no block {missing[0]}")
    return VelaStream(
        blocks["cmd_data"],
        blocks["weight_data"],
        _scratch_bytes(blocks, name),
        _ports(blocks["inputs"], "inputs", name),
        _ports(blocks["outputs"], "outputs", name),
    )


def _blocks(data: bytes, named_data: Mapping[str, bytes], name: str) -> list[tuple[str, bytes]]:
    blocks: list[tuple[str, bytes]] = []
    place = 0
    while place < len(data):
        if place + _BLOCK.size > len(data):
            raise _bad(name, "a delegate's data ends within a block")
        raw, size, is_elsewhere, _ = _BLOCK.unpack_from(data, place)
        title = raw.split(b"\0")[0].decode("ascii", "replace")
        place += _BLOCK.size
        if place + size > len(data):
            raise _bad(name, f"a delegate's block '{_printable(title)}' is longer than its data")
        block = data[place : place + size]
        blocks.append((title, _elsewhere(block, named_data, name) if is_elsewhere else block))
        place += rounded_up(size, _ALIGNMENT)
        if title == _LAST:
            break
    titles = [title for title, _ in blocks]
    if titles[:1] != [_FIRST] or titles[-1:] != [_LAST]:
        raise _bad(name, "a delegate's data is not a vela_bin_stream")
    unknown = [t for t in titles if t not in (*_REQUIRED, *_SCRATCHES, _FIRST, _LAST)]
    if unknown:
        raise UnsupportedError(
            f"a delegate of '{name}' has the block '{_printable(unknown[0])}', which this ethosgen "
            "does not know; export it with ExecuTorch 1.5 and without options that are newer"
        )
    return blocks


_SCRATCHES = ("scratch_size", "scratch_data")


def _elsewhere(key: bytes, named_data: Mapping[str, bytes], name: str) -> bytes:
    data = named_data.get(key.decode("ascii", "replace"))
    if data is None:
        raise UnsupportedError(
            f"a delegate of '{name}' keeps data in another file (.ptd); export it without "
            "external_block_placements"
        )
    return data


def _scratch_bytes(blocks: Mapping[str, bytes], name: str) -> int:
    if "scratch_data" in blocks:
        return len(blocks["scratch_data"])
    size = blocks.get("scratch_size", b"")
    if len(size) < 4:
        raise _bad(name, "a delegate does not say the size of its scratch")
    count = int.from_bytes(size[:4], "little")
    if count > MAX_SCRATCH_BYTES:
        raise InputError(
            f"a delegate of '{name}' takes {count >> 20} MiB of scratch, but the limit is "
            f"{MAX_SCRATCH_BYTES >> 20}; is the file damaged?"
        )
    return count


def _ports(block: bytes, what: str, name: str) -> tuple[DelegatePort, ...]:
    count = int.from_bytes(block[:4], "little") if len(block) >= 4 else 0
    for dimensions in _DIMENSIONS:
        layout = struct.Struct(f"<{dimensions + 3}i")
        if 4 + count * layout.size == len(block):
            return tuple(
                _port(layout.unpack_from(block, 4 + i * layout.size)) for i in range(count)
            )
    raise _bad(name, f"a delegate's {what} have {counted(len(block), 'byte')} for {count}")


def _port(numbers: tuple[int, ...]) -> DelegatePort:
    *shape, element_bytes, offset, region = numbers
    return DelegatePort(tuple(shape), element_bytes, offset, region)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _bad(name: str, what: str) -> InputError:
    return InputError(f"'{name}' is damaged: {what}")
