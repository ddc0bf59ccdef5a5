"""Shapes that contradict an operator, as in a damaged file: a sentence, and no stray reads."""

from collections.abc import Sequence

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.tir.nest import Nest
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import UnsupportedError
from tests.support.aot_harness import cpu_plan
from tests.support.networks import NetworkBuilder, Spec

MISFITS: dict[str, tuple[str, str, Sequence[int], Sequence[int], Sequence[int], str]] = {
    "TILE of another rank": ("TILE", "int8", (2, 3), (2, 2), (4, 6, 1), "not a multiple"),
    "TILE of a part": ("TILE", "int8", (2, 3), (2, 2), (4, 7), "not a multiple"),
    "BROADCAST_TO of a part": ("BROADCAST_TO", "int8", (2, 3), (4, 6), (4, 6), "does not fit"),
    "BROADCAST_ARGS of matrices": ("BROADCAST_ARGS", "int32", (1, 2), (2, 2), (2,), "not shapes"),
    "RESIZE_BILINEAR to more channels": (
        "RESIZE_BILINEAR",
        "int8",
        (1, 2, 2, 1),
        (4, 4),
        (1, 4, 4, 2),
        "more channels than its",
    ),
    "RESIZE_BILINEAR with a scale that rounds up too far": (
        "RESIZE_BILINEAR",
        "int8",
        (1, 2, 1, 1),
        (4, 55),
        (1, 4, 55, 1),
        "leads past the input",
    ),
    "RESIZE_NEAREST_NEIGHBOR to more batches": (
        "RESIZE_NEAREST_NEIGHBOR",
        "int8",
        (1, 2, 2, 1),
        (4, 4),
        (2, 4, 4, 1),
        "more batches than",
    ),
    "PAD of another rank": ("PAD", "int8", (2, 3), (0, 0, 1), (2, 4), "do not match"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_shapes_that_contradict_are_named(name: str) -> None:
    code, dtype, shape, second, output, words = MISFITS[name]
    net = NetworkBuilder("damaged", 1)
    scale = 0.1 if dtype == "int8" else None
    x = net.input(shape, dtype, scale, 0)
    more = net.constant(np.array(second, np.int32))
    (y,) = net.operator(code, [x, more], [Spec(tuple(output), dtype, scale, 0)])
    with pytest.raises(UnsupportedError, match=f"operator 1 of 1, {code} that makes .*{words}"):
        compile_program(cpu_plan(parse_network(net.build(y), "damaged")), "net")


def test_a_fill_with_several_values_is_named() -> None:
    net = NetworkBuilder("damaged", 1)
    values = net.input((2,), "int32", None, 0)
    (y,) = net.operator("FILL", [net.integers([2]), values], [Spec((2,), "int32", None, 0)])
    with pytest.raises(
        UnsupportedError, match=r"operator 1 of 1, FILL that makes .*its value has the shape \[2\]"
    ):
        compile_program(cpu_plan(parse_network(net.build(y), "damaged")), "net")


def test_an_input_that_does_not_broadcast_is_named() -> None:
    """The loops would read beside it."""
    net = NetworkBuilder("damaged", 1)
    a, b = net.input((4, 6), "int8", 0.1, 0), net.input((2, 3), "int8", 0.1, 0)
    (y,) = net.operator("ADD", [a, b], [Spec((4, 6), "int8", 0.1, 0)])
    with pytest.raises(UnsupportedError, match=r"shape \[2, 3\] does not fit its output"):
        compile_program(cpu_plan(parse_network(net.build(y), "damaged")), "net")


@pytest.mark.parametrize("code", ["PAD", "MIRROR_PAD"])
@pytest.mark.parametrize("pair", [(-1, 3), (3, -1), (1, -1)])
def test_a_negative_padding_is_named(code: str, pair: tuple[int, int]) -> None:
    """The kernels would write outside the output."""
    net = NetworkBuilder("damaged", 1)
    x = net.input((1, 4, 4, 3), "int8", 0.1, 0)
    paddings = net.constant(np.array([(0, 0), (0, 0), pair, (0, 0)], np.int32))
    target = Spec((1, 4, 4 + sum(pair), 3), "int8", 0.1, 0)
    (y,) = net.operator(code, [x, paddings], [target], {"mode": "REFLECT"} if "_" in code else {})
    with pytest.raises(UnsupportedError, match=r"paddings .* must not be negative"):
        compile_program(cpu_plan(parse_network(net.build(y), "damaged")), "net")


def _custom(code: str, custom: str | None, dtype: str = "float32") -> str:
    """Return the message about a float operator without code."""
    net = NetworkBuilder("real", 1)
    x = net.input((1, 4), dtype, None)
    more = [] if custom else [x]
    (y,) = net.operator(code, [x, *more], [Spec((1, 4), dtype)], custom_code=custom)
    with pytest.raises(UnsupportedError) as error:
        compile_program(cpu_plan(parse_network(net.build(y), "real")), "net")
    return str(error.value)


def test_only_what_a_converter_quantizes_is_to_be_quantized() -> None:
    missing = _custom("ADD", None, "float64")
    assert "there is no CPU code for float64; quantize the network to int8" in missing
    never = _custom("RFFT2D", None)
    assert "there is no CPU code for float32" in never and "quantize" not in never
    known = _custom("CUSTOM", "SignalDelay")
    assert "there is no CPU code for float32" in known and "quantize" not in known


@pytest.mark.parametrize(
    ("custom", "said"),
    [
        ("Mine", "it is a custom operator, which TFLite Micro does not have either"),
        ("edgetpu-custom-op", "it holds machine code for Google's Edge TPU; pass the file"),
        ("DISPATCH_OP", "it holds machine code for the NPU of a phone; pass the file"),
    ],
)
def test_a_custom_operator_that_nobody_has_is_called_so(custom: str, said: str) -> None:
    """The message once claimed a lack of code for float32, as if another type would help."""
    words = _custom("CUSTOM", custom)
    assert said in words and "float32" not in words


@pytest.mark.parametrize("declare", ["read", "write"])
def test_a_view_has_the_size_of_its_tensor(declare: str) -> None:
    """A kernel with another shape would read or write its neighbours in the arena."""
    net = NetworkBuilder("view")
    network = parse_network(net.build(net.reshape(net.input((2, 3), name="x"), (6,))), "view")
    (tensor,) = network.inputs
    getattr(Nest(), declare)("x", tensor, (3, 2))
    with pytest.raises(UnsupportedError, match=r"'x' of shape \[2, 3\] as \[7\]"):
        getattr(Nest(), declare)("x", tensor, (7,))


@pytest.mark.parametrize("inputs", [1, 2])
def test_a_reduction_without_axes_is_named(inputs: int) -> None:
    """Vela 4.0.1 writes such a REDUCE_ANY."""
    net = NetworkBuilder("damaged", 1)
    x = net.input((2, 3), "bool", None, 0)
    (y,) = net.operator("REDUCE_ANY", [x, -1][:inputs], [Spec((2,), "bool")])
    with pytest.raises(UnsupportedError, match=r"REDUCE_ANY that makes .* no input that names its"):
        compile_program(cpu_plan(parse_network(net.build(y), "damaged")), "net")
