"""A stream of Ethos-U: its operations, each with the registers that commands have set.

It shares no code with the NPU model or the compiler. Numbers and fields are those of Arm's register
description.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ethosgen.proof.lattice import ByteLattice

_OPERATIONS = {2: "CONV", 3: "DEPTHWISE", 5: "POOL", 6: "ELEMENTWISE", 7: "RESIZE", 16: "DMA"}
_HEADER_WORDS = 8
_CONFIG = 2
"""The word of the driver's header that has the NPU's CONFIG register."""
_PRODUCT_U55, _PRODUCT_U85 = 0, 2

_MAP = {"BASE0": 0, "BASE1": 1, "BASE2": 2, "BASE3": 3, "STRIDE_X": 4, "STRIDE_Y": 5, "STRIDE_C": 6}
"""The registers of a feature map that have a payload, from its first one on."""
_PAYLOAD = {
    **{f"IFM_{name}": 0x00 + number for name, number in _MAP.items()},
    **{f"OFM_{name}": 0x10 + number for name, number in _MAP.items()},
    **{f"IFM2_{name}": 0x80 + number for name, number in _MAP.items()},
    **{"WEIGHT_BASE": 0x20, "WEIGHT_LENGTH": 0x21, "SCALE_BASE": 0x22, "SCALE_LENGTH": 0x23},
    **{"DMA0_SRC": 0x30, "DMA0_DST": 0x31, "DMA0_LEN": 0x32},
    **{"DMA0_SKIP0": 0x33, "DMA0_SKIP1": 0x34},
    **{"DMA0_SRC_STRIDE0": 0x33, "DMA0_SRC_STRIDE1": 0x34},
    **{"DMA0_DST_STRIDE0": 0x35, "DMA0_DST_STRIDE1": 0x36},
    **{"DMA0_IDX": 0x37, "DMA0_IDX_MAX": 0x38, "DMA0_IDX_SKIP1": 0x39},
    **{"WEIGHT1_BASE": 0x90, "WEIGHT1_LENGTH": 0x91, "SCALE1_BASE": 0x92, "SCALE1_LENGTH": 0x93},
    **{"WEIGHT2_BASE": 0x92, "WEIGHT2_LENGTH": 0x93, "WEIGHT3_BASE": 0x94, "WEIGHT3_LENGTH": 0x95},
}
"""SKIP and SCALE1 are those of U55 and U65; U85 has STRIDE and WEIGHT2 at their numbers."""
_PLAIN = {
    **{"IFM_PAD_TOP": 0x100, "IFM_PAD_LEFT": 0x101, "IFM_PAD_RIGHT": 0x102},
    **{"IFM_PAD_BOTTOM": 0x103, "IFM_DEPTH_M1": 0x104, "IFM_PRECISION": 0x105},
    **{"IFM_UPSCALE": 0x107, "IFM_BROADCAST": 0x108, "IFM_WIDTH0_M1": 0x10A},
    **{"IFM_HEIGHT0_M1": 0x10B, "IFM_HEIGHT1_M1": 0x10C, "IFM_REGION": 0x10F},
    **{"OFM_WIDTH_M1": 0x111, "OFM_HEIGHT_M1": 0x112, "OFM_DEPTH_M1": 0x113},
    **{"OFM_PRECISION": 0x114, "OFM_WIDTH0_M1": 0x11A, "OFM_HEIGHT0_M1": 0x11B},
    **{"OFM_HEIGHT1_M1": 0x11C, "OFM_REGION": 0x11F, "KERNEL_WIDTH_M1": 0x120},
    **{"KERNEL_HEIGHT_M1": 0x121, "KERNEL_STRIDE": 0x122, "PARALLEL_MODE": 0x123},
    **{"ACC_FORMAT": 0x124, "WEIGHT_REGION": 0x128, "SCALE_REGION": 0x129},
    **{"WEIGHT_FORMAT": 0x12E, "DMA0_SRC_REGION": 0x130, "DMA0_DST_REGION": 0x131},
    **{"DMA0_SIZE0": 0x132, "DMA0_SIZE1": 0x133, "DMA0_IDX_REGION": 0x134},
    **{"IFM2_BROADCAST": 0x180, "IFM2_PRECISION": 0x185, "IFM2_WIDTH0_M1": 0x18A},
    **{"IFM2_HEIGHT0_M1": 0x18B, "IFM2_HEIGHT1_M1": 0x18C, "IFM2_REGION": 0x18F},
}
_PAYLOAD_BIT = 0x4000
REGISTERS = {**_PLAIN, **{name: _PAYLOAD_BIT | number for name, number in _PAYLOAD.items()}}
"""The registers that decide about memory, by Arm's names; those with a payload have bit 14."""
_BRICK = 16
_ADDRESS_BITS = 40
_ELEMENT_LSB = {"IFM": 2, "IFM2": 2, "OFM": 1}
"""Of the field with the size of elements in a PRECISION register."""


