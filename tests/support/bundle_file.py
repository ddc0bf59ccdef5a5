"""Writes ExecuTorch's bundled programs from the schema (bundled_program_schema.fbs), for tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np

from tests.support.program_file import TYPES


@dataclass(frozen=True)
class BundledTensor:
    """A tensor of torch: its bytes as they are stored, its sizes, and the order of these."""

    dtype: str
    sizes: Sequence[int]
    order: Sequence[int]
    data: bytes


def contiguous(array: np.ndarray[Any, Any]) -> BundledTensor:
    """Return an array as a tensor in torch's own order."""
    return BundledTensor(str(array.dtype), array.shape, range(array.ndim), array.tobytes())


Case = tuple[Sequence[BundledTensor], Sequence[BundledTensor]]
"""Inputs and expected outputs."""


def bundle(program: bytes, cases: Sequence[Case], method: str = "forward") -> bytes:
    """Return a .bpte file."""
    builder = flatbuffers.Builder(1024)
    tables = _vector(builder, [_case(builder, case) for case in cases])
    name = builder.CreateString(method)
    suite = _vector(builder, [_table(builder, {0: name, 1: tables})])
    builder.StartVector(1, len(program), 32)
    builder.head -= len(program)
    builder.Bytes[builder.head : builder.head + len(program)] = program
    inner = builder.EndVector()
    builder.Finish(_table(builder, {1: suite, 2: inner}), file_identifier=b"BP08")
    return bytes(builder.Output())


def _case(builder: Any, case: Case) -> int:
    ends = [_vector(builder, [_value(builder, tensor) for tensor in end]) for end in case]
    return _table(builder, dict(enumerate(ends)))


def _value(builder: Any, tensor: BundledTensor) -> int:
    sizes = builder.CreateNumpyVector(np.array(list(tensor.sizes), np.int32))
    data = builder.CreateNumpyVector(np.frombuffer(tensor.data, np.uint8))
    order = builder.CreateNumpyVector(np.array(list(tensor.order), np.uint8))
    builder.StartObject(4)
    builder.PrependInt8Slot(0, TYPES[tensor.dtype], 0)
    for slot, place in ((1, sizes), (2, data), (3, order)):
        builder.PrependUOffsetTRelativeSlot(slot, place, 0)
    place = builder.EndObject()
    builder.StartObject(2)
    builder.PrependUint8Slot(0, 1, 0)
    builder.PrependUOffsetTRelativeSlot(1, place, 0)
    return int(builder.EndObject())


def _table(builder: Any, fields: dict[int, int]) -> int:
    builder.StartObject(max(fields) + 1)
    for slot, place in fields.items():
        builder.PrependUOffsetTRelativeSlot(slot, place, 0)
    return int(builder.EndObject())


def _vector(builder: Any, places: Sequence[int]) -> int:
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    return int(builder.EndVector())
