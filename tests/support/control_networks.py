"""Networks with subgraphs and variables: IF, WHILE, CALL_ONCE, READ_VARIABLE, ASSIGN_VARIABLE."""

from collections.abc import Sequence

import numpy as np

from tests.support.catalogue.recurrent import svdf
from tests.support.networks import NetworkBuilder, Spec

HANDLE = Spec((1,), "resource")
BOOL = Spec((1,), "bool")
COUNT = Spec((1,), "int32")
IMAGE = Spec((1, 4, 4, 8), "int8", 0.05, 3)


def handle(net: NetworkBuilder, name: str) -> int:
    """Add a VAR_HANDLE for a variable."""
    options = {"container": "", "shared_name": name}
    return net.operator("VAR_HANDLE", [], [HANDLE], options)[0]


def read(net: NetworkBuilder, name: str, spec: Spec = IMAGE) -> int:
    """Add a READ_VARIABLE with its own handle."""
    return net.operator("READ_VARIABLE", [handle(net, name)], [spec])[0]


def assign(net: NetworkBuilder, name: str, value: int) -> None:
    """Add an ASSIGN_VARIABLE with its own handle."""
    net.operator("ASSIGN_VARIABLE", [handle(net, name), value], [])


def subgraph(name: str, specs: Sequence[Spec], seed: int = 1) -> tuple[NetworkBuilder, list[int]]:
    """Return a network for a subgraph, and its inputs."""
    net = NetworkBuilder(name, seed)
    points = [spec.zero_point for spec in specs]
    assert all(isinstance(point, int) for point in points)
    return net, [
        net.input(spec.shape, spec.dtype, spec.scale, point)  # type: ignore[arg-type]
        for spec, point in zip(specs, points, strict=True)
    ]


def branch(net: NetworkBuilder, condition: int, x: int, kernels: tuple[int, int]) -> int:
    """Add IF with a convolution in each branch."""
    spec = net.tensors[x]
    numbers = []
    for name, size in zip(("then", "else"), kernels, strict=True):
        inner, (image,) = subgraph(name, [spec], seed=size)
        layer = inner.conv2d(image, 8, (size, size), scale=0.1, zero_point=0)
        numbers.append(net.subgraph(inner, layer))
    options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
    out = Spec(spec.shape, "int8", 0.1, 0)
    return net.operator("IF", [condition, x], [out], options)[0]


def is_positive(net: NetworkBuilder) -> int:
    """Add an input, and the condition that it is above 0."""
    x = net.input((1,), "int8", 0.1, 0, name="which")
    zero = net.constant(np.array([0]), "int8", 0.1)
    return net.operator("GREATER", [x, zero], [BOOL])[0]


def loop(net: NetworkBuilder, start: Sequence[int], cond: int, body: int) -> tuple[int, ...]:
    """Add WHILE over tensors that keep their types."""
    specs = [net.tensors[i] for i in start]
    outputs = [Spec(s.shape, s.dtype, s.scale, s.zero_point) for s in specs]
    options = {"cond_subgraph_index": cond, "body_subgraph_index": body}
    return net.operator("WHILE", start, outputs, options)


def below(net: NetworkBuilder, specs: Sequence[Spec], limit: int = 4) -> int:
    """Add the condition that the first carried value is below a limit."""
    inner, (count, *_) = subgraph("cond", specs)
    most = inner.constant([limit], "int32")
    return net.subgraph(inner, inner.operator("LESS", [count, most], [BOOL])[0])


def plus_one(net: NetworkBuilder, count: int) -> int:
    """Add 1 to an int32."""
    step = net.constant([1], "int32")
    options = {"fused_activation_function": "NONE"}
    return net.operator("ADD", [count, step], [COUNT], options)[0]


# ---- whole networks ------------------------------------------------------------------------------


def given_condition(net: NetworkBuilder) -> list[int]:
    """Add an IF with an input as its condition."""
    condition = net.input((1,), "bool", None)
    return [branch(net, condition, net.conv2d(net.input((1, 8, 8, 4)), 8), (3, 1))]


def computed_condition(net: NetworkBuilder) -> list[int]:
    """Add an IF between layers, with a computed condition."""
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    return [net.conv2d(branch(net, is_positive(net), x, (1, 3)), 4)]


def carried(net: NetworkBuilder) -> list[int]:
    """Add a WHILE that counts, swaps, keeps and updates its values, in place and in a copy."""
    specs = [
        COUNT,
        Spec((2, 3), "float32"),
        Spec((2, 3), "float32"),
        IMAGE,
        IMAGE,
        Spec((5,), "int16", 0.1),
    ]
    start = (
        [net.constant([0], "int32")]
        + [
            net.input(spec.shape, spec.dtype, spec.scale, spec.zero_point)  # type: ignore[arg-type]
            for spec in specs[1:]
        ]
    )
    cond = below(net, specs)
    body, (count, a, b, x, y, kept) = subgraph("body", specs)
    x = body.conv2d(x, 8, scale=0.05, zero_point=3)
    y = body.add(y, x, scale=0.05, zero_point=3)
    outputs = [plus_one(body, count), b, a, x, y, kept]
    return list(loop(net, start, cond, net.subgraph(body, *outputs)))


