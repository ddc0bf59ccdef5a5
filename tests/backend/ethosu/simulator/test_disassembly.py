"""Disassembly: Arm's names and codes, addresses with their region, a summary for each operation."""

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa import COMMANDS, REGION_REGISTERS
from ethosgen.backend.ethosu.simulator.disassembly import ListedCommand, disassemble
from ethosgen.values.errors import NpuFault
from tests.support.assembling import assemble

U55 = find_accelerator("ethos-u55-128")
U65 = find_accelerator("ethos-u65-512")
STOP = ("NPU_OP_STOP", {"mask": 0xFFFF})


def lines(*program: tuple[str, dict[str, int]]) -> list[ListedCommand]:
    return list(disassemble(assemble([*program, STOP]), U55))


def test_codes_have_arms_names_and_unknown_ones_are_marked() -> None:
    first, second, last = lines(
        ("NPU_SET_OFM_PRECISION", {"activation_type": 1, "round_mode": 2}),
        ("NPU_SET_IFM_UPSCALE", {"mode": 3}),
    )
    assert first.text.split() == [
        "0x000000", "NPU_SET_OFM_PRECISION", "activation_type=SIGNED,",
        "activation_precision=B8,", "activation_format=NHWC,", "scale_mode=PER_CHANNEL,",
        "round_mode=NATURAL",
    ]  # fmt: skip
    assert (second.offset, second.fields) == (4, {"mode": "3?"})
    assert last.text == f"0x000008  {'NPU_OP_STOP':<28} mask=65535"


def test_numbers_that_have_a_sign_are_shown_with_it() -> None:
    listing = lines(
        ("NPU_SET_IFM_ZERO_POINT", {"zero_point": -5}),
        ("NPU_SET_ACTIVATION_MIN", {"clip_boundary": -128}),
        ("NPU_SET_ACTIVATION_MAX", {"clip_boundary": 255}),
        ("NPU_SET_OFM_STRIDE_Y", {"addr": -64}),
        ("NPU_SET_DMA0_LEN", {"addr": 1120}),
    )
    assert [next(iter(line.fields.values())) for line in listing[:-1]] == [-5, -128, 255, -64, 1120]


def test_a_stride_of_u55_is_negative_in_32_bits() -> None:
    (line, _) = lines(("NPU_SET_OFM_STRIDE_Y", {"addr_lo": 0xFFFF_FFC0}))
    assert line.fields == {"value": -64}


def test_an_address_has_the_region_that_it_is_used_with() -> None:
    listing = lines(
        ("NPU_SET_IFM_REGION", {"region": 1}),
        ("NPU_SET_IFM_BASE0", {"addr": 0x1_0000_0040}),
        ("NPU_SET_IFM_REGION", {"region": 4}),  # set after the address, and what counts
        ("NPU_SET_DMA0_SRC", {"addr": 0x10}),
        ("NPU_SET_DMA0_DST", {"addr": 0x5800}),
        ("NPU_SET_DMA0_DST_REGION", {"region": 3, "region_mode": 1}),
        ("NPU_OP_DMA_START", {}),
        ("NPU_SET_IFM_BASE0", {"addr": 0x80}),
    )
    shown = [line.fields["addr"] for line in listing if "addr" in line.fields]
    assert shown == ["4:0x100000040", "0:0x10", "shram:0x5800", "4:0x80"]


