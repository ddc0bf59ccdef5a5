"""Reading .tflite files: what comes out of good ones, and one sentence for each kind of bad one."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from ethosgen.backend import is_compiled
from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import ABSENT, Network
from tests.support.control_networks import below, loop, plus_one, subgraph
from tests.support.needs import needs_models
from tests.support.network_file import Spec, packed, unpacked, with_signatures
from tests.support.networks import NetworkBuilder
from tests.support.small_models import SHARED_MODELS


def small_network() -> NetworkBuilder:
    net = NetworkBuilder("small", seed=4)
    x = net.input((1, 8, 8, 4), scale=0.25, zero_point=-7, name="image")
    x = net.conv2d(x, 6, kernel=(3, 5), stride=(2, 1), activation="RELU6", name="features")
    x = net.average_pool(x, (4, 8), name="pooled")
    net.reshape(x, (1, 6))
    return net


def parse(net: NetworkBuilder, *outputs: int) -> Network:
    return parse_network(net.build(*outputs), net.name)


def test_reads_tensors_operators_and_options() -> None:
    network = parse(small_network())
    (image,) = network.inputs
    assert (image.name, image.shape, image.dtype) == ("image", (1, 8, 8, 4), "int8")
    assert image.quantization is not None
    assert (image.quantization.scale, image.quantization.zero_point) == ((0.25,), (-7,))
    conv, pool, reshape = network.graph.operators
    assert [o.code for o in network.graph.operators] == ["CONV_2D", "AVERAGE_POOL_2D", "RESHAPE"]
    assert conv.options["padding"] == "SAME"
    assert conv.options["fused_activation_function"] == "RELU6"
    assert (conv.options["stride_h"], conv.options["stride_w"]) == (2, 1)
    assert (pool.options["filter_height"], pool.options["filter_width"]) == (4, 8)
    assert reshape.options["new_shape"] == (1, 6)
    assert network.graph.tensors[reshape.inputs[1]].array().tolist() == [1, 6]
    weights = network.graph.tensors[conv.inputs[1]]
    assert weights.quantization is not None
    assert (weights.shape, weights.quantization.axis) == ((6, 3, 5, 4), 0)
    assert len(weights.quantization.scale) == 6
    assert weights.array().dtype == np.int8


def test_a_missing_optional_input_is_absent() -> None:
    net = NetworkBuilder("no_bias")
    x = net.input((1, 16))
    weights = net.constant(net.random_integers((4, 16)), scale=0.01)
    net.operator("FULLY_CONNECTED", [x, weights, -1], [Spec((1, 4), "int8", 0.5, 0)], {})
    assert parse(net).graph.operators[0].inputs[2] == ABSENT


def test_custom_operators_and_metadata_are_read() -> None:
    net = NetworkBuilder("custom")
    x = net.input((1, 4))
    net.operator(
        "CUSTOM", [x], [Spec((1, 4), "int8", 0.5, 0)], custom_code="Mine", custom_options=b"\1\2\3"
    )
    net.metadata["note"] = b"written by a test"
    network = parse(net)
    (operator,) = network.graph.operators
    assert (operator.custom_code, operator.custom_options) == ("Mine", b"\1\2\3")
    assert network.metadata["note"] == b"written by a test"


def test_names_are_made_unique_and_usable() -> None:
    net = NetworkBuilder("names")
    x = net.input((1, 4), name="x")
    y = net.input((1, 4), name="x")
    z = net.add(x, y, name="x")
    w = net.relu(z, name="")
    v = net.relu(z, name="two\nlines")
    network = parse(net, z, w, v)
    assert [tensor.name for tensor in network.inputs] == ["x", "x_1"]
    assert [t.name for t in network.outputs] == [
        "x_2",
        "relu_3",
        "two\N{REPLACEMENT CHARACTER}lines",
    ]


def test_a_nameless_tensor_is_called_by_its_index() -> None:
    net = NetworkBuilder("nameless")
    x = net.input((1, 4))
    net.relu(x)
    net.tensors[1] = dataclasses.replace(net.tensors[1], name="")
    assert parse(net).outputs[0].name == "tensor_1"


def test_an_open_batch_is_one() -> None:
    net = small_network()
    network = parse_network(with_signatures(net.build(), {0: (-1, 8, 8, 4)}), "open")
    assert network.inputs[0].shape == (1, 8, 8, 4)


@pytest.mark.parametrize(
    ("shape", "signature"), [((1, 1, 8, 4), (1, -1, 8, 4)), ((1, 8, 1, 1), (-1, 8, -1, -1))]
)
def test_dynamic_shapes_are_refused_by_name(
    shape: tuple[int, ...], signature: tuple[int, ...]
) -> None:
    net = small_network()
    net.tensors[0] = dataclasses.replace(net.tensors[0], shape=shape)
    data = with_signatures(net.build(), {0: signature})
    with pytest.raises(UnsupportedError, match=r"'image' of 'small' has a dynamic shape .*\?"):
        parse_network(data, "small")


STALE = [(1, 6, 8, 4), (-1, 6, 8, 4), (1, -1, 8, 4), (8, 8, 4), (1, 8, 8, 4, 1), (-1, -1)]
"""Signatures that contradict the shape (1, 8, 8, 4): a converter writes 1 for an open size."""


@pytest.mark.parametrize("signature", STALE)
def test_a_stale_signature_is_ignored_with_one_warning(
    signature: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    data = with_signatures(small_network().build(), dict.fromkeys((0, 3), signature))
    network = parse_network(data, "small")
    assert network.inputs[0].shape == (1, 8, 8, 4)
    (warning,) = caplog.messages
    assert "'image' ([1, 8, 8, 4], signature" in warning and "\n" not in warning


def _without_deprecated_codes(data: bytes) -> bytes:
    """Return a file whose operators have only the newer field, as some writers leave the other."""
    root = unpacked(data)
    for code in root.operatorCodes:
        code.deprecatedBuiltinCode = 0
    return packed(root)


def test_the_larger_operator_code_counts() -> None:
    network = parse_network(_without_deprecated_codes(small_network().build()), "new_codes")
    assert [o.code for o in network.graph.operators] == ["CONV_2D", "AVERAGE_POOL_2D", "RESHAPE"]


def test_text_is_refused_with_what_to_do_about_it() -> None:
    net = small_network()
    net.tensors[0] = dataclasses.replace(net.tensors[0], dtype="string")
    with pytest.raises(UnsupportedError, match=r"type STRING.*; turn text into numbers before"):
        parse(net)


def test_an_empty_input_is_refused() -> None:
    net = NetworkBuilder("hollow")
    net.relu(net.input((1, 0), name="nothing"))
    with pytest.raises(UnsupportedError, match="'nothing' of 'hollow' has no elements"):
        parse(net)


def test_a_float_network_is_read_as_the_cpu_can_run_many() -> None:
    net = NetworkBuilder("floating")
    net.unary("RELU", net.input((1, 4), "float32", None))
    assert [tensor.dtype for tensor in parse(net).outputs] == ["float32"]


def test_a_network_between_float_ends_is_read() -> None:
    net = NetworkBuilder("float_ends")
    x = net.quantize(net.input((1, 4), "float32", None), "int8", 0.1, 0)
    net.dequantize(net.relu(x))
    assert [tensor.dtype for tensor in parse(net).inputs] == ["float32"]


def test_a_compiled_network_is_known_and_its_memories_need_no_writer() -> None:
    net = NetworkBuilder("compiled")
    x = net.input((1, 4))
    memories = [net.tensor(Spec((16,), "uint8")) for _ in range(4)]
    result = Spec((1, 4), "int8", 0.5, 0)
    net.operator("CUSTOM", [*memories, x], [result], custom_code="ethos-u")
    assert is_compiled(parse(net))
    plain = NetworkBuilder("plain")
    plain.relu(plain.input((1, 4)))
    assert not is_compiled(parse(plain))


def test_an_unknown_type_is_refused_by_name() -> None:
    net = NetworkBuilder("brains")
    net.relu(net.input((1, 4), "bfloat16", None, name="few"))
    with pytest.raises(UnsupportedError, match="'few' of 'brains' has the type BFLOAT16"):
        parse(net)


def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent"):
        read(tmp_path / "absent.tflite")
    with pytest.raises(InputError, match="is a folder, not a network's file; name the file"):
        read(tmp_path)
    (tmp_path / "model").mkdir()
    for name in ("pipeline.json", "model/ethosgen.json"):
        (tmp_path / name).touch()
        with pytest.raises(InputError, match=r"to check .*: ethosgen build .*; ethosgen run "):
            read(tmp_path)
        (tmp_path / name).unlink()
    empty = tmp_path / "empty.tflite"
    empty.touch()
    with pytest.raises(InputError, match="is empty"):
        read(empty)
    text = tmp_path / "text.tflite"
    text.write_text("not a network at all")
    with pytest.raises(InputError, match=r"is not a \.tflite file"):
        read(text)


def test_every_truncation_is_an_input_error() -> None:
    data = small_network().build()
    for length in range(0, len(data) - 4, 37):
        with pytest.raises(InputError):
            parse_network(data[:length], "short")


def test_a_constant_of_the_wrong_length_is_damage() -> None:
    net = NetworkBuilder("short_constant")
    x = net.input((1, 4))
    c = net.constant(np.ones((1, 4), np.int8), scale=0.1, name="ones")
    net.tensors[c] = dataclasses.replace(net.tensors[c], data=b"\1\1\1")
    net.add(x, c)
    with pytest.raises(InputError, match="constant 'ones' has 3 bytes instead of 4"):
        parse(net)


def test_reading_what_nothing_wrote_is_damage() -> None:
    net = NetworkBuilder("backwards")
    net.relu(net.input((1, 4)))
    orphan = net.tensor(Spec((1, 4), "int8", 0.1, 0, name="orphan"))
    net.relu(orphan)
    with pytest.raises(InputError, match=r"operator 1 \(RELU\) reads 'orphan'"):
        parse(net)


def test_writing_a_constant_is_damage() -> None:
    net = NetworkBuilder("overwritten")
    y = net.relu(net.input((1, 4)), name="result")
    net.tensors[y] = dataclasses.replace(net.tensors[y], data=b"\0" * 4)
    with pytest.raises(InputError, match="writes 'result', which is a constant"):
        parse(net)


def test_a_graph_without_operators_or_outputs_is_refused() -> None:
    net = NetworkBuilder("idle")
    x = net.input((1, 4))
    with pytest.raises(InputError, match="no operators"):
        parse(net, x)
    with pytest.raises(InputError, match="no outputs"):
        parse(net)


def test_a_tensor_larger_than_any_memory_is_refused() -> None:
    net = NetworkBuilder("giant")
    net.relu(net.input((1, 1 << 16, 1 << 15, 8), name="image"))
    with pytest.raises(InputError, match="'image' of 'giant' takes 16384 MiB"):
        parse(net)


def test_wrong_quantization_is_damage() -> None:
    net = NetworkBuilder("scales")
    x = net.input((1, 4))
    net.constant(np.ones((2, 4), np.int8), scale=(0.1, 0.2, 0.3), zero_point=(0, 0, 0))
    net.relu(x)
    with pytest.raises(InputError, match="3 scales for shape"):
        parse(net)
    net.tensors[1] = dataclasses.replace(net.tensors[1], scale=0.1, zero_point=128)
    with pytest.raises(InputError, match="a zero point outside int8"):
        parse(net)


@needs_models
def test_shared_models_are_read() -> None:
    for path in sorted(SHARED_MODELS.glob("*.tflite")):
        network = read(path)
        assert network.graph.operators
        assert all(tensor.dtype == "int8" for tensor in (*network.inputs, *network.outputs))


def test_a_constant_that_is_stored_sparse_is_named() -> None:
    file = unpacked(small_network().build())
    weights = next(t for t in file.subgraphs[0].tensors if tuple(t.shape) == (6, 3, 5, 4))
    weights.sparsity = schema.SparsityParametersT()
    with pytest.raises(UnsupportedError, match="is stored sparse") as refused:
        parse_network(packed(file), "sparse")
    assert weights.name.decode() in str(refused.value)


def test_an_output_scale_of_0_is_named_before_anything_divides_by_it() -> None:
    net = NetworkBuilder("zero")
    output = net.conv2d(net.input((1, 4, 4, 4)), 4, scale=0.0, zero_point=-5)
    with pytest.raises(
        InputError, match=r"'zero': CONV_2D makes 'conv_2d_[0-9]', whose scale is 0"
    ):
        parse(net, output)


@pytest.mark.parametrize("code", ["FILL", "TILE", "BROADCAST_TO", "EXPAND_DIMS"])
def test_a_shape_that_is_an_input_is_refused_with_its_name(code: str) -> None:
    """LiteRT's zip tests have such networks: a converter writes 1 for each size."""
    net = NetworkBuilder("shaped")
    x, shape = (net.input((1,), "int32", None) for _ in range(2))
    operands = [shape, x] if code == "FILL" else [x, shape]
    (output,) = net.operator(code, operands, [Spec((1,), "int32", None)])
    said = rf"'shaped': {code} makes '.*', whose shape follows from the input"
    with pytest.raises(UnsupportedError, match=said):
        parse(net, output)


def test_a_loop_whose_value_changes_its_shape_is_refused() -> None:
    """LiteRT's zip tests have such a network: a list of tensors of a size that is computed."""
    net = NetworkBuilder("growing")
    start = [net.input((1,), "int32", None, 0), net.input((6,), "int32", None, 0)]
    specs = [net.tensors[i] for i in start]
    inner, (count, values) = subgraph("body", specs)
    number = net.subgraph(inner, plus_one(inner, count), values)
    last = loop(net, start, below(net, specs), number)[1]
    net.tensors[last] = dataclasses.replace(net.tensors[last], shape=(1,))
    with pytest.raises(UnsupportedError, match=r"WHILE makes '.*' of shape \[1\] from '.*\[6\]"):
        parse(net, last)


def test_what_only_moves_elements_may_have_a_scale_of_0() -> None:
    net = NetworkBuilder("zero")
    x = net.input((1, 4, 4, 4), scale=0.0)
    assert parse(net, net.reshape(x, (1, 64))).outputs[0].shape == (1, 64)
