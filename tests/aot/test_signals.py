"""TFLite Micro's signal library against TFLite Micro: each operator, and a front end with state."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from ethosgen import flow
from ethosgen.aot import compile_program, make_evaluator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.aot.libraries.firmware import check_firmware
from tests.support import signal_networks as signals
from tests.support.aot_harness import ACCELERATOR, GeneratedC, assert_equal, cpu_plan
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder, Spec
from tests.support.recipes import recipe

Array = np.ndarray[Any, Any]


def check(network: Network, samples: Sequence[dict[str, Array]], folder: Path) -> None:
    """Compare C with TFLite Micro over a sequence, twice with a reset between."""
    golden = golden_outputs(network, samples)
    generated = GeneratedC(compile_program(cpu_plan(network), "net"), folder)
    for _ in range(2):
        generated.check(samples, golden)
        generated.reset()


def check_llvm(network: Network, samples: Sequence[dict[str, Array]]) -> None:
    """Compare what runs on this machine with TFLite Micro over a sequence."""
    plan, golden = cpu_plan(network), golden_outputs(network, samples)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, lambda *_: {}), wanted)


@needs_gcc
@pytest.mark.parametrize("name", signals.SIGNALS)
def test_equals_tflite_micro(name: str, tmp_path: Path) -> None:
    """Floats too: the order of operations is the same, and nothing is fused."""
    network = signals.network_of(signals.SIGNALS[name])
    check(network, signals.samples_of(network, 6), tmp_path)


@pytest.mark.slow
def test_llvm_equals_tflite_micro() -> None:
    network = signals.all_of_them(by_fours=())
    check_llvm(network, signals.samples_of(network, 6))


@needs_gcc
def test_a_front_end_keeps_its_noise_estimate(tmp_path: Path) -> None:
    network = signals.front_end()
    program = compile_program(cpu_plan(network), "net")
    assert program.state_bytes == 4 * 40
    check(network, _sound(12), tmp_path)
    check_llvm(network, _sound(12))


def _sound(count: int) -> list[dict[str, Array]]:
    """Return tones that rise and grow louder, and silence between."""
    time, random = np.arange(480), np.random.default_rng(1)
    waves = [
        (10.0 ** (i % 5) * np.sin(time * 0.02 * (i + 1)) + random.normal(0, 3, 480)) * (i % 4 > 0)
        for i in range(count)
    ]
    return [{"audio": wave.astype(np.int16).reshape(1, 480)} for wave in waves]


@needs_qemu
@pytest.mark.parametrize("npu", ["ethos-u55-128", "none"])
def test_a_front_end_runs_as_firmware(npu: str, tmp_path: Path) -> None:
    """Vela leaves it to the CPU; the samples are a sequence."""
    path = tmp_path / "front_end.tflite"
    path.write_bytes(file_of(signals.front_end(60, 64, 9)))
    inputs = Inputs(None, 3, 9)
    report = flow.verify(recipe(path, npu=npu), flow.RunOptions(inputs), watch=Watch())
    assert report.passed and report.golden is not None and report.golden.elements == 3 * 9


@needs_qemu
def test_the_kernels_run_on_helium(tmp_path: Path) -> None:
    check_firmware(file_of(signals.all_of_them()), tmp_path)


def test_the_npu_gets_what_follows(tmp_path: Path) -> None:
    net = NetworkBuilder("features", seed=4)
    x = signals.window(net, signals.plain(net, (1, 64), "int16"), 64, 12)
    (x,) = net.operator("CAST", [x], [Spec((1, 64), "int8", 0.05, 3)])
    reshaped = net.operator("RESHAPE", [x], [Spec((1, 8, 8, 1), "int8", 0.05, 3)])
    network = parse_network(net.build(net.conv2d(reshaped[0], 4)), "features")
    plan = offload(network, ACCELERATOR)
    assert len(plan.partitions) == 1
    assert {op.custom_code for op in plan.residual.operators} >= {"SignalWindow", "ethos-u"}


@needs_gcc
def test_wide_numbers_are_inputs_outputs_and_constants(tmp_path: Path) -> None:
    net = NetworkBuilder("wide", seed=3)
    edges = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
    x = signals.plain(net, (6,), "uint64")
    bits = net.constant(np.array(2), "int32")
    roots = [signals.square_root(net, v, bits) for v in (net.constant(edges), x)]
    (again,) = net.operator("RESHAPE", [x, net.constant([2, 3], "int32")], [Spec((2, 3), "uint64")])
    network = parse_network(net.build(*roots, x, again), "wide")
    check(network, [{"input_0": edges}], tmp_path)
    assert compile_program(cpu_plan(network, IoStyle.CALLER), "net").outputs


@needs_gcc
def test_square_roots_are_rounded_everywhere(tmp_path: Path) -> None:
    """Around squares, and half way between them, of every number of bits."""
    random = np.random.default_rng(2)
    roots = [int(random.integers(1 << n, 2 << n)) for n in range(32) for _ in range(40)]
    roots += [(1 << n) - 1 for n in range(1, 33)]
    numbers = [r * r + d for r in roots for d in (-1, 0, 1, r - 1, r, r + 1, 2 * r)]
    edges = np.array([n for n in numbers if n < 1 << 64], np.uint64)
    net = NetworkBuilder("roots", seed=3)
    x = signals.plain(net, edges.shape, "uint64")
    computed = signals.square_root(net, x, net.constant(np.array(0), "int32"))
    check(parse_network(net.build(computed), "roots"), [{"input_0": edges}], tmp_path)


@needs_gcc
def test_bins_that_are_not_asked_for_are_0(tmp_path: Path) -> None:
    """TFLite Micro leaves there what was in memory."""
    net = NetworkBuilder("energy", seed=3)
    x = signals.plain(net, (20,), "int16")
    network = parse_network(net.build(signals.energy(net, x, 3, 7)), "energy")
    (sample,) = random_samples(network, 1, 5)
    (golden,) = golden_outputs(network, [sample])
    status, outputs = GeneratedC(compile_program(cpu_plan(network), "net"), tmp_path).run(sample)
    ((name, energies),) = outputs.items()
    assert status == 0
    np.testing.assert_array_equal(energies[3:7], golden[name][3:7])
    assert not energies[:3].any() and not energies[7:].any()


# ---- refusals ------------------------------------------------------------------------------------

Refused = tuple[str, list[tuple[tuple[int, ...], str]], list[Spec], dict[str, Any], str]

REFUSED: dict[str, Refused] = {
    "a factor of 7": (
        "SignalRfft", [((28,), "int16")], [Spec((30,), "int16")], {"T": 7, "fft_length": 28},
        "TFLite Micro crashes: half of it must be a product of 2, 3 and 5",
    ),
    "an odd length": (
        "SignalIrfft", [((11,), "int16")], [Spec((9,), "int16")], {"T": 7, "fft_length": 9},
        "is 9, which is odd",
    ),
    "another type": (
        "SignalRfft", [((8,), "int16")], [Spec((10,), "int16")], {"T": 2, "fft_length": 8},
        "T is not the type",
    ),
    "more samples than a transform takes": (
        "SignalRfft", [((9,), "int32")], [Spec((10,), "int32")], {"T": 2, "fft_length": 8},
        "do not fit its fft_length 8",
    ),
    "a missing option": (
        "SignalRfft", [((8,), "int16")], [Spec((10,), "int16")], {"fft_length": 8},
        "fft_length instead of T, fft_length",
    ),
    "a text": (
        "SignalWindow", [((8,), "int16"), ((8,), "int16")], [Spec((8,), "int16")], {"shift": "2"},
        "shift is '2' instead of an integer from 0 to 31",
    ),
    "an end behind the last bin": (
        "SignalEnergy", [((8,), "int16")], [Spec((4,), "uint32")],
        {"start_index": 0, "end_index": 5}, "end_index is 5 instead",
    ),
    "a window that does not fit": (
        "SignalWindow", [((9,), "int16"), ((8,), "int16")], [Spec((9,), "int16")], {"shift": 2},
        "not a multiple of the window of 8",
    ),
    "too few gains": (
        "SignalPCAN", [((8,), "uint32"), ((8,), "uint32"), ((9,), "int16")],
        [Spec((8,), "uint32")], {"snr_shift": 2}, r"int16 \[9\] instead of int16 \[125\]",
    ),
    "channels that differ": (
        "SignalFilterBankSpectralSubtraction", [((8,), "uint32")], [Spec((8,), "uint32")] * 2,
        {"alternate_one_minus_smoothing": 1, "alternate_smoothing": 1, "clamping": True,
         "min_signal_remaining": 1, "num_channels": 9, "one_minus_smoothing": 1, "smoothing": 1,
         "smoothing_bits": 1, "spectral_subtraction_bits": 1},
        r"\[8\] instead of uint32 \[9\]",
    ),
    "one output": (
        "SignalFftAutoScale", [((8,), "int16")], [Spec((8,), "int16")], {},
        "1 input and 1 output instead of 1 and 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_named(name: str) -> None:
    code, inputs, outputs, options, words = REFUSED[name]
    net = NetworkBuilder("signal", seed=1)
    tensors = [signals.plain(net, *spec) for spec in inputs]
    results = signals.make(net, code, tensors, [dataclasses.replace(s) for s in outputs], **options)
    with pytest.raises(UnsupportedError, match=rf"operator 1 of 1, {code} .*{words}"):
        compile_program(cpu_plan(net.build(*results)), "net")


def test_bands_out_of_bounds_are_named() -> None:
    for widths, words in (
        ([2, 9, 1], "the bounds of 'energies'"),
        ([2, 1], "3 are needed"),
    ):
        net = NetworkBuilder("signal", seed=1)
        x = signals.plain(net, (8,), "uint32", "energies")
        bands = [net.constant(v, "int16") for v in (np.ones(20), np.ones(20), [0, 2, 3], [0, 2, 3])]
        inputs = [x, *bands, net.constant(widths, "int16")]
        results = signals.make(
            net, "SignalFilterBank", inputs, [Spec((2,), "uint64")], num_channels=2
        )
        with pytest.raises(UnsupportedError, match=words):
            compile_program(cpu_plan(net.build(*results)), "net")


@pytest.mark.parametrize("length", range(1, 40, 3))
def test_damaged_options_are_refused(length: int) -> None:
    options = bytes(flexbuffers.Dumps({"T": 7, "fft_length": 8}))
    for damaged in (options[:length], options[:length] + b"\xff" + options[length + 1 :]):
        net = NetworkBuilder("signal", seed=1)
        x = signals.plain(net, (8,), "int16")
        (x,) = net.operator(
            "CUSTOM", [x], [Spec((10,), "int16")], custom_code="SignalRfft", custom_options=damaged
        )
        if damaged[: len(options)] != options:
            with pytest.raises((InputError, UnsupportedError)):
                compile_program(cpu_plan(net.build(x)), "net")