def test_an_operation_says_what_it_does() -> None:
    listing = lines(
        ("NPU_SET_DMA0_LEN", {"addr": 64}),
        ("NPU_SET_DMA0_DST_REGION", {"region": 2}),
        ("NPU_SET_DMA0_DST", {"addr": 0x20}),
        ("NPU_OP_DMA_START", {}),
        ("NPU_SET_OFM_HEIGHT_M1", {"height_m1": 3}),
        ("NPU_SET_OFM_WIDTH_M1", {"width_m1": 4}),
        ("NPU_SET_OFM_DEPTH_M1", {"depth_m1": 7}),
        ("NPU_SET_OFM_BLK_WIDTH_M1", {"width_m1": 9}),
        ("NPU_SET_OFM_PRECISION", {"activation_type": 1, "activation_format": 1}),
        ("NPU_SET_OFM_REGION", {"region": 1}),
        ("NPU_SET_OFM_BASE0", {"addr": 0x300}),
        ("NPU_SET_IFM_PRECISION", {"activation_type": 1, "activation_precision": 1}),
        ("NPU_SET_IFM_ZERO_POINT", {"zero_point": 7}),
        ("NPU_SET_IFM2_BROADCAST", {"broadcast_c": 1}),
        ("NPU_SET_IFM2_REGION", {"region": 3}),
        ("NPU_OP_ELEMENTWISE", {"elementwise_mode": 1}),
    )
    summaries = [line.summary for line in listing if line.summary]
    assert summaries == [
        "DMA 64 bytes 0:0x0 -> 2:0x20",
        "ADD 4x5x8, ifm2 repeated along c, ifm int16 NHWC 0:0x0 zero point 7, ifm2 uint8 NHWC "
        "3:0x0, ofm int8 NHCWB16 1:0x300, scale per channel DBL, clip 0..0, block 1x10x1",
    ]
    assert listing[-2].text.splitlines()[1] == f"          ; {summaries[1]}"


def test_a_convolution_shows_kernel_and_both_cores_streams() -> None:
    program = assemble(
        [
            ("NPU_SET_KERNEL_WIDTH_M1", {"width_m1": 2}),
            ("NPU_SET_KERNEL_HEIGHT_M1", {"height_m1": 4}),
            ("NPU_SET_KERNEL_STRIDE", {"stride_x_lsb": 1, "dilation_y": 1}),
            ("NPU_SET_IFM_PAD_TOP", {"pad": 2}),
            ("NPU_SET_PARALLEL_MODE", {"parallel_mode": 1}),
            ("NPU_SET_WEIGHT_BASE", {"addr": 0x40}),
            ("NPU_SET_WEIGHT_LENGTH", {"length": 32}),
            ("NPU_SET_WEIGHT1_BASE", {"addr": 0x60}),
            ("NPU_SET_OFM_HEIGHT_M1", {"height_m1": 7}),
            ("NPU_OP_CONV", {}),
            STOP,
        ]
    )
    summary = list(disassemble(program, U65))[-2].summary
    assert summary.startswith(
        "CONV 8x1x1 <- 10x3x1, kernel 3x3, stride 1x2, dilation 2x1, "
        "pad top,left,bottom,right 2,0,0,0, "
    )
    assert "weights 0:0x40+32 and 0:0x60+0" in summary


def test_an_operation_that_makes_no_sense_says_so_and_the_listing_goes_on() -> None:
    listing = lines(("NPU_OP_POOL", {"pooling_mode": 5}))
    assert listing[0].summary == "invalid: undefined pooling mode 5"
    assert listing[-1].command == "NPU_OP_STOP"


def test_what_is_no_command_ends_the_listing_after_the_lines_before_it() -> None:
    stream = assemble([("NPU_SET_OFM_REGION", {"region": 1})]) + b"\x04\0\0\0"
    shown = []
    with pytest.raises(NpuFault, match="0x00000004 is not a command"):
        for line in disassemble(stream, U55):
            shown.append(line.command)
    assert shown == ["NPU_SET_OFM_REGION"]


def test_nothing_behind_stop_is_shown_and_a_stream_needs_one() -> None:
    stream = assemble([STOP]) + b"\xff" * 8
    assert [line.command for line in disassemble(stream, U55)] == ["NPU_OP_STOP"]
    with pytest.raises(NpuFault, match="ends without NPU_OP_STOP"):
        list(disassemble(assemble([("NPU_OP_DMA_WAIT", {})]), U55))


def test_every_command_of_the_table_can_be_shown() -> None:
    for command in COMMANDS:
        if command.name == "NPU_OP_STOP":
            continue
        (line, *_) = lines((command.name, {}))
        assert line.text.startswith(f"0x000000  {command.name}")


def test_the_regions_of_addresses_are_registers_of_the_table() -> None:
    registers = {command.register for command in COMMANDS}
    for address, region in REGION_REGISTERS.items():
        assert {address, region} <= registers
    bases = {c.register for c in COMMANDS if "BASE" in c.register}
    assert bases <= set(REGION_REGISTERS)
