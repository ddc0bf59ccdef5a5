"""Packed operators: the C twins on this machine and Helium on QEMU, against TFLite Micro."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.libraries.helium import order
from ethosgen.host.resources import template_folder
from ethosgen.values.extension import Extension
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import (
    GeneratedC,
    assert_equal,
    check_kernels,
    cpu_plan,
    samples_and_golden,
)
from tests.support.catalogue.packed import GROUPS, PLAIN, halves
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("group", GROUPS)
def test_the_twins_equal_tflite_micro(
    group: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(*(build(net) for build in GROUPS[group].values())))
    check_kernels(plan, tmp_path, r"  ethosgen_", flags=["-fsanitize=shift"])
    assert "runtime error" not in capfd.readouterr().err


@pytest.mark.usefixtures("even_if_dearer")
def test_the_layers_call_each_form_of_a_kernel() -> None:
    calls = ""
    for group in GROUPS.values():
        net = NetworkBuilder("network", seed=8)
        data = net.build(*(build(net) for build in group.values()))
        calls += compile_program(cpu_plan(data), "net").sources["net_graph.c"]
    header = template_folder("kernels").joinpath("ethosgen_kernels.h").read_text()
    forms = {
        f"ethosgen_depthwise_{form}_s8"
        for form in re.findall(r"^ETHOSGEN_DEPTHWISE\((\w+)\);", header, re.MULTILINE)
    }
    kinds = "depthwise_in_place|limit|convolution|matrix(?!_parts)|row"
    forms |= set(re.findall(rf"^void (ethosgen_(?:{kinds})\w*_s8)\(int8_t", header, re.MULTILINE))
    assert len(forms) > 20
    assert forms <= set(re.findall(r"ethosgen_\w+(?=\()", calls))


@pytest.mark.parametrize("case", PLAIN)
def test_what_has_no_packed_form_is_left_to_tvm(case: str) -> None:
    net = NetworkBuilder("network", seed=8)
    program = compile_program(cpu_plan(net.build(PLAIN[case](net))), "net")
    assert set(program.sources) == {"net_graph.c", "net_graph.h"}


@pytest.mark.parametrize("extension", Extension)
def test_forms_for_helium_alone_are_not_for_other_processors(extension: Extension) -> None:
    net = NetworkBuilder("network", seed=8)
    x = net.input((1, 40), scale=0.02)
    steps = net.input((1, 2, 9), scale=0.02)
    plan = cpu_plan(net.build(svdf(net, x, 13, 9), lstm(net, steps, 7), net.softmax(x)))
    sources = compile_program(replace(plan, extension=extension), "net").sources
    for file in ("ethosgen_svdf.c", "ethosgen_lstm.c"):
        assert (file in sources) == (extension is Extension.HELIUM)
    assert "ethosgen_softmax.c" in sources


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("group", GROUPS)
def test_helium_equals_tflite_micro(group: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    data = net.build(*(build(net) for build in GROUPS[group].values()))
    check_firmware(data, tmp_path, samples=3)


@needs_gcc
def test_negative_halves_on_this_machine(tmp_path: Path) -> None:
    net = NetworkBuilder("halves")
    plan = cpu_plan(net.build(halves(net)))
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network, 1), strict=True):
        assert_equal(generated.run(sample)[1], wanted)


@needs_qemu
def test_negative_halves_on_helium(tmp_path: Path) -> None:
    net = NetworkBuilder("halves")
    check_firmware(net.build(halves(net)), tmp_path, samples=1)


def test_weights_are_packed_as_the_header_says() -> None:
    weights = np.arange(5 * 18).reshape(5, 18).astype(np.int8)
    packed = order.matrix_weights(weights).reshape(2, 2, 4, 16)
    np.testing.assert_array_equal(packed[0, 0, 1], weights[1, :16])
    np.testing.assert_array_equal(packed[0, 1, 3, :2], weights[3, 16:])
    assert not packed[0, 1, :, 2:].any() and not packed[1, :, 1:].any()
    taps = np.arange(3 * 2 * 6).reshape(3, 2, 6).astype(np.int8)
    packed = order.depthwise_weights(taps, height=4).reshape(2, 1, 4, 16)
    columns = packed[1, 0, 1].reshape(4, 4)
    np.testing.assert_array_equal(columns[:3, :2], taps[:, :, 5])
    assert not columns[:, 2:].any() and not columns[3].any() and not packed[1, 0, 2:].any()


def test_scales_are_packed_as_the_header_says() -> None:
    table = np.arange(9 * 3).reshape(9, 3).astype(np.int32)
    matrix = order.matrix_scales(table).reshape(3, 3, 4)
    np.testing.assert_array_equal(matrix[1, 2], table[4:8, 2])


@needs_gcc
def test_elementwise_operators_work_in_place(tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=3)
    x = net.conv2d(net.input((1, 6, 5, 8)), 8)
    y = net.add(net.tanh(x), net.input((8,)))
    plan = cpu_plan(net.build(net.relu(y)))
    program = compile_program(plan, "net")
    placements = [p for p in program.placements if p.tensor not in plan.network.graph.inputs]
    assert program.fused == ("CONV_2D + TANH", "ADD + RELU")
    assert len(placements) == 2 and len({placement.offset for placement in placements}) == 1
    generated = GeneratedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        assert_equal(generated.run(sample)[1], wanted)
