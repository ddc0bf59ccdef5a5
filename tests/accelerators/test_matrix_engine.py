"""The example accelerators/matrix-engine: exact on this machine and on QEMU, and a cheap call."""

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.backend import find_accelerator, load_wrapped
from ethosgen.board import load_board
from ethosgen.flow.costs import Place, cost_of
from ethosgen.flow.planning import PlanSettings, read
from ethosgen.host.resources import resource_folder
from ethosgen.project import open_project
from ethosgen.studies.acceptance import CACHE_FAULT, check_accelerator
from ethosgen.targets import run
from ethosgen.toolchain import build
from ethosgen.values.device import unite
from ethosgen.values.errors import BuildError, DeviceFault, InputError, UnsupportedError
from ethosgen.values.plan import OffloadMode, OffloadOptions, Plan
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.plugins.toy.toy_plugin.adder import HEADER
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.tflite_twins import resnet_8
from tests.support.toy_accelerator import changed, sums_file, write_folder

ENGINE = "matrix-engine"
FOLDER = resource_folder("accelerators") / ENGINE
DIGITS = ROOT / "demo" / "digits_int8.tflite"
MOST_INSTRUCTIONS = 40
"""The most that a call may cost beside the wrapper."""


def load_model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("matrix_engine_model", FOLDER / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rescale_by_hand(value: int, multiplier: int, shift: int) -> int:
    """Return the result of gemmlowp's two roundings, in whole numbers of any size."""
    product = value * (1 << max(shift, 0)) * multiplier
    nudge = 1 << 30 if product >= 0 else 1 - (1 << 30)
    total = product + nudge
    high = total // (1 << 31) if total >= 0 else -(-total // (1 << 31))
    right = max(-shift, 0)
    remainder = high % (1 << right)
    half = ((1 << right) - 1) // 2 + (1 if high < 0 else 0)
    return high // (1 << right) + (1 if remainder > half else 0)


def test_the_model_rounds_twice() -> None:
    model = load_model()
    edges = [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 1 << 20, -(1 << 20), (1 << 31) - 1, -(1 << 31)]
    random = np.random.default_rng(3)
    values = [*edges, *random.integers(-(1 << 24), 1 << 24, 500).tolist()]
    for multiplier in (1 << 30, (1 << 31) - 1, 1_518_500_250):
        for shift in (0, -1, -2, -8, -31):
            got = model.rescale(
                np.array(values, np.int64), np.int64(multiplier), np.int64(shift)
            ).tolist()
            assert got == [rescale_by_hand(value, multiplier, shift) for value in values]


def simulate(path: Path, net: NetworkBuilder, output: int) -> Report:
    path.write_bytes(net.build(output))
    report = flow.simulate(
        path, npu="none", accelerators=(ENGINE,), inputs=Inputs(None, 6, 1), watch=Watch()
    )
    assert report.passed
    assert report.plan.check is not None and not report.plan.check.cases
    assert report.plan.shares[0].operators == 1, "it did not run on the engine"
    return report


CONVS = {
    "one pixel": ((1, 1), (1, 1), "VALID", "NONE"),
    "one pixel, strided": ((1, 1), (2, 2), "VALID", "RELU"),
    "padded": ((3, 3), (1, 1), "SAME", "RELU6"),
    "padded, strided": ((3, 2), (2, 3), "SAME", "NONE"),
    "large kernel": ((7, 9), (2, 1), "SAME", "RELU"),
    "inside": ((2, 4), (1, 2), "VALID", "RELU_N1_TO_1"),
}


@needs_gcc
@pytest.mark.parametrize("kind", CONVS)
@pytest.mark.parametrize("per_channel", [True, False])
def test_convolutions_equal_the_oracle(kind: str, per_channel: bool, tmp_path: Path) -> None:
    kernel, stride, padding, activation = CONVS[kind]
    net = NetworkBuilder("conv", seed=len(kind))
    x = net.input((2, 11, 9, 5))
    y = net.conv2d(
        x, 19, kernel, stride, padding, activation, per_channel=per_channel, bias=per_channel
    )
    simulate(tmp_path / "conv.tflite", net, y)


@needs_gcc
@pytest.mark.parametrize(
    ("scale", "zero_point"), [(0.9, 5), (0.02, -128), (1e-4, 127)], ids=["usual", "edge", "clips"]
)
def test_fully_connected_equals_the_oracle(scale: float, zero_point: int, tmp_path: Path) -> None:
    """The smaller the output's scale, the more elements saturate; at last the shifts are left."""
    net = NetworkBuilder("dense", seed=5)
    x = net.input((3, 70), scale=0.05, zero_point=-7)
    y = net.fully_connected(x, 33, scale=scale, zero_point=zero_point)
    simulate(tmp_path / "dense.tflite", net, y)


@needs_gcc
def test_the_model_in_c_is_the_same(tmp_path: Path) -> None:
    folder = tmp_path / ENGINE
    shutil.copytree(FOLDER, folder)
    toml = folder / "accelerator.toml"
    toml.write_text(changed('"model.py:MatrixEngine"', '"model.c"', toml.read_text()))
    for seed, layer in enumerate(CONVS.values()):
        net = NetworkBuilder("conv", seed=seed)
        y = net.conv2d(net.input((2, 11, 9, 5), scale=0.05), 19, *layer, scale=0.02, zero_point=9)
        path = tmp_path / "conv.tflite"
        path.write_bytes(net.build(y))
        report = flow.simulate(
            path, npu="none", accelerators=(str(folder),), inputs=Inputs(None, 4, 1), watch=Watch()
        )
        assert report.passed and report.plan.shares[0].operators == 1


@needs_gcc
def test_it_refuses_what_the_hardware_lacks(tmp_path: Path) -> None:
    net = NetworkBuilder("dilated", seed=5)
    x = net.input((1, 11, 9, 4))
    path = tmp_path / "dilated.tflite"
    path.write_bytes(net.build(net.conv2d(x, 4, dilation=(2, 2))))
    report = flow.simulate(
        path, npu="none", accelerators=(ENGINE,), inputs=Inputs(None, 2, 0), watch=Watch()
    )
    assert report.passed and report.plan.shares[0].operators == 0
    assert "dilation_h == 1 and dilation_w == 1" in str(report.plan.cpu_operators[0].reason)


@needs_gcc
def test_a_model_that_faults_is_named_on_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "bad-engine"
    shutil.copytree(FOLDER, folder)
    driver = folder / "matrix_engine.c"
    driver.write_text(driver.read_text().replace("matrix_engine;", "bad_engine;"))
    model = folder / "model.py"
    model.write_text(model.read_text().replace("r[A],", "r[A] - 64,"))
    told = r"device 'bad-engine' failed: in \w+ of .*, line \d+ \('\w+'\): it read 0x.*: input '"
    with pytest.raises(DeviceFault, match=told):
        flow.simulate(
            DIGITS, npu="none", accelerators=(str(folder),), inputs=Inputs(None, 1, 0),
            watch=Watch(),
        )  # fmt: skip


FLUSHES = (
    "    ethosgen_device_flush(input, (uint32_t)(layer->batches * input_bytes));\n",
    "    ethosgen_device_flush(output, (uint32_t)(layer->batches * output_bytes));\n}\n",
    "    ethosgen_device_flush(output, (uint32_t)(layer->batches * output_bytes));\n    return",
)
"""The driver's calls for the input, and for the output before the start and at the end."""


@needs_gcc
@pytest.mark.parametrize("flush", [None, *range(len(FLUSHES))])
@pytest.mark.parametrize("how", ["forgotten", "half of it"])
def test_a_check_finds_what_a_driver_does_not_flush(
    flush: int | None, how: str, tmp_path: Path
) -> None:
    folder = tmp_path / ENGINE
    shutil.copytree(FOLDER, folder)
    text = (FOLDER / "matrix_engine.c").read_text()
    if flush is not None:
        line, mark, rest = FLUSHES[flush].partition("\n")
        assert text.count(FLUSHES[flush]) == 1
        less = line.replace("_bytes))", "_bytes) / 2u)") if how == "half of it" else ""
        text = text.replace(FLUSHES[flush], less + mark + rest)
    (folder / "matrix_engine.c").write_text(text)
    results = list(check_accelerator(load_wrapped(str(folder)), 0, Watch()))
    assert all(result.elements for result in results)
    assert all(result.passed for result in results) == (flush is None)
    for result in results:
        assert (CACHE_FAULT in result.notes) == bool(result.findings)


@needs_gcc
def test_a_model_that_drops_one_rounding_is_refused(tmp_path: Path) -> None:
    """It concerns negative sums alone, which kws has in its last layer alone."""
    folder = shutil.copytree(FOLDER, tmp_path / ENGINE)
    model = folder / "model.py"
    right = "high = np.where(total >= 0, total >> 31, -(-total >> 31))"
    assert model.read_text().count(right) == 1
    model.write_text(model.read_text().replace(right, "high = total >> 31"))
    with pytest.raises(UnsupportedError, match=r"FULLY_CONNECTED .* incorrectly: .* by at most 1;"):
        flow.simulate(
            ROOT / "demo" / "kws_int8.tflite",
            npu="none",
            accelerators=(str(folder),),
            inputs=Inputs(None, 1, 1),
            watch=Watch(),
        )


@pytest.mark.slow
@needs_gcc
@needs_qemu
@pytest.mark.parametrize("npu", ["none", "ethos-u55-32"])
def test_it_runs_alone_and_beside_an_npu(npu: str) -> None:
    options = OffloadOptions(mode=OffloadMode.AUTO)
    recipe = Recipe((DIGITS,), "corstone300", npu, options=options, accelerators=(ENGINE,))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 5, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators >= 3
    assert (report.plan.npu_operators or 0) >= (4 if npu != "none" else 0)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_a_call_costs_few_instructions(tmp_path: Path) -> None:
    """Count them with a wrapper that returns at once: all but its two are the call's."""
    net = NetworkBuilder("dense", seed=5)
    path = tmp_path / "dense.tflite"
    path.write_bytes(net.build(net.fully_connected(net.input((1, 16)), 16)))
    recipe = Recipe((path,), "corstone300", "none", accelerators=(ENGINE,))
    place = tmp_path / "p"
    flow.create_project(recipe, directory=place, watch=Watch())
    driver = place / "model" / ENGINE / "matrix_engine.c"
    text = driver.read_text()
    start = "    int32_t status = ETHOSGEN_OK;\n\n    if (engine->base_addr == 0)"
    assert text.count(start) == 1
    driver.write_text(text.replace(start, f"    return 0;\n{start}"))
    info = open_project(place)
    (device,) = load_wrapped(ENGINE).devices
    assert device is not None
    known = replace(info, devices=unite([device]))
    sample = {t.name: np.zeros(t.shape, t.dtype) for t in info.network.inputs}
    outcome = run(build(place, "qemu", {}).elf, known, [sample] * 4, attach=None)
    counts = [sample.cpu_instructions or 0 for sample in outcome.samples]
    assert 0 < max(counts) <= MOST_INSTRUCTIONS, counts


SOFTWARE = """
#ifdef ETHOSGEN_SOFTWARE_MODEL
#include "soft_adder.h"
int32_t soft_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int total = a[i] + b[i];
        sum[i] = (int8_t)(total > 127 ? 127 : total < -128 ? -128 : total);
    }
    return 0;
}
#else
#error "this is for the board"
#endif
"""


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_a_device_without_a_model_computes_in_software(tmp_path: Path) -> None:
    toml = changed('kind = "device"', 'kind = "device"\ndevice = { registers = 0x10 }')
    folder = write_folder(
        tmp_path / "soft-adder",
        toml.replace("toy_add.", "soft_adder.").replace('"toy_add"', '"soft_add"'),
    )
    header = HEADER.replace("toy_add", "soft_add")
    (folder / "soft_adder.h").write_text(f"#pragma once\n{header}")
    (folder / "soft_adder.c").write_text(SOFTWARE)
    recipe = Recipe(
        (sums_file(tmp_path / "sums.tflite"),), "corstone300", "none", accelerators=(str(folder),)
    )
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 3, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 2
    place = tmp_path / "p"
    flow.create_project(recipe, directory=place, watch=Watch())
    with pytest.raises(BuildError, match=r"this is for the board|address of soft-adder"):
        build(place, "board", {})


@needs_gcc
@pytest.mark.parametrize("board", ["mps2-an386", "mps2-an505", "qemu-cortex-m3"])
def test_boards_on_which_qemu_attaches_no_model_are_refused(tmp_path: Path, board: str) -> None:
    begun: list[str] = []
    watch = Watch(begun.append)

    def requested(folder: Path) -> Recipe:
        return recipe(DIGITS, board=board, npu="none", accelerators=(str(folder),))

    place = tmp_path / "project"
    with pytest.raises(InputError, match=r"address of device 'matrix-engine' .*: use one of these"):
        flow.create_project(requested(FOLDER), directory=place, watch=watch)
    assert not place.exists()
    placed = Path(shutil.copytree(FOLDER, tmp_path / ENGINE))
    facts = placed / "accelerator.toml"
    facts.write_text(facts.read_text().replace("corstone300]", f"{board}]").replace("57", "30"))
    cannot = rf"on {board}: use one of corstone300.* --on serial"
    with pytest.raises(InputError, match=cannot):
        flow.verify(requested(placed), flow.RunOptions(Inputs(None, 1, 0)), watch=watch)
    assert not begun  # not even the network has been read
    flow.create_project(requested(placed), directory=place, watch=Watch())
    with pytest.raises(InputError, match=cannot):
        flow.build_project(place, on="qemu", watch=watch)
    assert not (place / "build").exists()
    with pytest.raises(InputError, match=cannot):
        flow.run_project(place, flow.RunOptions(Inputs(None, 1, 0)), watch=watch)
    assert flow.build_project(place, watch=Watch()).on == "serial"  # what run does not refuse


def _cycles(path: Path, npu: str, *accelerators: str) -> tuple[int, Plan]:
    """Return the estimate of a network on a board with `--offload auto`, and its plan."""
    network, board = read(path, None, Watch()), load_board("corstone300")
    accelerator = None if npu == "none" else find_accelerator(npu)
    mode = board.choose_memory_mode(None, accelerator)
    options = OffloadOptions(check=False, mode=OffloadMode.AUTO)
    wrapped = [load_wrapped(name) for name in accelerators]
    settings = PlanSettings(accelerator, options, wrapped=wrapped).on(board, mode)
    place = Place(network, board, mode, settings)
    program = place.compiled(Watch())
    return cost_of(program, place).cycles, program.plan


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("resnet") / "resnet8.tflite"
    path.write_bytes(resnet_8(softmax=True))
    return path


def test_three_backends_share_a_network_below_the_best_alone(resnet: Path) -> None:
    together, plan = _cycles(resnet, "ethos-u55-128", ENGINE)
    backends = {placing.on for placing in plan.placings}
    assert {"ethos-u55-128", ENGINE, "cpu"} <= backends
    alone = [_cycles(resnet, "ethos-u55-128"), _cycles(resnet, "none", ENGINE)]
    assert together < 0.9 * min(cycles for cycles, _ in alone)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_what_three_backends_share_equals_tflite_micro(resnet: Path) -> None:
    options = OffloadOptions(mode=OffloadMode.AUTO)
    asked = Recipe(
        (resnet,), "corstone300", "ethos-u55-128", options=options, accelerators=(ENGINE,)
    )
    report = flow.verify(asked, flow.RunOptions(Inputs(None, 3, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    headline = report.headline
    assert headline.latency is not None and list(headline.latency.devices) == [ENGINE]
