"""Reading and writing .tosa files: what they hold, and one sentence for each kind of bad file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen import frontend
from ethosgen.cli import cli
from ethosgen.frontend.tosa import writer
from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network
from tests.support.tosa_cases import CASES
from tests.support.tosa_networks import TosaBuilder

MUTATIONS = 200


def layers(seed: int = 1) -> TosaBuilder:
    net = TosaBuilder("layers", seed)
    x = net.conv2d(net.input((1, 8, 8, 4)), 6, (3, 3), pad=(1, 1, 1, 1), zero_point=3)
    x = net.rescale(x, "int8", [0.0008] * 6, output_zp=-5)
    x = net.op("RESHAPE", [x, net.constant([1, 64, 6], "int64")], (1, 64, 6), "int8")
    net.op("TRANSPOSE", [x], (1, 6, 64), "int8", perms=(0, 2, 1))
    return net


def data() -> bytes:
    source = layers().network().source
    assert source is not None
    return source.data


def edited(**graph: Any) -> bytes:
    network = layers().network()
    return write_network(network.edited(replace(network.graph, **graph)))


def test_moved_constants_are_folded() -> None:
    """As Arm's converter writes the weights of a depthwise convolution."""
    net = TosaBuilder("moved")
    values = np.arange(12, dtype=np.int8).reshape(3, 4)
    x = net.input((1, 1, 4, 3))
    moved = net.op("TRANSPOSE", [net.constant(values, "int8")], (4, 3), "int8", perms=(1, 0))
    moved = net.op("RESHAPE", [moved, net.constant([1, 1, 4, 3], "int64")], (1, 1, 4, 3), "int8")
    net.op("BITWISE_AND", [x, moved], (1, 1, 4, 3), "int8")
    graph = net.network().graph
    (op,) = graph.operators
    assert (op.code, op.index) == ("TOSA_BITWISE_AND", 0)
    assert graph.tensors[op.inputs[1]].data == values.T.tobytes()


def test_a_moved_constant_that_is_an_output_stays() -> None:
    net = TosaBuilder("moved")
    moved = net.op("IDENTITY", [net.constant([1, 2], "int8")], (2,), "int8")
    total = net.op("BITWISE_NOT", [net.input((2,))], (2,), "int8")
    operators = net.network(moved, total).graph.operators
    assert {op.code for op in operators} == {"TOSA_IDENTITY", "TOSA_BITWISE_NOT"}


@pytest.mark.parametrize("name", CASES)
def test_a_written_network_is_read_again(name: str) -> None:
    net = TosaBuilder(name, seed=3)
    outputs = [CASES[name](net) for _ in range(3)]
    network = net.network(*outputs)
    names = [tensor.name for tensor in network.graph.tensors]
    assert [names[i] for i in network.graph.inputs] == [net.tensors[i].name for i in net.inputs]
    for operator, op in zip(network.graph.operators, net.operators, strict=True):
        assert (operator.code, operator.options) == (op.code, op.options)
        ends = [names[i] for i in (*operator.inputs, *operator.outputs)]
        assert ends == [net.tensors[i].name for i in (*op.inputs, *op.outputs)]
    theirs = {tensor.name: tensor for tensor in network.graph.tensors}
    for tensor in net.tensors:
        same = theirs[tensor.name]
        assert (same.shape, same.dtype, same.data) == (tensor.shape, tensor.dtype, tensor.data)
        assert same.is_packed == tensor.is_packed


def test_operators_out_of_order_are_sorted() -> None:
    network = layers().network()
    shuffled = edited(operators=network.graph.operators[::-1])
    read = parse_network(shuffled, "x.tosa").graph.operators
    assert [op.code for op in read] == [op.code for op in network.graph.operators]


def test_the_front_end_recognizes_the_format(tmp_path: Path) -> None:
    file = tmp_path / "network.bin"
    file.write_bytes(data())
    network = frontend.read(file)
    assert network.source and network.source.format == "tosa"
    assert network.graph.operators[0].code == "TOSA_CONV2D"


# ---- bad files -----------------------------------------------------------------------------------


