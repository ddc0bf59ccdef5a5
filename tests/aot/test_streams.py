"""Operators on streams of samples against TFLite Micro, over several inferences and a reset."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.tir.nest import NOT_READY
from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.support.aot_harness import ACCELERATOR, GeneratedC, assert_equal, cpu_plan
from tests.support.arena_npu import check_program
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec
from tests.support.signal_networks import make
from tests.support.stream_networks import STREAMS, framers, network_of, waiting


@needs_gcc
@pytest.mark.parametrize("name", STREAMS)
def test_equals_tflite_micro(name: str, tmp_path: Path) -> None:
    """Outputs that are reported as invalid are uninitialized in TFLite Micro, and 0 here."""
    network = network_of(STREAMS[name])
    samples = random_samples(network, 6, seed=3)
    golden = golden_outputs(network, samples)
    plan = cpu_plan(network)
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    for _ in range(2):
        for sample, wanted in zip(samples, golden, strict=True):
            outputs = generated.outputs(sample)
            assert_equal(outputs, _settled(network, wanted, outputs))
        generated.reset()
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        outputs = evaluate(sample, lambda *_: {})
        assert_equal(outputs, _settled(network, wanted, outputs))


def _settled(network: Network, wanted: Arrays, outputs: Arrays) -> Arrays:
    """Return the golden outputs with what an invalid one must be: all 0, or whole frames of 0."""
    settled, tensors = dict(wanted), network.graph.tensors
    for operator in network.graph.operators:
        if len(operator.outputs) == 2:
            data, valid = (tensors[i].name for i in operator.outputs)
            if not wanted[valid].item():
                frames = outputs[data].reshape(-1, outputs[data].shape[-1])
                missing = ~frames.any(axis=1)
                assert missing.any()
                frames = wanted[data].reshape(frames.shape).copy()
                frames[missing] = 0
                settled[data] = frames.reshape(wanted[data].shape)
    return settled


@needs_gcc
def test_a_circular_buffer_keeps_what_the_npu_made(tmp_path: Path) -> None:
    """Vela takes its output for a variable of the network."""
    net = NetworkBuilder("stream", 3)
    x = net.conv2d(net.input((1, 1, 8, 4), "int8", 0.1, -7), channels=6, kernel=(1, 3))
    source = net.tensors[x]
    kept = Spec((1, 5, 8, 6), "int8", source.scale, source.zero_point, is_variable=True)
    (x,) = make(net, "CIRCULAR_BUFFER", [x], [kept], cycles_max=1)
    network = parse_network(net.build(net.conv2d(x, channels=5, kernel=(5, 3))), "stream")
    plan = offload(network, ACCELERATOR)
    assert len(plan.partitions) == 2
    assert check_program(plan, tmp_path).state_bytes == 5 * 8 * 6


@needs_gcc
def test_an_inference_ends_where_a_circular_buffer_waits(tmp_path: Path) -> None:
    network = network_of(waiting)
    samples, plan = random_samples(network, 13, seed=3), cpu_plan(network)
    golden = golden_outputs(network, samples)
    assert [bool(wanted) for wanted in golden] == [n % 6 == 5 for n in range(13)]
    program = compile_program(plan, "net")
    assert program.may_wait
    generated = GeneratedC(program, tmp_path)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        status, outputs = generated.run(sample)
        assert status == (0 if wanted else NOT_READY)
        assert_equal(evaluate(sample, lambda *_: {}), wanted)
        if wanted:
            assert_equal(outputs, wanted)


REFUSED: dict[str, tuple[str, tuple[int, ...], list[Spec], dict[str, Any], str]] = {
    "a step that does not fit": (
        "SignalFramer", (7,), [Spec((3, 8), "int16"), Spec((), "bool")],
        {"frame_size": 8, "frame_step": 2, "prefill": True}, "do not fit signals of 7",
    ),
    "another shape": (
        "SignalDelay", (7,), [Spec((8,), "int16")], {"delay_length": 3}, "require 7 of int16",
    ),
    "a missing option": (
        "SignalDelay", (7,), [Spec((7,), "int16")], {}, "none instead of delay_length",
    ),
    "a stack that leaves gaps": (
        "SignalStacker", (2,), [Spec((2,), "int16"), Spec((), "bool")],
        {"num_channels": 2, "stacker_left_context": 0, "stacker_right_context": 0,
         "stacker_step": 2}, "moved by 2, does not fit",
    ),
    "one dimension": (
        "SignalOverlapAdd", (7,), [Spec((3,), "int16")], {"T": 7, "frame_step": 3}, "does not fit",
    ),
    "one output": (
        "SignalFramer", (8,), [Spec((1, 8), "int16")],
        {"frame_size": 8, "frame_step": 8, "prefill": True}, "one input and 2 outputs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_named(name: str) -> None:
    code, shape, outputs, options, words = REFUSED[name]
    net = NetworkBuilder("refused", 1)
    x = net.input(shape, "int16", None, 0)
    network = parse_network(net.build(*make(net, code, [x], outputs, **options)), "net")
    with pytest.raises(UnsupportedError, match=words):
        compile_program(cpu_plan(network), "net")


def test_options_that_are_no_map_are_damage() -> None:
    net = NetworkBuilder("refused", 1)
    results = net.operator(
        "CUSTOM", [net.input((4,), "int16", None, 0)], [Spec((4,), "int16")],
        custom_code="SignalDelay", custom_options=bytes(flexbuffers.Dumps([3])),
    )  # fmt: skip
    with pytest.raises(InputError, match="not a map"):
        parse_network(net.build(*results), "net")


def test_the_state_is_as_small_as_can_be() -> None:
    """TFLite Micro takes twice the frame, and pointers."""
    network = network_of(lambda net: framers(net, [(7, 4, 3, True)]))
    program = compile_program(cpu_plan(network), "net")
    assert program.state_bytes == 2 * 3 * np.dtype(np.int16).itemsize
