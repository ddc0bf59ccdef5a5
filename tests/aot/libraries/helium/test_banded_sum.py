"""Sums behind convolutions, in bands: the same bits in less memory."""

from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder


def _blocks() -> bytes:
    """Return residual blocks whose last bands are shorter, with either input of more scale."""
    net = NetworkBuilder("residual", seed=6)
    x = net.conv2d(net.input((2, 13, 20, 3)), 16, activation="RELU")
    y = net.conv2d(net.conv2d(x, 16), 16, scale=0.3)
    x = net.add(x, y, activation="RELU", scale=0.2)
    y = net.conv2d(net.conv2d(x, 16), 16, (1, 1))
    x = net.add(y, x)
    x = net.add(x, net.conv2d(x, 16, dilation=(2, 1), activation="RELU6"))
    x = net.max_pool(x, (2, 2))
    y = net.add(net.conv2d(net.conv2d(x, 16), 16, (5, 3)), x)
    return net.build(y, net.max_pool(x, (3, 3)))


@needs_gcc
def test_a_sum_in_bands_equals_tflite_micro_in_less_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = cpu_plan(_blocks())
    program = compile_program(plan, "net")
    assert program.fused == ("CONV_2D + ADD",) * 4
    generated = GeneratedC(program, tmp_path)
    generated.check(*samples_and_golden(plan.network))
    monkeypatch.setattr(
        "ethosgen.aot.libraries.helium.banded_sum.convolution_and_sum", lambda *_: None
    )
    apart = compile_program(plan, "net")
    assert not apart.fused
    assert program.arena_bytes < 0.8 * apart.arena_bytes


@needs_qemu
def test_a_sum_in_bands_on_helium(tmp_path: Path) -> None:
    check_firmware(_blocks(), tmp_path)


def test_a_sum_that_saves_no_memory_stays_alone() -> None:
    net = NetworkBuilder("residual", seed=6)
    x = net.conv2d(net.input((1, 9, 9, 64)), 4)
    program = compile_program(cpu_plan(net.build(net.add(x, net.conv2d(x, 4)))), "net")
    assert not program.fused


@needs_gcc
def test_a_sum_never_overwrites_what_the_next_band_convolves(tmp_path: Path) -> None:
    net = NetworkBuilder("residual", seed=6)
    added = net.conv2d(net.input((1, 13, 20, 3)), 16)
    convolved = net.conv2d(net.reshape(added, (1, 13, 20, 16)), 16)  # both share their bytes
    plan = cpu_plan(net.build(net.max_pool(net.add(convolved, added), (2, 2))))
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        assert_equal(generated.run(sample)[1], wanted)
