"""The levels of TOSA, by the tables of TOSA 1.0's specification: profiles and extensions."""

import json

import pytest

from ethosgen.values.errors import InputError
from ethosgen.values.levels import (
    LEVELS,
    Level,
    described,
    level_of,
    levels_in,
    levels_metadata,
    levels_of,
    levels_of_text,
    levels_text,
)
from ethosgen.values.network import Graph, Network, Operator, Tensor

INT, FP, EITHER = "PRO-INT", "PRO-FP", "PRO-INT or PRO-FP"
CASES = [
    ("TOSA_CONV2D", "int8 int8 int32 int8 int8", "int32", INT),
    ("TOSA_CONV2D", "int16 int8 int64 int16 int8", "int64", f"{INT} + EXT-INT16"),
    ("TOSA_CONV2D", "float32 float32 float32 float32 float32", "float32", FP),
    ("TOSA_ADD", "int32 int32", "int32", EITHER),
    ("TOSA_ADD", "float32 float32", "float32", FP),
    ("TOSA_MUL", "int8 int8 int8", "int32", INT),
    ("TOSA_MUL", "int16 int16 int8", "int32", INT),
    ("TOSA_MUL", "int32 int32 int8", "int32", EITHER),
    ("TOSA_MAXIMUM", "int32 int32", "int32", INT),
    ("TOSA_TABLE", "int8 int8", "int8", INT),
    ("TOSA_TABLE", "int16 int16", "int32", f"{INT} + EXT-INT16"),
    ("TOSA_CLAMP", "int16", "int16", f"{INT} + EXT-INT16"),
    ("TOSA_RESHAPE", "int16 int64", "int16", INT),
    ("TOSA_RESHAPE", "bool int64", "bool", EITHER),
    ("TOSA_CONCAT", "int16 int16", "int16", f"{INT} + EXT-INT16"),
    ("TOSA_RESCALE", "int8 int32 int8 int8 int8", "int16", INT),
    ("TOSA_RESCALE", "int64 int16 int8 int64 int16", "int16", f"{INT} + EXT-INT16"),
    ("TOSA_LOGICAL_AND", "bool bool", "bool", EITHER),
    ("TOSA_LOGICAL_LEFT_SHIFT", "int8 int8", "int8", EITHER),
    ("TOSA_ARITHMETIC_RIGHT_SHIFT", "int8 int8", "int8", INT),
    ("TOSA_CAST", "int8", "float32", FP),
    ("TOSA_CAST", "int8", "int16", INT),
    ("TOSA_EQUAL", "int32 int32", "bool", INT),
    ("TOSA_IDENTITY", "int8", "int8", EITHER),
    ("TOSA_IDENTITY", "int64", "int64", f"{INT} + EXT-INT16"),
    ("TOSA_RFFT2D", "float32", "float32", f"{FP} + EXT-FFT"),
    ("TOSA_SIN", "float32", "float32", FP),
    ("TOSA_GATHER", "int8 int32", "int8", INT),
    ("IF", "bool", "int8", f"{EITHER} + EXT-CONTROLFLOW"),
    ("READ_VARIABLE", "resource", "float32", f"{FP} + EXT-VARIABLE"),
    ("READ_VARIABLE", "resource", "int8", f"{INT} + EXT-VARIABLE"),
    ("CONV_2D", "int8 int8 int32", "int8", ""),
]
"""Operators of the dialect with the types of their inputs and output, and the level."""


def graph_of(code: str, inputs: str, output: str, **options: str) -> Graph:
    types = [*inputs.split(), output]
    tensors = tuple(Tensor(i, f"t{i}", (1,), dtype) for i, dtype in enumerate(types))
    count = len(types) - 1
    operator = Operator(0, code, tuple(range(count)), (count,), None, options)
    return Graph("main", tensors, (operator,), tuple(range(count)), (count,))


@pytest.mark.parametrize(("code", "inputs", "output", "level"), CASES)
def test_an_operator_has_its_level(code: str, inputs: str, output: str, level: str) -> None:
    graph = graph_of(code, inputs, output)
    assert level_of(graph, graph.operators[0]) == level
    network = Network("n", (graph,))
    levels = [each.level for each in levels_of(network)]
    assert levels == [level] * network.is_tosa


def test_operators_of_tflite_have_none() -> None:
    for code in ("IF", "READ_VARIABLE", "CONV_2D"):
        network = Network("n", (graph_of(code, "bool", "int8"),))
        assert levels_of(network) == [] == levels_in(network, network.graph.operators[0])


def test_a_rounding_is_an_extension() -> None:
    graph = graph_of("TOSA_RESCALE", "int32 int32 int8 int32 int8", "int8")
    (operator,) = graph.operators
    single = Operator(0, operator.code, operator.inputs, operator.outputs, None)
    assert level_of(graph, single) == INT
    twice = graph_of("TOSA_RESCALE", "int32", "int8", rounding_mode="DOUBLE_ROUND")
    assert level_of(twice, twice.operators[0]) == f"{INT} + EXT-DOUBLEROUND"


def test_levels_of_a_compiled_operator_are_those_it_states() -> None:
    levels = [Level("CONV2D", "a", INT), Level("ADD", "b", EITHER), Level("CONV2D", "c", INT)]
    graph = graph_of("CUSTOM", "int8", "int8")
    metadata = {LEVELS: levels_metadata({0: levels_text(levels)})}
    network = Network("n", (graph,), metadata)
    stated = levels_in(network, graph.operators[0])
    assert stated == levels
    assert described(stated) == f"{INT}: 2 x CONV2D; {EITHER}: ADD"
    assert described(stated[:1]) == INT and described([]) == ""


@pytest.mark.parametrize(
    "text", ["", "3", "[[1]]", '[["a", "b", ""]]', json.dumps([["a", "b", 3]])]
)
def test_damaged_levels_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="damaged"):
        levels_of_text(text)
