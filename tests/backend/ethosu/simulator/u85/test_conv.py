"""U85's convolutions: weight formats, kept accumulators, weights that are not constant."""

from collections.abc import Callable

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa_u85 import U85, AccInput, Microblock
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.simulator.u85.operation import U85Convolution, U85Layout
from ethosgen.backend.ethosu.simulator.u85.weights import decode_records
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.assembling import assemble
from tests.support.npu_bench import Program
from tests.support.npu_networks import assert_exact
from tests.support.thin_networks import ThinBuilder, weights_as_input

Build = Callable[[ThinBuilder], int]


def convolutions(data: bytes, npu: str) -> list[U85Convolution]:
    """Compile as assert_exact does, and return the convolutions."""
    plan = offload(parse_network(data, "net"), find_accelerator(npu))
    (partition,) = plan.partitions
    steps = load(stream_of(partition).commands, find_accelerator(npu)).steps
    return [s.operation for s in steps if isinstance(s.operation, U85Convolution)]


@pytest.mark.parametrize(
    ("npu", "depths", "dtype", "kernel", "levels", "sparse", "wanted"),
    [
        ("ethos-u85-1024", (128, 128), "int8", (1, 1), 0, False, (True, False, 1)),
        ("ethos-u85-512", (128, 128), "int8", (1, 1), 16, False, (True, False, 1)),
        ("ethos-u85-2048", (128, 128), "int8", (1, 1), 4, False, (True, False, 1)),
        ("ethos-u85-256", (64, 32), "int8", (3, 3), 0, True, (False, True, 1)),
        ("ethos-u85-1024", (128, 128), "int8", (1, 1), 0, True, (False, True, 4)),
        ("ethos-u85-2048", (32, 64), "int16", (3, 3), 0, True, (False, True, 4)),
    ],
)
def test_weights_of_each_format_are_exact(
    npu: str,
    depths: tuple[int, int],
    dtype: str,
    kernel: tuple[int, int],
    levels: int,
    sparse: bool,
    wanted: tuple[bool, bool, int],
) -> None:
    net = ThinBuilder("thin", seed=1)
    net.levels, net.sparse = levels, sparse
    scale = 0.05 if dtype == "int8" else 0.001
    net.conv2d(net.input((1, 6, 6, depths[0]), dtype, scale), depths[1], kernel)
    data = net.build()
    layouts = [(weights.layout, len(weights.weights)) for weights in convolutions(data, npu)]
    formats = {
        (layout.fast, layout.sparse, n) for layout, n in layouts if isinstance(layout, U85Layout)
    }
    assert formats == {wanted}
    assert_exact(data, (npu,))


def taps(build: Build) -> bytes:
    net = ThinBuilder("taps", seed=1)
    return net.build(build(net))


@pytest.mark.parametrize(
    "data",
    [
        taps(lambda net: net.conv2d(net.input((1, 20, 20, 8)), 12, (5, 5), (4, 4))),
        taps(lambda net: net.depthwise(net.input((1, 20, 20, 8)), (5, 5), (4, 4))),
        taps(lambda net: net.conv2d(net.input((1, 9, 9, 8), "int16", 0.001), 12, (5, 5), (4, 4))),
        weights_as_input("int8"),
        weights_as_input("int16"),
    ],
    ids=["conv", "depthwise", "conv-int16", "given", "given-int16"],
)
def test_accumulators_are_kept_from_tap_to_tap(data: bytes) -> None:
    """Vela splits kernels with a stride of 4, and kernels whose weights are not constant."""
    steps = convolutions(data, "ethos-u85-256")
    assert AccInput.KEEP in {tap.accumulators.source for tap in steps}
    assert_exact(data, ("ethos-u85-256",), samples=1)


def test_a_kernel_can_be_larger_than_on_u55() -> None:
    net = ThinBuilder("large", seed=1)
    net.conv2d(net.input((1, 70, 72, 2)), 3, (66, 66), padding="VALID")
    assert_exact(net.build(), ("ethos-u85-256",), samples=1)


def fault_of(program: Program) -> str:
    return str(load(assemble(program, U85), find_accelerator("ethos-u85-256")).fault)


def test_a_depthwise_convolution_has_no_fast_weights() -> None:
    program: Program = [
        ("NPU_SET_ACC_FORMAT", {"microblock": Microblock.U2X2}),
        ("NPU_SET_WEIGHT_FORMAT", {"weight_format": 1}),
        ("NPU_OP_DEPTHWISE", {}),
    ]
    assert "needs weights in the standard format" in fault_of(program)


def test_a_resize_keeps_the_depth() -> None:
    program: Program = [("NPU_SET_OFM_DEPTH_M1", {"depth_m1": 3}), ("NPU_OP_RESIZE", {})]
    assert "RESIZE cannot have IFM and OFM depths 1 and 4" in fault_of(program)


def test_records_have_biases_of_32_or_48_bits() -> None:
    narrow = bytes.fromhex("ffffffff 010000c0 7f 00") + bytes.fromhex("00000080 ffffff7f 3f 00")
    records = decode_records(narrow, 2, wide=False)
    assert records.bias.tolist() == [-1, -(1 << 31)]
    assert records.scale.tolist() == [0x4000_0001, 0x7FFF_FFFF]
    assert records.shift.tolist() == [63, 63]
    wide = bytes.fromhex("000000000080 ffff 20 00") + bytes.fromhex("ffffffffff7f 0140 00 00")
    records = decode_records(wide, 2, wide=True)
    assert records.bias.tolist() == [-(1 << 47), (1 << 47) - 1]
    assert records.scale.tolist() == [0x7FFF, 0x4001]
    assert records.shift.tolist() == [32, 0]