def one_sentence(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_network(content, "bad.tosa")
    said = str(caught.value)
    assert "\n" not in said and "bad.tosa" in said
    return said


def outcome(content: bytes) -> str:
    """Return why a file is refused; "" if it is a valid network after all."""
    try:
        parse_network(content, "bad.tosa")
    except InputError as error:
        assert "\n" not in str(error)
        return str(error)
    return ""


def test_truncated_files_are_refused() -> None:
    whole, random = data(), np.random.default_rng(0)
    for length in random.integers(0, len(whole) - 8, MUTATIONS):
        assert one_sentence(whole[:length])


def test_mutated_files_are_refused_or_valid() -> None:
    whole, random = data(), np.random.default_rng(1)
    refused = 0
    for _ in range(MUTATIONS):
        content = bytearray(whole)
        for place in random.integers(0, len(whole), int(random.integers(1, 20))):
            content[place] = random.integers(256)
        refused += bool(outcome(bytes(content)))
    assert refused > MUTATIONS // 2


@pytest.mark.parametrize("command", ["project", "verify"])
def test_a_bad_file_writes_nothing(command: str, tmp_path: Path) -> None:
    file, folder = tmp_path / "bad.tosa", tmp_path / "firmware"
    file.write_bytes(data()[:-300])
    options = ["-o", str(folder)] if command == "project" else []
    done = CliRunner().invoke(cli, [command, str(file), "--board", "corstone300", *options])
    assert isinstance(done.exception, InputError) and "'bad.tosa' is " in str(done.exception)
    assert [*tmp_path.iterdir()] == [file]


def test_empty_and_foreign_files() -> None:
    assert "identifier TOSA" in one_sentence(b"")
    assert "identifier TOSA" in one_sentence(b"\0\0\0\0TFL3" + bytes(100))


def test_a_file_of_the_next_version_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    before = parse_network(data(), "layers.tosa").graph
    monkeypatch.setattr(writer, "VERSION", (1, 1, 0))
    assert parse_network(data(), "layers.tosa").graph == before


@pytest.mark.parametrize(("version", "word"), [((0, 80), "older"), ((1, 2), "newer")])
def test_other_versions_are_refused(
    version: tuple[int, int], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = layers().network()
    monkeypatch.setattr(writer, "VERSION", (*version, 0))
    content = write_network(network)
    said = one_sentence(content)
    assert f"TOSA {version[0]}.{version[1]}.0" in said and word in said


def with_dtype(dtype: str) -> bytes:
    network = layers().network()
    tensors = (replace(network.inputs[0], dtype=dtype), *network.graph.tensors[1:])
    return edited(tensors=tensors)


def test_a_float_among_integers_is_refused() -> None:
    assert "has the types float32, int8" in one_sentence(with_dtype("float32"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: {"operators": g.operators[1:]}, "which nothing has written"),
        (lambda g: {"operators": (*g.operators, g.operators[0])}, "two operators write"),
        (lambda g: {"inputs": ()}, "which nothing has written"),
        (lambda g: {"outputs": ()}, "no outputs"),
        (lambda g: {"tensors": tensors_with(g, 0, shape=(1, 8, 8, -1))}, "dynamic shape"),
        (lambda g: {"tensors": tensors_with(g, 0, shape=(1, 8, 8, 5))}, "is not valid TOSA"),
        (lambda g: {"tensors": tensors_with(g, 0, shape=(1,) * 7)}, "more than 6"),
        (lambda g: {"tensors": tensors_with(g, 0, shape=(1 << 20, 1 << 10, 8, 4))}, "MiB"),
        (lambda g: {"tensors": tensors_with(g, 1, data=b"12")}, "has 2 bytes instead of"),
        (lambda g: {"tensors": tensors_with(g, 1, data=None)}, "which nothing has written"),
        (lambda g: {"tensors": tensors_with(g, 5, dtype="int16")}, "is not valid TOSA"),
        (lambda g: {"operators": with_option(g, 0, stride=(0, 1))}, "strides"),
        (lambda g: {"operators": with_option(g, 0, pad=(1, 1))}, "pad"),
        (lambda g: {"operators": with_option(g, 3, perms=(0, 1, 1))}, "permutes"),
        (lambda g: {"operators": with_option(g, 1, rounding_mode="UNKNOWN")}, "rounding_mode"),
    ],
)
def test_contradictions_are_refused(change: Callable[[Graph], Any], words: str) -> None:
    graph = layers().network().graph
    assert words in one_sentence(edited(**change(graph)))


def tensors_with(graph: Graph, index: int, **values: Any) -> tuple[Any, ...]:
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **values)
    return tuple(tensors)


def with_option(graph: Graph, index: int, **values: Any) -> tuple[Any, ...]:
    operators = list(graph.operators)
    operators[index] = replace(operators[index], options=operators[index].options | values)
    return tuple(operators)


def test_resize_has_a_largest_size() -> None:
    net = TosaBuilder("resized")
    shapes = ([1, 1, 2, 1], [0, 0], [0, 0])
    operands = [net.constant(values, "int64") for values in shapes]
    x = net.input((1, 1, (1 << 14) + 1, 1))
    options = {"mode": "NEAREST"}
    net.op("RESIZE", [x, *operands], (1, 1, (1 << 15) + 1, 1), "int8", **options)
    limit = "resizes an axis to or from 32769, and the limit is 16383"
    with pytest.raises(InputError, match=limit):
        net.network()


def test_zeros_after_a_constant_are_ignored() -> None:
    """ExecuTorch writes a zero point for each channel where TOSA has one."""
    network = layers().network()
    index = network.graph.operators[0].inputs[4]
    longer = edited(tensors=tensors_with(network.graph, index, data=bytes(16)))
    assert parse_network(longer, "x.tosa").graph.tensors[index].data == b"\0"
    wrong = edited(tensors=tensors_with(network.graph, index, data=b"\0" * 15 + b"1"))
    assert "has 16 bytes instead of 1" in one_sentence(wrong)


def test_a_circle_is_refused() -> None:
    net = TosaBuilder("circle")
    x = net.input((2, 2), "int32")
    first = net.op("ADD", [x, x], (2, 2), "int32")
    second = net.op("ADD", [first, x], (2, 2), "int32")
    operators = list(net.operators)
    operators[0] = replace(operators[0], inputs=(x, second))
    graph = Graph("main", tuple(net.tensors), tuple(operators), (x,), (second,))
    assert "circle" in one_sentence(write_network(Network("circle", (graph,))))
