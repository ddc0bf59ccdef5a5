"""STABLEHLO_COMPOSITE: its operators take its place, for the NPU, the CPU and both oracles."""

from pathlib import Path

import pytest
from flatbuffers import flexbuffers

from ethosgen import flow
from ethosgen.frontend.tflite.reader import decode_network, parse_network
from ethosgen.oracle import LITERT
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError
from ethosgen.values.outcome import compare
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.networks import NetworkBuilder, Spec

NO_ATTRIBUTES = flexbuffers.Dumps({})
POINT = Spec((1, 6), "int8", 0.05, 3)


def _composite(net: NetworkBuilder, x: int, number: int) -> int:
    """Add an operator that stands for a subgraph."""
    options = {"name": "odml.test", "decomposition_subgraph_index": number}
    options |= {"composite_attributes": tuple(NO_ATTRIBUTES)}
    return net.operator("STABLEHLO_COMPOSITE", [x], [POINT], options)[0]


def _nested() -> bytes:
    """Return a layer, two composites of which each has another in it, and a sum."""
    deep = NetworkBuilder("deep", seed=2)
    a = deep.tensor(POINT)
    deep.inputs.append(a)
    c = deep.constant(deep.random_integers((1, 6)), scale=0.02)
    spec = Spec((1, 6), "int8", 0.05, 3)
    b = deep.operator("MUL", [a, c], [Spec((1, 6), "int8", 0.1, -4)])[0]
    deep_out = deep.operator("ADD", [b, a], [spec])[0]
    outer = NetworkBuilder("outer", seed=3)
    x = outer.tensor(POINT)
    outer.inputs.append(x)
    y = outer.operator("SUB", [_composite(outer, x, 2), x], [POINT])[0]
    net = NetworkBuilder("main", seed=1)
    start = net.fully_connected(net.input((1, 6)), 6, scale=0.05, zero_point=3)
    first = _composite(net, start, 1)
    second = _composite(net, first, 1)
    end = net.operator("ADD", [first, second], [POINT])[0]
    assert net.subgraph(outer, y) == 1 and net.subgraph(deep, deep_out) == 2
    return net.build(end)


def test_a_composites_operators_take_its_place() -> None:
    network = parse_network(_nested(), "nested")
    step = ["MUL", "ADD", "SUB"]
    codes = [op.code for op in network.graph.operators]
    assert codes == ["FULLY_CONNECTED", *step, *step, "ADD"]
    assert len(network.graphs) == 1


def test_litert_computes_the_same_as_from_the_composite() -> None:
    """LiteRT has the composite, so it can judge what stands in its place."""
    plain, raw = parse_network(_nested(), "nested"), decode_network(_nested(), "nested")
    samples = random_samples(plain, 4, seed=1)
    compared = compare("litert", LITERT.run(plain, samples), LITERT.run(raw, samples))
    assert (compared.elements, compared.mismatches) == (24, 0)


@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
def test_firmware_and_oracles_agree(npu: str, tmp_path: Path) -> None:
    path = tmp_path / "nested.tflite"
    path.write_bytes(_nested())
    report = flow.simulate(path, npu=npu, inputs=Inputs(None, 4, 1), watch=Watch())
    assert report.passed and report.golden is not None and report.golden.oracle == "tflm"


@pytest.mark.parametrize("number", [0, 7])
def test_a_composite_of_what_cannot_be_is_refused(number: int) -> None:
    net = NetworkBuilder("bad")
    y = _composite(net, net.tensor(POINT), number)
    net.inputs.append(0)
    with pytest.raises(
        InputError, match=rf"'bad' is damaged: .* subgraph {number}, which is invalid"
    ):
        parse_network(net.build(y), "bad")


def test_a_composite_in_itself_is_refused() -> None:
    inner = NetworkBuilder("inner")
    inner.inputs.append(inner.tensor(POINT))
    composite = _composite(inner, 0, 1)
    net = NetworkBuilder("main")
    net.inputs.append(net.tensor(POINT))
    y = _composite(net, 0, 1)
    net.subgraph(inner, composite)
    with pytest.raises(InputError, match="subgraph 1, which is invalid"):
        parse_network(net.build(y), "loop")
