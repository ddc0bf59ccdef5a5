"""Chains, packed weights, arrays, paddings, scratch and a wait: a convolution in C, exact."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.conv_accelerator import TOML, write_conv_folder
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import changed

DIGITS = ROOT / "demo" / "digits_int8.tflite"
FAST = changed("input_channels / 4", "input_channels / 400", TOML)


@pytest.fixture
def conv(tmp_path: Path) -> Path:
    return write_conv_folder(tmp_path / "conv")


def run(model: Path, *folders: Path, npu: str = "none", **options: object) -> Report:
    wanted = OffloadOptions(**options)  # type: ignore[arg-type]
    names, inputs = tuple(map(str, folders)), Inputs(None, 8, 0)
    return flow.simulate(
        model, npu=npu, accelerators=names, inputs=inputs, options=wanted, watch=Watch()
    )


def chain_file(path: Path, *, pad: bool, clamp: bool, activation: str, per_channel: bool) -> Path:
    net = NetworkBuilder("chain", seed=7)
    x = net.input((1, 9, 7, 5))
    if pad:
        x = net.pad(x, [(0, 0), (1, 2), (2, 0), (0, 0)])
    padding = "VALID" if pad else "SAME"
    x = net.conv2d(x, 6, (3, 2), (2, 2), padding, activation, bias=clamp, per_channel=per_channel)
    if clamp:
        (x,) = net.operator("RELU6", [x], [net.like(x)])
    path.write_bytes(net.build(x))
    return path


@needs_gcc
@pytest.mark.parametrize(
    ("pad", "clamp", "activation", "per_channel", "operators"),
    [
        (False, False, "NONE", True, 1),
        (True, False, "RELU", False, 2),
        (False, True, "NONE", True, 2),
        (True, True, "RELU", True, 3),
    ],
)
def test_a_chain_is_one_exact_call(
    conv: Path,
    tmp_path: Path,
    pad: bool,
    clamp: bool,
    activation: str,
    per_channel: bool,
    operators: int,
) -> None:
    model = chain_file(
        tmp_path / "chain.tflite",
        pad=pad,
        clamp=clamp,
        activation=activation,
        per_channel=per_channel,
    )
    report = run(model, conv, trust_compiler=True, optimize=False)  # the optimizer joins a RELU
    assert report.passed
    (share,) = report.plan.shares
    assert (share.partitions, share.operators) == (1, operators)
    assert not report.plan.cpu_operators


@needs_gcc
def test_a_pad_that_is_refused_stays_behind(tmp_path: Path) -> None:
    toml = changed("input_channels == weights_channels", "pad_top + pad_left == 0", TOML)
    model = chain_file(
        tmp_path / "chain.tflite", pad=True, clamp=False, activation="NONE", per_channel=True
    )
    report = run(model, write_conv_folder(tmp_path / "conv", toml), trust_compiler=True)
    assert report.passed
    assert [share.operators for share in report.plan.shares] == [1]
    assert [cpu.code for cpu in report.plan.cpu_operators] == ["PAD"]


@needs_gcc
def test_a_tensor_that_others_read_ends_a_chain(conv: Path, tmp_path: Path) -> None:
    net = NetworkBuilder("fork", seed=7)
    x = net.conv2d(net.input((1, 6, 6, 4)), 4)
    (y,) = net.operator("RELU6", [x], [net.like(x)])
    model = tmp_path / "fork.tflite"
    model.write_bytes(net.build(x, y))
    report = run(model, conv)
    assert report.passed
    assert report.plan.shares[0].operators == 1
    assert [cpu.code for cpu in report.plan.cpu_operators] == ["RELU6"]


@needs_gcc
def test_auto_uses_whatever_is_the_cheapest(tmp_path: Path) -> None:
    fast = write_conv_folder(tmp_path / "fast", FAST)
    slow = write_conv_folder(tmp_path / "slow")
    report = run(DIGITS, slow, fast, npu="ethos-u55-128", mode=OffloadMode.AUTO)
    assert report.passed
    by_code = {(placing.code, placing.on) for placing in report.plan.placings}
    assert ("CONV_2D", "fast") in by_code and ("MAX_POOL_2D", "ethos-u55-128") in by_code
    for placing in report.plan.placings:
        costs = {o.backend: o.cycles + o.start for o in placing.offers if o.cycles is not None}
        if placing.code == "CONV_2D":
            assert costs[placing.on] == min(costs.values())
    everything = run(DIGITS, slow, fast, npu="ethos-u55-128")
    assert [share.operators for share in everything.plan.shares] == [0, 0]  # the NPU comes first


@pytest.mark.slow
@needs_gcc
@needs_qemu
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
def test_it_runs_on_qemu_beside_the_npu(tmp_path: Path, npu: str) -> None:
    fast = write_conv_folder(tmp_path / "fast", FAST)
    options = OffloadOptions(mode=OffloadMode.AUTO)
    recipe = Recipe((DIGITS,), "corstone300", npu, options=options, accelerators=(str(fast),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 3, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 3
