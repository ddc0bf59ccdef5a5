"""Formats command streams and weights as C arrays of words and elements."""

from typing import Any

from ethosgen.project.literals import array_text, c_type, word_text
from ethosgen.values.program import Program

HEADER_BYTES = 32
"""Size of the header that Arm's core driver expects before each command stream."""
ALIGNMENT = 16
"""The alignment that the NPU requires of base pointers and command streams."""
CACHE_LINE_BYTES = 32
"""Cache line size of Cortex-M55's and M85's data caches."""


def driver_header(config_word: int, id_word: int, commands: bytes) -> bytes:
    """Return the 32 bytes that Arm's core driver expects before a command stream.

    Eight words: the letters COP1; OPTIMIZER_CONFIG with the CONFIG and ID words that the stream was
    compiled for; three NOPs, to align the commands; COMMAND_STREAM with the length in words
    (hal_ethos_u ethosu_driver.c).
    """
    words = len(commands) // 4
    length = 2 | (words >> 16 & 0xFF) << 8 | (words & 0xFFFF) << 16
    header = (0x31504F43, 0x00100001, config_word, id_word, 5, 5, 5, length)
    return b"".join(word.to_bytes(4, "little") for word in header)


def command_arrays(program: Program) -> list[dict[str, Any]]:
    return [
        {
            "symbol": f"{program.name}_commands_{index}",
            "comment": f"{p.name}: eight words of Arm's driver header, then the commands.",
            "ctype": "uint32_t",
            "alignment": ALIGNMENT,
            **word_text(driver_header(p.config_word, p.id_word, p.commands) + p.commands),
        }
        for index, p in enumerate(program.plan.partitions)
    ]


def weight_arrays(program: Program) -> list[dict[str, Any]]:
    arrays = []
    if program.plan.read_only:
        arrays.append(
            {
                "symbol": f"{program.name}_weights",
                "comment": "Data that the NPU reads: weights, scales, tables, as Vela packed them.",
                "ctype": "uint32_t",
                "alignment": ALIGNMENT,
                **word_text(program.plan.read_only),
            }
        )
    arrays += [
        {
            "symbol": constant.c_name,
            "comment": "",
            "ctype": c_type(constant.dtype),
            "alignment": constant.alignment,
            **array_text(constant.dtype, constant.data),
        }
        for constant in program.constants
    ]
    return arrays
