"""Where commands of an Ethos-U55 or U65 read and write, from the words of a stream alone.

It shares no code with the NPU model or the compiler. The extent of weights, scales, copies and
outputs is exact; of an input only the start is compared, because its height follows from the
output's, the kernel's and the padding.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_OPERATIONS = {2: "CONV", 3: "DEPTHWISE", 5: "POOL", 6: "ELEMENTWISE", 16: "DMA"}
_WITH_WEIGHTS = ("CONV", "DEPTHWISE")
# Numbers of the registers that commands set, from Arm's register description.
_IFM_REGION, _OFM_REGION, _IFM2_REGION = 0x10F, 0x11F, 0x18F
_OFM_WIDTH, _OFM_HEIGHT, _OFM_DEPTH, _OFM_PRECISION = 0x111, 0x112, 0x113, 0x114
_OFM_WIDTH0, _OFM_HEIGHT0 = 0x11A, 0x11B
_WEIGHT_REGION, _SCALE_REGION = 0x128, 0x129
_DMA_SOURCE_REGION, _DMA_TARGET_REGION, _DMA_SIZE0 = 0x130, 0x131, 0x132
_IFM_BASE, _OFM_BASE, _IFM2_BASE = 0x4000, 0x4010, 0x4080
_OFM_STRIDE_X, _OFM_STRIDE_Y, _OFM_STRIDE_C = 0x4014, 0x4015, 0x4016
_WEIGHT_BASE, _WEIGHT_LENGTH, _SCALE_BASE, _SCALE_LENGTH = 0x4020, 0x4021, 0x4022, 0x4023
_DMA_SOURCE, _DMA_TARGET, _DMA_LENGTH = 0x4030, 0x4031, 0x4032
_BRICK = 16
_EXTERNAL = 1 << 8
"""In a region of DMA: the NPU's own memory, not one behind a base pointer."""


class RegionAccess(NamedTuple):
    """Bytes of a region that an operation uses; `at` is the operation's place in the stream."""

    what: str
    at: int
    region: int
    start: int
    end: int


def accesses(words: bytes) -> Iterator[RegionAccess]:
    """Yield what each operation of a stream reads and writes; ValueError for a damaged one."""
    registers: dict[int, int] = {}
    numbers = [word for (word,) in struct.iter_unpack("<I", words)]
    place = 0
    while place < len(numbers):
        word, at = numbers[place], place * 4
        code, kind = word & 0x3FF, word >> 14 & 3
        place += 1 + kind
        if kind > 1 or place > len(numbers):
            raise ValueError(f"the command at byte {at} is damaged")
        if kind == 1:
            registers[0x4000 + code] = numbers[place - 1] | word >> 16 << 32
        elif code >= 0x100:
            registers[code] = word >> 16
        elif code in _OPERATIONS:
            yield from _operation(_OPERATIONS[code], at, registers)


def _operation(name: str, at: int, registers: Mapping[int, int]) -> Iterator[RegionAccess]:
    def get(number: int) -> int:
        return registers.get(number, 0)

    def ranged(what: str, region: int, base: int, length: int) -> RegionAccess:
        return RegionAccess(f"{name}'s {what}", at, get(region) & 7, get(base), get(base) + length)

    if name == "DMA":
        length = get(_DMA_LENGTH)
        ends = (
            ("source", _DMA_SOURCE_REGION, _DMA_SOURCE),
            ("target", _DMA_TARGET_REGION, _DMA_TARGET),
        )
        yield from (
            ranged(what, region, base, length)
            for what, region, base in ends
            if not get(region) & _EXTERNAL
        )
        return
    yield ranged("input", _IFM_REGION, _IFM_BASE, 1)
    if name == "ELEMENTWISE" and _IFM2_BASE in registers:
        yield ranged("second input", _IFM2_REGION, _IFM2_BASE, 1)
    yield ranged("output", _OFM_REGION, _OFM_BASE, _output_bytes(registers))
    if name in _WITH_WEIGHTS:
        yield ranged("weights", _WEIGHT_REGION, _WEIGHT_BASE, get(_WEIGHT_LENGTH))
        yield ranged("scales", _SCALE_REGION, _SCALE_BASE, get(_SCALE_LENGTH))


def _output_bytes(registers: Mapping[int, int]) -> int:
    """Return the bytes from an output's start to the end of its first tile."""

    def get(number: int) -> int:
        return registers.get(number, 0)

    element = 1 << (get(_OFM_PRECISION) >> 1 & 3)
    row = min(get(_OFM_HEIGHT), get(_OFM_HEIGHT0)) * get(_OFM_STRIDE_Y)
    column, depth = min(get(_OFM_WIDTH), get(_OFM_WIDTH0)), get(_OFM_DEPTH)
    if get(_OFM_PRECISION) >> 6 & 3:  # bricks of 16 channels
        brick = depth // _BRICK * get(_OFM_STRIDE_C)
        return row + brick + (column * _BRICK + depth % _BRICK + 1) * element
    return row + column * get(_OFM_STRIDE_X) + (depth + 1) * element
