"""The minimal network of each erratum, ready to be reported upstream.

    .venv/bin/python tests/offload/errata_networks.py FOLDER

writes them as NAME.tflite.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from networks import Network

Build = Callable[[Network], int]


def _unary(code: str, dtype: str, scale: float, out_scale: float, point: int = 0) -> Build:
    def build(net: Network) -> int:
        x = net.input((1, 4, 4, 16), dtype, scale, point)
        spec = net._like(x, (1, 4, 4, 16), scale=out_scale)
        return net.operator(code, (x,), (spec,))[0]

    return build


def _binary(code: str, dtype: str, scales: tuple[float, float, float] | None) -> Build:
    def build(net: Network) -> int:
        one, other, out = scales or (None, None, None)
        x = net.input((1, 4, 4, 4), dtype, one, 0)
        y = net.input((1, 4, 4, 4), dtype, other, 0)
        spec = net._like(x, (1, 4, 4, 4), scale=out)
        options = {"fused_activation_function": "NONE"} if code in ("ADD", "SUB", "MUL") else {}
        return net.operator(code, (x, y), (spec,), options)[0]

    return build


def _with_constant(
    code: str,
    dtype: str,
    shape: Sequence[int],
    values: Any,
    made: Sequence[int],
    options: dict[str, Any] | None = None,
    scale: float | None = 0.05,
    out_scale: float | None = None,
) -> Build:
    def build(net: Network) -> int:
        x = net.input(shape, dtype, scale, 0)
        y = net.constant(np.array(values, np.int32))
        spec = net._like(x, made, scale=out_scale or scale)
        return net.operator(code, (x, y), (spec,), options)[0]

    return build


def _transposed(net: Network, x: int, order: Sequence[int]) -> int:
    shape = net.tensors[x].shape
    by = net.constant(np.array(order, np.int32))
    return net.operator("TRANSPOSE", (x, by), (net._like(x, [shape[i] for i in order]),))[0]


def _table_behind_transpose(dtype: str) -> Build:
    def build(net: Network) -> int:
        x = _transposed(net, net.input((1, 3, 5, 8), dtype, 0.05, 0), (0, 2, 1, 3))
        spec = net._like(x, net.tensors[x].shape, scale=0.04)
        return net.operator("HARD_SWISH", (x,), (spec,))[0]

    return build


def _high_rank(net: Network) -> int:
    x = net.input((2, 3, 2, 4, 5), "int8", 0.05, 0)
    y = net.input((3, 2, 4, 5), "int8", 0.05, 0)
    spec = net._like(x, (2, 3, 2, 4, 5))
    return net.operator("MAXIMUM", (x, y), (spec,))[0]


def _pack_seven(net: Network) -> int:
    inputs = [net.input((2, 2, 1, 2, 2, 3), "int8", 0.05, 0) for _ in range(2)]
    spec = net._like(inputs[0], (2, 2, 1, 2, 2, 3, 2))
    options = {"axis": 6, "values_count": 2}
    return net.operator("PACK", inputs, (spec,), options)[0]


def _groups(net: Network) -> int:
    x = net.input((2, 6, 6, 4), "int8", 0.05, 0)
    weights = net.constant(net.random_integers((4, 3, 3, 2)), None, (0.01,) * 4, (0,) * 4)
    bias = net.constant(np.zeros(4, np.int32), None, (0.0005,) * 4, (0,) * 4)
    spec = net._like(x, (2, 6, 6, 4), scale=0.05)
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    return net.operator("CONV_2D", (x, weights, bias), (spec,), options)[0]


def _rescaling_pool(net: Network) -> int:
    x = net.input((1, 4, 4, 8), "int8", 0.05, 0)
    spec = net._like(x, (1, 2, 2, 8), scale=0.02)
    options = {"padding": "VALID", "stride_w": 2, "stride_h": 2}
    options |= {"filter_width": 2, "filter_height": 2}
    return net.operator("AVERAGE_POOL_2D", (x,), (spec,), options)[0]


def _large_bias(net: Network) -> int:
    x = net.input((1, 4, 4, 2), "int16", 0.001, 0)
    weights = net.constant(net.random_integers((1, 3, 3, 2)), None, (0.01,) * 2, (0,) * 2, 3)
    bias = net.constant(np.array([-(1 << 34), 0]), "int64", (0.00001,) * 2, (0,) * 2)
    spec = net._like(x, (1, 4, 4, 2), scale=0.00006)
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    return net.operator("DEPTHWISE_CONV_2D", (x, weights, bias), (spec,), options)[0]


NETWORKS: dict[str, Build] = {
    "mirror-pad-axes": _with_constant(
        "MIRROR_PAD", "int8", (1, 2, 2, 4), [[0, 0], [0, 0], [0, 0], [1, 1]], (1, 2, 2, 6)
    ),
    "reduce-dropped-axis": _with_constant(
        "REDUCE_MAX", "int8", (1, 4, 6, 8), [3], (1, 4, 6), {"keep_dims": False}
    ),
    "mean-five-dimensions": _with_constant(
        "MEAN", "int8", (4, 1, 1, 3, 4), [0], (1, 1, 3, 4), {"keep_dims": False}
    ),
    "sum-several-axes": _with_constant(
        "SUM", "int8", (1, 4, 5, 8), [1, 2], (1, 1, 1, 8), {"keep_dims": True}
    ),
    "sum-last-axis": _with_constant("SUM", "int16", (4, 5, 8), [2], (4, 5), {"keep_dims": False}),
    "sum-rounding": _with_constant(
        "SUM", "int8", (1, 16, 8, 8), [1], (1, 1, 8, 8), {"keep_dims": True}, 0.05, 0.11
    ),
    "transpose-uint8": lambda net: _transposed(
        net, net.input((1, 3, 5, 8), "uint8", 0.05, 0), (0, 2, 1, 3)
    ),
    "table-uint8": _table_behind_transpose("uint8"),
    "lut-beyond-shram": _table_behind_transpose("int8"),
    "high-rank-operand": _high_rank,
    "pack-seven": _pack_seven,
    "groups-of-batches": _groups,
    "pool-rescales": _rescaling_pool,
    "sum-wraps": _large_bias,
    "mul-int32": _binary("MUL", "int32", (1.0, 1.0, 1.0)),
    "int32-saturates": _binary("ADD", "int32", None),
    "neg-lowest": _unary("NEG", "int8", 0.05, 0.05),
    "relu6-scale": _unary("RELU6", "int8", 0.1, 0.03),
    "square-overflow": _binary("SQUARED_DIFFERENCE", "int16", (0.01, 0.01, 0.0001)),
}
"""By the erratum's name. Rare values show the others; test_errata.py has networks of the corpus."""


def build_network(name: str) -> bytes:
    """Return the minimal network of an erratum."""
    net = Network(name, seed=3)
    return net.build(NETWORKS[name](net))


if __name__ == "__main__":
    for name in NETWORKS:
        (Path(sys.argv[1]) / f"{name}.tflite").write_bytes(build_network(name))
