"""Formats command streams and weights as C arrays of words and elements."""

from typing import Any

from ethosgen.project.literals import array_text, word_text
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.plan import Blob
from ethosgen.values.program import Program

ALIGNMENT = 16
"""The alignment that the NPU requires of base pointers and command streams."""


def blob_arrays(program: Program, part: str) -> list[dict[str, Any]]:
    """Return the arrays of a part of the firmware that the plan's partitions need."""
    return [
        {
            "symbol": blob_symbol(program, blob),
            "comment": blob.comment,
            "ctype": C_TYPES[blob.dtype],
            "alignment": blob.alignment,
            **_text(blob),
        }
        for blob in program.plan.blobs
        if blob.part == part and blob.data
    ]


def blob_symbol(program: Program, blob: Blob) -> str:
    """Return a blob's C name."""
    return f"{program.name}_{blob.name}"


def constant_arrays(program: Program) -> list[dict[str, Any]]:
    """Return the arrays of the CPU's operators."""
    return [
        {
            "symbol": constant.c_name,
            "comment": "",
            "ctype": C_TYPES[constant.dtype],
            "alignment": constant.alignment,
            **array_text(constant.dtype, constant.data),
        }
        for constant in program.constants
    ]


def _text(blob: Blob) -> dict[str, Any]:
    return word_text(blob.data) if blob.dtype == "uint32" else array_text(blob.dtype, blob.data)