class StreamRegisters:
    """The values that commands have set; a register that was never set reads 0.

    `decoders` is the number of weight streams of a U85, 0 for U55 and U65.
    """

    def __init__(self, config: int) -> None:
        self.is_u85 = config >> 28 == _PRODUCT_U85
        self.decoders = 1 << (config >> 12 & 3) if self.is_u85 else 0
        self._stride_bits = 32 if config >> 28 == _PRODUCT_U55 else _ADDRESS_BITS
        self._values: dict[int, int] = {}

    def set(self, number: int, value: int) -> None:
        """Execute a command that sets a register."""
        self._values[number] = value

    def get(self, name: str, lsb: int = 0, bits: int = _ADDRESS_BITS) -> int:
        """Return a register or a field of it."""
        return self._values.get(REGISTERS[name], 0) >> lsb & (1 << bits) - 1

    def stride(self, name: str) -> int:
        """Return a distance of addresses, which may be negative."""
        value = self.get(name, bits=self._stride_bits)
        return value - (1 << self._stride_bits) if value >> self._stride_bits - 1 else value

    def shape(self, prefix: str) -> tuple[int, int, int]:
        """Return height, width and depth."""
        height, width, depth = (
            self.get(f"{prefix}_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")
        )
        return height, width, depth

    def storage(self, prefix: str) -> int:
        """Return the place of a U85's feature map: 0 tiles, 2 a chaining buffer, 3 nowhere."""
        return self.get(f"{prefix}_PRECISION", 14, 2) if self.is_u85 else 0

    def tiles(self, prefix: str, shape: tuple[int, int, int]) -> tuple[ByteLattice, ...]:
        """Return the bytes of a feature map of that height, width and depth."""
        height, width, _ = shape
        lattices: list[ByteLattice] = []
        width0 = self.get(f"{prefix}_WIDTH0_M1") + 1
        for left, columns in ((0, min(width0, width)), (1, width - width0)):
            if columns <= 0:
                continue
            split = self.get(f"{prefix}_HEIGHT{left}_M1") + 1
            for tile, rows in ((left, min(split, height)), (left + 2, height - split)):
                if rows > 0:
                    base = self.get(f"{prefix}_BASE{tile}")
                    lattices += self._tile(prefix, base, (rows, columns, shape[2]))
        return tuple(lattices)

    def _tile(self, prefix: str, base: int, shape: tuple[int, int, int]) -> Iterator[ByteLattice]:
        height, width, depth = shape
        y, x, c = (self.stride(f"{prefix}_STRIDE_{axis}") for axis in "YXC")
        element = 1 << self.get(f"{prefix}_PRECISION", _ELEMENT_LSB[prefix], 2)
        if not self.get(f"{prefix}_PRECISION", 6, 2):  # NHWC
            yield ByteLattice(base, depth * element, (height, width), (y, x))
            return
        bricks, rest = divmod(depth, _BRICK)
        column = _BRICK * element
        if bricks:
            yield ByteLattice(base, column, (height, bricks, width), (y, c, column))
        if rest:
            last = base + bricks * c
            yield ByteLattice(last, rest * element, (height, width), (y, column))


class StreamOperation(NamedTuple):
    """An operation: its name, its place in the stream in bytes, and its operand."""

    name: str
    at: int
    operand: int
    registers: StreamRegisters


def operations(stream: bytes) -> Iterator[StreamOperation]:
    """Yield the operations of a stream with its driver's header; ValueError for a damaged one.

    The registers change between operations. A U85's branches are not followed.
    """
    if len(stream) < 4 * _HEADER_WORDS or len(stream) % 4:
        raise ValueError("it is cut off")
    words = [word for (word,) in struct.iter_unpack("<I", stream)]
    registers, place = StreamRegisters(words[_CONFIG]), _HEADER_WORDS
    while place < len(words):
        word, at = words[place], (place - _HEADER_WORDS) * 4
        code, kind = word & 0x3FF, word >> 14 & 3
        place += 1 + kind
        if kind > 1 or place > len(words):
            raise ValueError(f"the command at byte {at} is damaged")
        if kind == 1:
            registers.set(_PAYLOAD_BIT | code, words[place - 1] | word >> 16 << 32)
        elif code >= min(_PLAIN.values()):
            registers.set(code, word >> 16)
        elif code in _OPERATIONS:
            yield StreamOperation(_OPERATIONS[code], at, word >> 16, registers)
