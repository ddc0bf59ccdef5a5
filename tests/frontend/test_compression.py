"""Networks that TFLite Micro's tool compressed: the values that it decodes, Vela, damage."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.commands.wording import plan_lines
from ethosgen.frontend.tflite.reader import decode_network, parse_network
from ethosgen.oracle import LITERT
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support import compressed_networks
from tests.support.networks import NetworkBuilder, Spec

WAYS: dict[str, Callable[[NetworkBuilder], list[int]]] = {
    "tables": compressed_networks.tables,
    "masks": compressed_networks.masks,
    "Huffman": compressed_networks.codewords,
}


def network_of(build: Callable[[NetworkBuilder], list[int]]) -> bytes:
    """Return a network that gives out what it decodes, and runs one operator beside."""
    net = NetworkBuilder("decoded", 4)
    done = net.unary("RELU", net.input((1, 4)))
    return net.build(done, *build(net))


@pytest.mark.parametrize("name", WAYS)
def test_values_are_those_that_tflite_micro_decodes(name: str) -> None:
    network = parse_network(network_of(WAYS[name]), "decoded")
    assert [op.code for op in network.graph.operators] == ["RELU"]
    (golden,) = golden_outputs(network, random_samples(network, 1, 1))
    for tensor in network.outputs[1:]:
        np.testing.assert_array_equal(tensor.array(), golden[tensor.name], err_msg=tensor.name)


def compressed_by_the_tool() -> tuple[Network, Network]:
    """Return a network of two layers, and the same as TFLite Micro's tool compresses it."""
    from tflite_micro.tensorflow.lite.micro import compression

    net, specs = NetworkBuilder("layers", 3), compression.SpecBuilder()
    x = net.conv2d(net.input((1, 8, 8, 4)), channels=6, kernel=(3, 3), activation="RELU")
    x = net.conv2d(x, channels=8, kernel=(3, 3))
    for index, tensor in enumerate(net.tensors):
        if tensor.dtype == "int8" and tensor.data is not None:
            few = np.frombuffer(tensor.data, np.int8) // 40 * 40
            net.tensors[index] = dataclasses.replace(tensor, data=few.tobytes())
            axis = compression.spec.PerChannel(0)
            specs.add_tensor(0, index).with_lut(3, axis)
    data = net.build(x)
    packed = bytes(compression.compress(data, specs.build()))
    assert b"TFLM_DECODE" in packed
    return parse_network(data, "layers"), parse_network(packed, "packed")


def test_vela_gets_layers_that_the_tool_compressed() -> None:
    plain, packed = compressed_by_the_tool()
    plan = offload(packed, find_accelerator("ethos-u55-128"))
    assert len(plan.partitions) == 1 and not plan.cpu_operators
    (sample,) = random_samples(packed, 1, 1)
    (golden,) = golden_outputs(packed, [sample])  # TFLite Micro decodes it itself
    runner = PartitionRunner(plan)
    outputs = runner(plan.partitions[0], sample)
    (output,) = golden
    np.testing.assert_array_equal(next(iter(outputs.values())), golden[output])
    (theirs,) = LITERT.run(packed, [sample])
    np.testing.assert_array_equal(theirs[output], golden[output])
    wanted = [t.data for t in plain.graph.tensors if t.dtype == "int8" and t.data]
    assert set(wanted) <= {t.data for t in packed.graph.tensors}


def test_what_decoding_costs_is_told() -> None:
    _, packed = compressed_by_the_tool()
    summary = plan_cpu_only(packed, IoStyle.ARENA).summary()
    assert summary.decompressed is not None
    told = dict(summary.decompressed)
    assert told["constants"] == 2 and told["bytes_after"] == 6 * 36 + 8 * 54
    assert 0 < told["bytes_before"] < told["bytes_after"]
    assert f"instead of {told['bytes_before']} B" in "\n".join(plan_lines(summary, verbose=True))


def file(encoded: tuple[bytes, ...], output: Spec) -> bytes:
    return network_of(lambda net: [compressed_networks.add(net, encoded, output)])


GOOD = compressed_networks.looked_up(np.arange(8, dtype=np.int8), 3)
OUTPUT = Spec((8,), "int8")
REFUSED: dict[str, tuple[bytes, type[InputError], str]] = {
    "too few indices": (file((GOOD[0][:2], GOOD[1]), OUTPUT), InputError, "truncated"),
    "too short a table": (file((GOOD[0], GOOD[1][:-1]), OUTPUT), InputError, "points outside"),
    "no metadata": (file((GOOD[0], GOOD[1][:9]), OUTPUT), InputError, "metadata"),
    "another version": (file((GOOD[0], b"\0\2" + GOOD[1][2:]), OUTPUT), InputError, "metadata"),
    "custom compression": (
        file((GOOD[0], b"\xc8" + GOOD[1][1:]), OUTPUT), UnsupportedError, "custom .*\\(200",
    ),
    "an unknown way": (file((GOOD[0], b"\5" + GOOD[1][1:]), OUTPUT), UnsupportedError, "sion 5"),
    "a type without code": (file(GOOD, Spec((8,), "uint8")), UnsupportedError, "is uint8"),
    "endless codewords": (
        file((bytes(8), compressed_networks.metadata(1, 0) + bytes(8)), OUTPUT), InputError, "trunc"
    ),
    "an axis between": (
        file(GOOD, Spec((2, 2, 2), "int8", (0.1, 0.1), (0, 0), 1)), UnsupportedError, "axis 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_decoded_is_named(name: str) -> None:
    data, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        parse_network(data, "damaged")


def test_only_constants_are_decoded() -> None:
    net = NetworkBuilder("decoded", 4)
    x = net.input((3,), "uint8", None, 0)
    table = net.constant(np.frombuffer(GOOD[1], np.uint8))
    decoded = net.operator("CUSTOM", [x, table], [OUTPUT], custom_code="TFLM_DECODE")
    with pytest.raises(InputError, match="not constant"):
        parse_network(net.build(*decoded), "decoded")


def test_any_damaged_byte_is_a_sentence_or_another_network() -> None:
    data, random = bytearray(network_of(WAYS["tables"])), np.random.default_rng(1)
    for place, byte in zip(random.integers(8, len(data), 150), random.bytes(150), strict=True):
        damaged = bytes([*data[:place], byte, *data[place + 1 :]])
        try:
            parse_network(damaged, "damaged")
        except InputError:
            continue


def test_other_tensors_stay_as_they_were() -> None:
    data = network_of(WAYS["masks"])
    before, after = decode_network(data, "net").graph, parse_network(data, "net").graph
    assert [(t.name, t.shape, t.dtype) for t in before.tensors] == [
        (t.name, t.shape, t.dtype) for t in after.tensors
    ]
    assert (before.inputs, before.outputs) == (after.inputs, after.outputs)
