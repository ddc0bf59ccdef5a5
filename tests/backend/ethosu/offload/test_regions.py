"""Base pointers for each tensor: the rewritten stream reaches the same bytes."""

import struct

import pytest

from ethosgen.backend.ethosu.isa_u85 import U85
from ethosgen.backend.ethosu.offload.regions import Extent, own_regions, read_spans, shifted
from ethosgen.values.errors import UnsupportedError

IFM_REGION, OFM_REGION, IFM2_REGION, DMA0_DST_REGION = 0x10F, 0x11F, 0x18F, 0x131
IFM_BASE0, IFM_BASE1, OFM_BASE0, IFM2_BASE0, DMA0_DST = 0x000, 0x001, 0x010, 0x080, 0x031
WEIGHT_REGION, SCALE_REGION, WEIGHT_BASE, SCALE_BASE = 0x128, 0x129, 0x020, 0x022
DMA0_SRC_REGION, DMA0_SRC = 0x130, 0x030
CONV, ELEMENTWISE, DMA_START, STOP = 0x002, 0x006, 0x010, 0x000
PAYLOAD = 1 << 14

A, B = Extent("a", 3, 0, 64), Extent("b", 3, 64, 32)
OUT = Extent("out", 4, 0, 64)


def stream(*commands: tuple[int, int] | tuple[int, int, int]) -> bytes:
    """Assemble (code, parameter) and (code, upper address, lower address)."""
    words: list[int] = []
    for code, parameter, *payload in commands:
        words += [code | parameter << 16 | (PAYLOAD if payload else 0), *payload]
    return struct.pack(f"<{len(words)}I", *words)


def test_tensors_of_one_region_get_one_each() -> None:
    before = stream(
        (IFM_REGION, 3), (IFM_BASE0, 0, 16), (OFM_REGION, 1), (OFM_BASE0, 0, 0x400), (CONV, 0),
        (IFM_BASE0, 0, 64), (OFM_REGION, 4), (OFM_BASE0, 0, 8), (CONV, 0),
        (STOP, 0xFFFF),
    )  # fmt: skip
    after = stream(
        (IFM_REGION, 3), (IFM_BASE0, 0, 16), (OFM_REGION, 1), (OFM_BASE0, 0, 0x400), (CONV, 0),
        (IFM_REGION, 4), (IFM_BASE0, 0, 0), (OFM_REGION, 5), (OFM_BASE0, 0, 8), (CONV, 0),
        (STOP, 0xFFFF),
    )  # fmt: skip
    assert own_regions(before, [A, B, OUT]) == after


def test_an_address_that_comes_to_repeat_itself_is_not_set_again() -> None:
    before = stream(
        (IFM_REGION, 3), (IFM_BASE0, 0, 0), (IFM2_REGION, 3), (IFM2_BASE0, 0, 64),
        (OFM_REGION, 4), (OFM_BASE0, 0, 0), (ELEMENTWISE, 0),
        (IFM_BASE0, 0, 64), (ELEMENTWISE, 0),
    )  # fmt: skip
    after = stream(
        (IFM_REGION, 3), (IFM_BASE0, 0, 0), (IFM2_REGION, 4), (IFM2_BASE0, 0, 0),
        (OFM_REGION, 5), (OFM_BASE0, 0, 0), (ELEMENTWISE, 0),
        (IFM_REGION, 4), (ELEMENTWISE, 0),
    )  # fmt: skip
    assert own_regions(before, [A, B, OUT]) == after


def test_an_address_that_regor_left_alone_is_set_where_the_region_moves() -> None:
    before = stream(
        (IFM_REGION, 1), (IFM_BASE0, 0, 64), (CONV, 0), (IFM_REGION, 3), (CONV, 0),
    )  # fmt: skip
    after = stream(
        (IFM_REGION, 1), (IFM_BASE0, 0, 64), (CONV, 0), (IFM_REGION, 4), (IFM_BASE0, 0, 0),
        (CONV, 0),
    )  # fmt: skip
    assert own_regions(before, [A, B]) == after


def test_tiles_move_with_their_tensor_and_unused_ones_stay_zero() -> None:
    before = stream((IFM_REGION, 3), (IFM_BASE0, 0, 72), (IFM_BASE1, 0, 0), (CONV, 0))
    assert own_regions(before, [A, B]) == stream(
        (IFM_REGION, 4), (IFM_BASE0, 0, 8), (IFM_BASE1, 0, 0), (CONV, 0)
    )


def test_a_dma_to_shram_has_no_region() -> None:
    internal = stream((DMA0_DST_REGION, 3 | 1 << 8), (DMA0_DST, 0, 0x5800), (DMA_START, 0))
    assert own_regions(internal, [A, B]) == internal


