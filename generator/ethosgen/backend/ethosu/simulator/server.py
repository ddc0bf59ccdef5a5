"""The NPU model as a server for a program on this machine: Zephyr's native_sim uses a pipe.

The counterpart of zephyr_app/lib/npu/native_host.h. A request is struct ethosgen_host_run, the
commands, then the contents of its ranges. The answer is STATUS, QREAD, and for each range a word
that is not 0 if the NPU wrote to it, followed by the new contents. All words are little endian.
"""

import logging
import struct
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from ethosgen.backend.ethosu.accelerator import ACCELERATORS, EthosU
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.register_map import STATUS_CMD_PARSE_ERROR, register_map
from ethosgen.backend.ethosu.simulator.registers import STATUS_CMD_END_REACHED
from ethosgen.values.errors import NpuFault

_LOG = logging.getLogger(__name__)

_BASES = 8
_RANGES = 8
_RUN = struct.Struct(f"<4I{_BASES}Q{2 * _RANGES}Q")
_RESULT = struct.Struct("<2I")
_WORD = struct.Struct("<I")
_PAGE = 4096

Range = tuple[int, int]
"""Address and length in bytes."""


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Process requests until the client closes the pipe."""
    while len(head := requests.read(_RUN.size)) == _RUN.size:
        config, command_bytes, count, _, *words = _RUN.unpack(head)
        bases, pairs = words[:_BASES], words[_BASES:]
        ranges = [(pairs[2 * i], pairs[2 * i + 1]) for i in range(count)]
        commands = requests.read(command_bytes)
        contents = [requests.read(length) for _, length in ranges]
        answers.write(_answer(config, commands, bases, ranges, contents))
        answers.flush()


def _answer(
    config: int,
    commands: bytes,
    bases: list[int],
    ranges: list[Range],
    contents: list[bytes],
) -> bytes:
    memories = [np.frombuffer(content, np.uint8).copy() for content in contents]
    places = _low_addresses(ranges)
    segments = [
        Segment(places[addr], memory, name=f"range {index}")
        for index, ((addr, _), memory) in enumerate(zip(ranges, memories, strict=True))
    ]
    stream_addr = _page_behind(max((segment.end for segment in segments), default=0))
    segments.append(Segment(stream_addr, np.frombuffer(commands, np.uint8), False, "commands"))
    moved = [_move(base, ranges, places) for base in bases]
    result = _RESULT.pack(*_run(_find(config), Bus(segments), (stream_addr, len(commands)), moved))
    for memory, content in zip(memories, contents, strict=True):
        new = memory.tobytes()
        result += _WORD.pack(new != content) + (new if new != content else b"")
    return result


def _run(accelerator: EthosU | None, bus: Bus, stream: Range, bases: list[int]) -> tuple[int, int]:
    """Run a stream; return STATUS and QREAD at its end."""
    if accelerator is None:
        return STATUS_CMD_PARSE_ERROR, 0
    try:
        report = Machine(accelerator, bus).run(*stream, bases)
    except NpuFault as fault:
        _LOG.warning("%s", fault)
        return register_map(accelerator).fault_bits[fault.kind], fault.offset
    return STATUS_CMD_END_REACHED, report.consumed


def _low_addresses(ranges: list[Range]) -> dict[int, int]:
    """Map each range to a 32-bit address for U55, with the same offset in its page."""
    places = {}
    free = _PAGE
    for addr, length in ranges:
        places[addr] = free + addr % _PAGE
        free = _page_behind(places[addr] + length)
    return places


def _page_behind(addr: int) -> int:
    """Return a page not adjacent to `addr`, so that an overrun faults."""
    return (addr // _PAGE + 2) * _PAGE


def _move(base: int, ranges: list[Range], places: Mapping[int, int]) -> int:
    for addr, length in ranges:
        if addr <= base < addr + length:
            return places[addr] + base - addr
    return 0


def _find(config: int) -> EthosU | None:
    """Return the NPU with a value of CONFIG, None and a warning if there is none."""
    for accelerator in ACCELERATORS.values():
        if accelerator.config_word == config:
            return accelerator
    _LOG.warning("no NPU has CONFIG 0x%08x", config)
    return None
