"""The one writer: what it writes reads back as the same values, to us and to the schema."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.frontend.tflite.writer import file_of, write_network
from ethosgen.values.dialect import OPS, Op, Option
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Network, Operator, Quantization, Tensor
from tests import ROOT
from tests.corpus.registry import ROWS
from tests.corpus.trial import Key, case_of
from tests.support import control_networks, signal_networks, stream_networks
from tests.support.catalogue import recurrent
from tests.support.catalogue.bench import Bench
from tests.support.catalogue.cases import CASES
from tests.support.network_file import packed, unpacked
from tests.support.networks import NetworkBuilder
from tests.support.small_models import SHARED_MODELS


def _files() -> Iterator[tuple[str, bytes]]:
    paths = [ROOT / "demo" / "digits_int8.tflite", *sorted(SHARED_MODELS.glob("*.tflite"))]
    yield from ((path.name, path.read_bytes()) for path in paths)
    for name, (_, dtype, build) in [*CASES.items()][::2]:
        bench = Bench(1)
        yield name, bench.build(*build(bench, dtype))
    for build in (control_networks.carried, control_networks.variables, control_networks.nested):
        net = NetworkBuilder(build.__name__)
        yield net.name, net.build(*build(net))
    net = NetworkBuilder("lstm")
    yield net.name, net.build(recurrent.lstm(net, net.input((1, 4, 8)), 5))
    yield "signals", file_of(signal_networks.front_end())
    yield "streams", file_of(stream_networks.network_of(stream_networks.rings))
    yield from ((str(row), case_of(Key(*row, 1)).data) for row in ROWS[::4])


def _values(network: Network) -> Network:
    """Return the network without its file, and without warnings about a missing signature."""
    return replace(network, source=None, is_as_given=False, contradictions=())


def test_what_is_written_reads_back_as_the_same_values() -> None:
    files = list(_files())
    assert len(files) > 100
    for name, data in files:
        network = decode_network(data, name)
        again = decode_network(write_network(network), name)
        assert _values(again) == _values(network), name
        assert not again.contradictions


def _changed(option: Option) -> Any:
    """Return a value of an option that is not the default, if there is another."""
    if option.is_vector:
        return {"bool": (True, False), "uint8": (7, 200), "float32": (0.5, -2.0)}.get(
            option.kind, (3, 1, 2)
        )
    if option.names:
        return option.names[-1]
    return {"bool": not option.default, "float32": -0.75, "text": "some_text"}.get(option.kind, 5)


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.options], ids=lambda op: op.code)
def test_options_read_as_the_schema_reads_them(op: Op) -> None:
    options = {option.name: _changed(option) for option in op.options}
    operator = Operator(0, op.code, (), (), options=options)
    data = write_network(Network("options", (Graph("main", (), (operator,), (), ()),)))
    assert decode_network(data, "options").graph.operators[0].options == options
    read = schema.ModelT.InitFromPackedBuf(data, 0).subgraphs[0].operators[0]
    assert op.table is not None
    theirs = read.builtinOptions if op.table.union == 1 else read.builtinOptions2
    assert type(theirs).__name__ == f"{op.table.name}T"
    for option in op.options:
        word = "".join(part[:1].upper() + part[1:] for part in option.name.split("_"))
        as_read = getattr(theirs, word[:1].lower() + word[1:])
        as_read = tuple(as_read.tolist()) if isinstance(as_read, np.ndarray) else as_read
        wanted = options[option.name]
        assert as_read == (option.names.index(wanted) if option.names else _raw(wanted)), (
            option.name
        )


def _raw(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _edited(*tensors: Tensor) -> Network:
    return Network("edited", (Graph("main", tensors, (), (), ()),))


def _tensor(index: int, data: bytes | None = None, **fields: Any) -> Tensor:
    return Tensor(index, f"t{index}", (1, 3), "int8", Quantization((0.5,), (1,)), data, **fields)


def test_constants_of_one_object_share_a_buffer() -> None:
    data_one, other = bytes([1, 2, 3]), bytes([1, 2, 4])
    network = _edited(
        *(_tensor(i, data) for i, data in enumerate((data_one, other, data_one, None)))
    )
    read = schema.ModelT.InitFromPackedBuf(write_network(network), 0)
    assert [tensor.buffer for tensor in read.subgraphs[0].tensors] == [1, 2, 1, 0]
    assert len(read.buffers) == 3


def test_constants_are_aligned_and_int4_is_packed() -> None:
    values = np.array([-8, 7, 3], np.int8).tobytes()
    data = write_network(_edited(_tensor(0, values, is_packed=True), _tensor(1, b"abc")))
    assert data.index(b"abc") % 16 == 0
    read = schema.ModelT.InitFromPackedBuf(data, 0)
    packed = read.subgraphs[0].tensors[0]
    assert packed.type == schema.TensorType.INT4
    assert bytes(read.buffers[packed.buffer].data) == bytes([0x78, 0x03])
    assert decode_network(data, "edited").graph.tensors[0].data == values


def test_an_open_size_is_1_in_the_shape_and_open_in_the_signature() -> None:
    tensor = replace(_tensor(0), shape=(1, -1))
    data = write_network(_edited(tensor))
    read = schema.ModelT.InitFromPackedBuf(data, 0).subgraphs[0].tensors[0]
    assert (read.shape.tolist(), read.shapeSignature.tolist()) == ([1, 1], [1, -1])
    assert decode_network(data, "edited").graph.tensors[0] == tensor


def test_a_type_that_files_do_not_have_is_refused() -> None:
    """A Cast of ONNX may have types of 8-bit floats, which reach the compiler as a file."""
    tensor = Tensor(0, "narrow", (2,), "float8_e4m3fn")
    with pytest.raises(UnsupportedError, match="'narrow' is float8_e4m3fn"):
        write_network(Network("net", (Graph("main", (tensor,), (), (0,), (0,)),)))


def test_a_file_that_was_not_edited_is_passed_on_as_it_is() -> None:
    root = unpacked((ROOT / "demo" / "digits_int8.tflite").read_bytes())
    root.description = "by another writer"
    data = packed(root)
    network = decode_network(data, "digits")
    assert file_of(network) is data
    assert file_of(replace(network, is_as_given=False)) == write_network(network) != data
