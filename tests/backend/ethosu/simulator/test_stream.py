"""A partition of Ethos-U: its call and its data."""

import struct

import pytest

from ethosgen.backend.ethosu.payload import driver_header
from ethosgen.backend.ethosu.stream import RegionKind, invoke, stream_of
from ethosgen.values.call import Address, Call, Function
from ethosgen.values.plan import Partition


def test_the_driver_header_is_as_arms_driver_reads_it() -> None:
    header = driver_header(0x11223344, 0x55667788, bytes(4 * 0x12345))
    words = struct.unpack("<8I", header)
    assert header[:4] == b"COP1"
    assert words[1:4] == (0x00100001, 0x11223344, 0x55667788)
    assert words[4:7] == (5, 5, 5)
    assert (words[7] & 0xFF, words[7] >> 8 & 0xFF, words[7] >> 16) == (2, 0x01, 0x2345)


def test_a_call_has_the_streams_number_and_eight_base_pointers() -> None:
    call = invoke(3, (RegionKind.READ_ONLY, RegionKind.SCRATCH, RegionKind.SCRATCH_FAST, 7))
    pointers = [Address("weights"), Address("scratch"), Address("scratch_fast"), Address(7)]
    assert call.function.symbol == "{name}_npu_invoke"
    assert call.arguments == (3, *pointers, None, None, None, None)


def test_a_partition_of_another_backend_has_no_stream() -> None:
    with pytest.raises(TypeError, match="partition_0 has no command stream"):
        stream_of(Partition("partition_0", 0, Call(Function("f")), (), ()))