def no_turn_or_many(net: NetworkBuilder) -> list[int]:
    """Add a WHILE with any start value, including its end value."""
    specs = [COUNT, Spec((7,), "float32")]
    start = net.input((1,), "int8", 0.1, 0)
    kinds = {"in_data_type": "int8", "out_data_type": "int32"}
    count = net.operator("CAST", [start], [COUNT], kinds)[0]
    body, (turn, x) = subgraph("body", specs)
    half = body.constant([0.5], "float32")
    none = {"fused_activation_function": "NONE"}
    y = body.operator("MUL", [x, half], [specs[1]], none)[0]
    number = net.subgraph(body, plus_one(body, turn), y)
    return list(
        loop(net, [count, net.input((7,), "float32", None)], below(net, specs, 100), number)
    )


def nested(net: NetworkBuilder) -> list[int]:
    """Add a WHILE around an IF around a WHILE."""
    specs = [COUNT, IMAGE]
    body, (count, x) = subgraph("outer", specs)
    two = body.constant([2], "int32")
    early = body.operator("LESS", [count, two], [BOOL])[0]
    then, (image,) = subgraph("then", [IMAGE])
    inner, (turn, y) = subgraph("inner", specs)
    y = inner.conv2d(y, 8, scale=0.05, zero_point=3)
    net.subgraph(inner, plus_one(inner, turn), y)
    inner_cond = below(net, specs, 3)
    states = loop(then, [then.constant([0], "int32"), image], inner_cond, 1)
    net.subgraph(then, states[1])
    other, (same,) = subgraph("else", [IMAGE], seed=4)
    net.subgraph(other, other.relu(same))
    numbers = {"then_subgraph_index": 3, "else_subgraph_index": 4}
    z = body.operator("IF", [early, x], [IMAGE], numbers)[0]
    net.subgraph(body, plus_one(body, count), z)
    cond = below(net, specs, 3)
    x = net.input((1, 4, 4, 8), scale=0.05)
    return list(loop(net, [net.constant([0], "int32"), x], cond, 5))


def accumulator(net: NetworkBuilder) -> list[int]:
    """Add a variable that starts at a value and sums its inputs."""
    first, _ = subgraph("init", [])
    assign(first, "sum", first.constant(np.full((1, 4, 4, 8), 7), "int8", 0.05, 3))
    net.operator("CALL_ONCE", [], [], {"init_subgraph_index": net.subgraph(first)})
    x = net.conv2d(net.input((1, 4, 4, 8)), 8, scale=0.05, zero_point=3)
    y = net.add(x, read(net, "sum"), scale=0.05, zero_point=3)
    assign(net, "sum", y)
    return [net.conv2d(y, 4), read(net, "sum")]


def variables(net: NetworkBuilder) -> list[int]:
    """Add variables of several types that are read before and after they are assigned."""
    outputs = []
    for dtype, scale, point in (
        ("float32", None, 0),
        ("int16", 0.1, 0),
        ("int8", 0.2, -9),
        ("uint8", 0.2, 140),
        ("bool", None, 0),
        ("int32", None, 0),
        ("int64", None, 0),
    ):
        spec = Spec((3, 5), dtype, scale, point)
        before = read(net, f"of {dtype}", spec)
        assign(net, f"of {dtype}", net.input(spec.shape, dtype, scale, point))
        outputs += [before, read(net, f"of {dtype}", spec)]
    return outputs


def variable_in_a_loop(net: NetworkBuilder) -> list[int]:
    """Add a variable that a loop's body changes."""
    specs = [COUNT, Spec((4,), "float32")]
    value = Spec((4,), "float32")
    body, (turn, x) = subgraph("body", specs)
    none = {"fused_activation_function": "NONE"}
    total = body.operator("ADD", [read(body, "total", value), x], [value], none)[0]
    assign(body, "total", total)
    number = net.subgraph(body, plus_one(body, turn), total)
    start = net.input((4,), "float32", None)
    before = read(net, "total", value)
    states = loop(net, [net.constant([0], "int32"), start], below(net, specs), number)
    assign(net, "total", read(net, "total", value))
    return [before, *states, read(net, "total", value)]


def layer_with_a_state_in_a_loop(net: NetworkBuilder) -> list[int]:
    """Add an SVDF in a loop's body; its state persists between iterations and between calls."""
    specs = [COUNT, Spec((2, 6), "float32")]
    body, (turn, x) = subgraph("body", specs)
    number = net.subgraph(body, plus_one(body, turn), svdf(body, x, 6, 3))
    start = net.input((2, 6), "float32", None)
    return list(loop(net, [net.constant([0], "int32"), start], below(net, specs), number))


def passed_handle(net: NetworkBuilder) -> list[int]:
    """Add a handle that a loop passes to its body."""
    specs = [COUNT, HANDLE, Spec((4,), "float32")]
    body, (turn, variable, x) = subgraph("body", specs)
    value = body.operator("READ_VARIABLE", [variable], [specs[2]])[0]
    none = {"fused_activation_function": "NONE"}
    total = body.operator("ADD", [value, x], [specs[2]], none)[0]
    body.operator("ASSIGN_VARIABLE", [variable, total], [])
    number = net.subgraph(body, plus_one(body, turn), variable, total)
    start = net.input((4,), "float32", None)
    kept = handle(net, "kept")
    net.operator("ASSIGN_VARIABLE", [kept, start], [])
    states = loop(net, [net.constant([0], "int32"), kept, start], below(net, specs), number)
    return [states[0], states[2], net.operator("READ_VARIABLE", [states[1]], [specs[2]])[0]]


NETWORKS = {
    build.__name__: build
    for build in (
        given_condition,
        computed_condition,
        carried,
        no_turn_or_many,
        nested,
        accumulator,
        variables,
        variable_in_a_loop,
        layer_with_a_state_in_a_loop,
        passed_handle,
    )
}