def test_a_dma_keeps_its_mode() -> None:
    before = stream((DMA0_DST_REGION, 4 | 1 << 9), (DMA0_DST, 0, 4), (DMA_START, 0))
    assert own_regions(before, [A, B, OUT]) == stream(
        (DMA0_DST_REGION, 5 | 1 << 9), (DMA0_DST, 0, 4), (DMA_START, 0)
    )


def test_wide_addresses_keep_their_upper_bits() -> None:
    wide = stream((IFM_REGION, 1), (IFM_BASE0, 0xAB, 0x12345678), (CONV, 0))
    assert own_regions(wide, [A]) == wide


def test_an_access_that_meets_no_tensor_is_refused() -> None:
    beyond = stream((IFM_REGION, 3), (IFM_BASE0, 0, 96), (CONV, 0))
    with pytest.raises(UnsupportedError, match="accesses 0x60 in region 3"):
        own_regions(beyond, [A, B])


def test_too_many_tensors_get_the_advice_to_use_the_arena() -> None:
    spans = [Extent(str(i), 3, 16 * i, 16) for i in range(6)]
    with pytest.raises(UnsupportedError, match=r"has 6 inputs and outputs.*5; use --io arena"):
        own_regions(b"", spans)


def test_a_region_is_found_further_on() -> None:
    """Weights, scales and a copy of region 0 move; what is elsewhere, or in SHRAM, does not."""

    def commands(place: int) -> bytes:
        return stream(
            (DMA0_SRC_REGION, 0), (DMA0_SRC, 0, 64 + place), (DMA0_DST_REGION, 1),
            (DMA0_DST, 0, 64), (DMA_START, 0),
            (IFM_REGION, 1), (IFM_BASE0, 0, 16), (OFM_REGION, 2), (OFM_BASE0, 0, 0x400),
            (WEIGHT_REGION, 0), (WEIGHT_BASE, 0, 0xFFFFFF00 + place),
            (SCALE_REGION, 0), (SCALE_BASE, 1, place), (CONV, 0),
            (WEIGHT_REGION, 1), (WEIGHT_BASE, 0, 64), (CONV, 0),
            (DMA0_SRC, 0, place), (DMA0_DST_REGION, 0x100), (DMA0_DST, 0, 32), (DMA_START, 0),
            (STOP, 0xFFFF),
        )  # fmt: skip

    assert shifted(commands(0), 0, 0x80) == commands(0x80)
    assert shifted(commands(0), 0, 0) == commands(0)


def test_spans_are_read_for_each_partition() -> None:
    head = "Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Name"
    log = f"""
Allocation, memory Sram, usage mask: FeatureMap|Staging
{head}
         0 -          3:        0x0 -      0x400:        1024:         1024: NHCWB16        : inner
Allocation, memory Sram, usage mask: FeatureMap|Input
{head}
         0 -          1:        0x0 -      0x200:         512:         1024: NHWC           : a
         0 -          5:      0x200 -      0x210:          10:         1024: NHWC           : b; c
Allocation Peak Tensor Size: 1024 bytes == 1 KiB
Allocation, memory Sram, usage mask: FeatureMap|Output
{head}
         2 -          5:       0x10 -      0x200:         496:          512: NHWC           :
Allocation, memory Sram, usage mask: FeatureMap|Input
Allocation, memory Sram, usage mask: FeatureMap|Output
{head}
         2 -          5:        0x0 -       0x80:         128:          128: NHWC           : d
"""
    assert read_spans(log) == [
        [Extent("a", 3, 0, 512), Extent("b; c", 3, 512, 10), Extent("", 4, 16, 496)],
        [Extent("d", 4, 0, 128)],
    ]


def test_u85_reads_a_second_map_in_every_operation() -> None:
    """Its poolings and convolutions take accumulators and matrices from IFM2."""
    before = stream((IFM2_REGION, 3), (IFM2_BASE0, 0, 64), (CONV, 1), (STOP, 0xFFFF))
    after = stream((IFM2_REGION, 4), (IFM2_BASE0, 0, 0), (CONV, 1), (STOP, 0xFFFF))
    assert own_regions(before, [A, B, OUT], U85) == after


def test_u85s_chaining_buffers_keep_their_numbers() -> None:
    """The region register of a chained map has a buffer's number, here that of an own region."""
    precision, chained, tiles = 0x105, 2 << 14, 0
    before = stream(
        (precision, tiles), (IFM_REGION, 3), (IFM_BASE0, 0, 64), (CONV, 0),
        (precision, chained), (IFM_REGION, 3), (ELEMENTWISE, 0),
    )  # fmt: skip
    after = stream(
        (precision, tiles), (IFM_REGION, 4), (IFM_BASE0, 0, 0), (CONV, 0),
        (precision, chained), (IFM_REGION, 3), (ELEMENTWISE, 0),
    )  # fmt: skip
    assert own_regions(before, [A, B, OUT], U85) == after
