"""Profiles of a firmware: the unit of its clock, and one that was not built for them."""

import struct

import pytest

from ethosgen.board import load_board
from ethosgen.targets.frames import Frame
from ethosgen.targets.kinds import TARGETS
from ethosgen.targets.profiling import read_profile, unit_of
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.profile import ProgramStep, Unit
from tests.targets.test_session import greeted, profiled

STEPS = [ProgramStep("CONV_2D", "a", "cpu"), ProgramStep("partition_0", "b", "npu")]


def test_qemu_counts_instructions_by_its_clock() -> None:
    board = load_board("corstone300")
    assert board.run.qemu is not None and board.counter is not None
    second = 1_000_000_000 / board.run.qemu.instruction_ns  # instructions
    unit = unit_of(board, TARGETS["qemu"], board.counter.hz)
    assert unit == Unit("instructions", pytest.approx(board.counter.hz / second))


def test_qemu_believes_a_firmware_that_counts_instructions_itself() -> None:
    board = load_board("corstone300")
    assert board.run.qemu is not None
    hz = 1_000_000_000 // board.run.qemu.instruction_ns
    assert unit_of(board, TARGETS["qemu"], hz) == Unit("instructions", 1.0)


def test_qemus_clock_counts_where_zephyr_names_another_rate() -> None:
    board = load_board("mps2-an521")
    assert board.counter is not None and board.counter.hz == 20_000_000
    assert unit_of(board, TARGETS["qemu"], 25_000_000) == unit_of(
        board, TARGETS["qemu"], board.counter.hz
    )


def test_zephyrs_own_clock_counts_where_the_board_file_has_its_rate() -> None:
    board = load_board("microbit")
    assert board.run.qemu is not None
    second = 1_000_000_000 / board.run.qemu.instruction_ns
    for hz in (1_000_000, 16_000_000):  # Zephyr's and bare metal's
        unit = unit_of(board, TARGETS["qemu"], hz)
        assert unit == Unit("instructions", pytest.approx(hz / second))


def test_hardware_counts_cycles_where_the_counter_is_the_processors() -> None:
    board = load_board("corstone300")
    assert board.counter is not None
    serial = TARGETS["serial"]
    assert unit_of(board, serial, board.cpu.clock_hz or 0) == Unit("cycles", 1.0)
    assert unit_of(board, serial, 1_000_000) == Unit("ticks at 1,000,000 Hz", 1.0)
    dwt = board.model_copy(update={"counter": board.counter.model_copy(update={"kind": "dwt"})})
    assert dwt.counter is not None
    assert unit_of(dwt, serial, dwt.counter.hz) == Unit("cycles", 1.0)
    # Zephyr's clock is another timer on some boards.
    assert unit_of(dwt, serial, 32_768) == Unit("ticks at 32,768 Hz", 1.0)


def test_linux_counts_time() -> None:
    unit = unit_of(load_board("aarch64-linux"), TARGETS["qemu"], 100_000_000)
    assert unit == Unit("nanoseconds", 0.1)


def test_a_firmware_without_profiles_is_one_sentence() -> None:
    def refuse(frame: Frame, _: int) -> list[bytes]:
        return [Frame(0xFE, frame.sequence).encode()]

    with pytest.raises(InputError, match=r"has no profile .*ethosgen build DIR --profile"):
        read_profile(greeted(refuse)[0], STEPS, Unit("cycles", 1.0), 1)


def test_a_counter_that_stands_still_is_one_sentence() -> None:
    def still(frame: Frame, _: int) -> list[bytes]:
        body = struct.pack("<III", 3, 16, 0) + struct.pack("<III", 0, 0, 1) * 3
        return [Frame(frame.type | 0x80, frame.sequence, body).encode()]

    with pytest.raises(TargetError, match="the firmware's counter does not advance: the"):
        read_profile(greeted(still)[0], STEPS, Unit("cycles", 1.0), 1)


def test_the_hook_is_subtracted_in_each_place() -> None:
    profile = read_profile(greeted(profiled(3))[0], STEPS, Unit("cycles", 2.0), 1)
    # A hook costs 64 / 16 = 4 ticks; the places counted 0, 10 and 20.
    assert (profile.outside, [cost.count for cost in profile.steps]) == (0, [3, 8])
    assert (profile.hook, profile.total, profile.npu_cycles) == (2.0, 11, 3)
