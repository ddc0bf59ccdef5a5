"""The driver's header before a command stream, as Regor writes it (custom_operator_ethosu.hpp).

COP1: words "COP1", OPTIMIZER_CONFIG tag, CONFIG, ID, NOPs, then a COMMAND_STREAM tag with the
length in words (bits 8..15 high, 16..31 low) and the commands. COP2: 16 bytes "COP2", version and
length; an entry of type 1 and its length; metadata "VEUM" with CONFIG, ID, features and staging
use; padding to 16 bytes; the commands.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import ABSENT, Network

_OPTIMIZER_CONFIG, _COMMAND_STREAM, _NOP = 0x01, 0x02, 0x05
HEADERS = _COP1, _COP2 = b"COP1", b"COP2"
"""The first bytes of a payload, by its format."""


CUSTOM_CODE = "ethos-u"
"""The custom operator that stands for a payload."""
MEMORIES = 4
"""Its first inputs, which are not tensors: payload, read-only blob, scratch, fast scratch."""


def is_compiled(network: Network) -> bool:
    """Return whether Vela has already compiled a network."""
    return any(op.custom_code == CUSTOM_CODE for op in network.graph.operators)


@dataclass(frozen=True)
class Payload:
    """Bare commands, and the CONFIG and ID words of their NPU."""

    commands: bytes
    config_word: int
    id_word: int


def compiled_streams(network: Network) -> Iterator[Payload]:
    """Yield each partition's stream; InputError if an operator lacks a required input."""
    for operator in network.graph.operators:
        if operator.custom_code != CUSTOM_CODE:
            continue
        memories = operator.inputs[:MEMORIES]
        if len(memories) < MEMORIES or ABSENT in operator.inputs:
            raise InputError(
                f"'{network.name}' is damaged: its '{CUSTOM_CODE}' operator {operator.index} "
                f"has inputs {list(operator.inputs)}"
            )
        yield strip_header(network.graph.tensors[memories[0]].data or b"")


def driver_header(config_word: int, id_word: int, commands: bytes) -> bytes:
    """Return the 32 bytes that Arm's core driver expects before a command stream.

    Eight words: COP1, with three NOPs to align the commands (hal_ethos_u ethosu_driver.c).
    """
    words = len(commands) // 4
    length = _COMMAND_STREAM | (words >> 16 & 0xFF) << 8 | (words & 0xFFFF) << 16
    entries = (_OPTIMIZER_CONFIG | 1 << 20, config_word, id_word, _NOP, _NOP, _NOP, length)
    return _COP1 + struct.pack("<7I", *entries)


def strip_header(payload: bytes) -> Payload:
    """Return the content of a driver payload; UnsupportedError if it is neither COP1 nor COP2."""
    try:
        if payload[:4] == _COP1:
            return _strip_cop1(payload)
        if payload[:4] == _COP2:
            return _strip_cop2(payload)
    except (struct.error, IndexError):
        raise UnsupportedError("the command stream that Vela wrote is truncated") from None
    raise UnsupportedError("the command stream that Vela wrote is neither COP1 nor COP2")


def _strip_cop1(payload: bytes) -> Payload:
    config_word = id_word = 0
    place = 4
    while True:
        (word,) = struct.unpack_from("<I", payload, place)
        place += 4
        tag = word & 0xFF
        if tag == _OPTIMIZER_CONFIG:
            config_word, id_word = struct.unpack_from("<II", payload, place)
            place += 8
        elif tag == _COMMAND_STREAM:
            length = 4 * ((word >> 8 & 0xFF) << 16 | word >> 16)
            return Payload(_exactly(payload, place, length), config_word, id_word)
        elif tag != _NOP:
            raise UnsupportedError(f"the command stream has a driver action 0x{tag:02x}")


def _strip_cop2(payload: bytes) -> Payload:
    header = 16
    (entry_length,) = struct.unpack_from("<I", payload, header + 4)
    (metadata_length,) = struct.unpack_from("<I", payload, header + 8)
    config_word, id_word = struct.unpack_from("<II", payload, header + 24)
    start = header + 12 + metadata_length
    # The entry's length counts from its end and includes the metadata's own length field.
    length = entry_length - 4 - metadata_length
    return Payload(_exactly(payload, start, length), config_word, id_word)


def _exactly(payload: bytes, start: int, length: int) -> bytes:
    if start + length > len(payload) or length % 4:
        raise UnsupportedError("the command stream that Vela wrote is truncated")
    return payload[start : start + length]
