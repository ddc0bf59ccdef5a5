"""The minimal network of each erratum, ready to be reported upstream.

    .venv/bin/python -m tests.support.errata_networks

writes them to tests/errata as NAME.tflite, with a README.md that describes each error.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.offload import vela_version
from ethosgen.backend.ethosu.offload.errata_table import ERRATA, STREAM_ERRATA
from tests import ROOT
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.networks import NetworkBuilder, Spec

FOLDER = ROOT / "tests" / "errata"
PAGE = "README.md"
MANY = (1, 32, 32, 16)
"""A shape with enough elements to show errors that concern few int16 values."""

Build = Callable[[NetworkBuilder], int]


def _unary(
    code: str,
    dtype: str,
    scale: float,
    out_scale: float,
    point: int = 0,
    shape: Sequence[int] = (1, 4, 4, 16),
    options: dict[str, Any] | None = None,
) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.input(shape, dtype, scale, point)
        return net.unary(code, x, options, scale=out_scale)

    return build


def _binary(code: str, dtype: str, scales: tuple[float, float, float] | None) -> Build:
    def build(net: NetworkBuilder) -> int:
        *operands, out = scales or (None, None, None)
        x, y = (net.input((1, 4, 4, 4), dtype, scale, 0) for scale in operands)
        options = {"fused_activation_function": "NONE"} if code in ("ADD", "SUB", "MUL") else {}
        return net.apply(code, x, y, scale=out, **options)

    return build


def _rescaled_pack(net: NetworkBuilder) -> int:
    """Pack inputs of two quantizations into a tensor of a third."""
    parts = [net.input((1, 4, 4, 4), "int8", scale, 0) for scale in (0.5, 0.2)]
    return net.apply("PACK", *parts, axis=0, values_count=2, scale=0.25)


def _whole_pool(net: NetworkBuilder) -> int:
    """Average 65,536 values: only the sum of the lowest ones wraps."""
    x = net.input((1, 256, 256, 1), "int16", 1 / 32768, 0)
    return net.average_pool(x, (256, 256))


def _padded_pool(net: NetworkBuilder) -> int:
    x = net.input((1, 9, 9, 4), "int8", 0.05, 0)
    strides = {"stride_h": 4, "stride_w": 4, "filter_height": 3, "filter_width": 3}
    return net.apply("MAX_POOL_2D", x, padding="SAME", **strides)


def _quotient(net: NetworkBuilder) -> int:
    """Divide by a constant: the NPU model faults where a divisor is 0."""
    x = net.input((1, 4, 4, 4), "int8", 0.05, 0)
    y = net.constant(np.full((1, 4, 4, 4), 3, np.int8), scale=0.5)
    return net.apply("DIV", x, y, scale=0.1)


def _order(dtype: str, first: float, second: float) -> Build:
    """Compare each element of one input with each of another."""

    def build(net: NetworkBuilder) -> int:
        x, y = net.input((64, 1), dtype, first, 0), net.input((1, 64), dtype, second, 0)
        return net.apply("LESS", x, y)

    return build


def _with_constant(
    code: str,
    dtype: str,
    shape: Sequence[int],
    values: Any,
    options: dict[str, Any] | None = None,
    scale: float | None = 0.05,
    out_scale: float | None = None,
) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.input(shape, dtype, scale, 0)
        return net.apply(code, x, values, scale=out_scale or scale, **(options or {}))

    return build


def _table_behind_transpose(dtype: str) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.apply("TRANSPOSE", net.input((1, 3, 5, 8), dtype, 0.05, 0), (0, 2, 1, 3))
        return net.unary("HARD_SWISH", x, scale=0.04)

    return build


def _high_rank(net: NetworkBuilder) -> int:
    x = net.input((2, 3, 2, 4, 5), "int8", 0.05, 0)
    y = net.input((3, 2, 4, 5), "int8", 0.05, 0)
    return net.maximum(x, y)


def _pack_seven(net: NetworkBuilder) -> int:
    inputs = [net.input((2, 2, 1, 2, 2, 3), "int8", 0.05, 0) for _ in range(2)]
    return net.apply("PACK", *inputs, axis=6, values_count=2)


def _groups(net: NetworkBuilder) -> int:
    x = net.input((2, 6, 6, 4), "int8", 0.05, 0)
    weights = net.constant(net.random_integers((4, 3, 3, 2)), None, (0.01,) * 4, (0,) * 4)
    bias = net.constant(np.zeros(4, np.int32), None, (0.0005,) * 4, (0,) * 4)
    return net.apply("CONV_2D", x, weights, bias, padding="SAME", stride_w=1, stride_h=1)


def _apart_windows(net: NetworkBuilder) -> int:
    x, shape = net.input((1, 2, 2, 4), "int8", 0.05, 0), (1, 6, 6, 4)
    weights = net.constant(net.random_integers((4, 1, 1, 4)), None, (0.01,) * 4, (0,) * 4)
    sizes = net.integers(shape)
    options = {"padding": "SAME", "stride_w": 3, "stride_h": 3}
    return net.apply("TRANSPOSE_CONV", sizes, weights, x, **options)


def _rescaling_pool(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 4, 8), "int8", 0.05, 0)
    return net.average_pool(x, (2, 2), scale=0.02)


def _large_scale(net: NetworkBuilder) -> int:
    return net.conv2d(net.input((1, 2, 2, 8), "int8", 3e8, 0), 4, (1, 1), scale=3e9)


def _one_step(net: NetworkBuilder) -> int:
    return lstm(net, net.input((1, 3, 4), "int8", 0.05, 0), 6, by_time=True)


def _squeeze_of_scaled_integers(net: NetworkBuilder) -> int:
    x = net.input((1, 5, 6, 8), "int32", 48.5, 0)
    return net.apply("SQUEEZE", x, squeeze_dims=(0,), scale=None)


_DEPTHWISE = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}


def _large_bias(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 4, 2), "int16", 0.001, 0)
    weights = net.constant(net.random_integers((1, 3, 3, 2)), None, (0.01,) * 2, (0,) * 2, 3)
    bias = net.constant(np.array([-(1 << 34), 0]), "int64", (0.00001,) * 2, (0,) * 2)
    return net.apply("DEPTHWISE_CONV_2D", x, weights, bias, scale=0.00006, **_DEPTHWISE)


def _shifted_sum(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 4, 2), "int8", 10.0, 0)
    weights = net.constant(net.random_integers((1, 3, 3, 2)), None, (0.1,) * 2, (0,) * 2, 3)
    bias = net.constant(np.array([1 << 25, 0]), "int32", (1.0,) * 2, (0,) * 2)
    return net.apply("DEPTHWISE_CONV_2D", x, weights, bias, scale=0.01, **_DEPTHWISE)


def _clipped_lstm(net: NetworkBuilder) -> int:
    return lstm(net, net.input((1, 3, 4), "int8", 0.05, 0), 4, cell_clip=0.5)


def _deepened(net: NetworkBuilder) -> int:
    """Return a resized input with two channels, which the output declares as four."""
    x, size = net.input((1, 4, 4, 2)), net.constant(np.array([8, 8], np.int32))
    spec = net.like(x, (1, 8, 8, 4))
    options = {"align_corners": False, "half_pixel_centers": False}
    return net.operator("RESIZE_NEAREST_NEIGHBOR", (x, size), (spec,), options)[0]


def _column(net: NetworkBuilder) -> int:
    x = net.max_pool(net.input((1, 4, 1, 1), "int8", 0.05, 0), (1, 1))
    return net.apply("RESIZE_NEAREST_NEIGHBOR", x, (25, 1), align_corners=True)


def _nearest(net: NetworkBuilder) -> int:
    return net.apply("RESIZE_NEAREST_NEIGHBOR", net.input((1, 5, 4, 2)), (3, 6))


def _padded_transpose(net: NetworkBuilder) -> int:
    x = net.transpose(net.input((1, 4, 6, 8), "int8", 0.01, 0), (0, 1, 3, 2))
    return net.pad(net.tanh(x), ((0, 0), (0, 2), (2, 0), (0, 0)))


def _unsigned_layer(net: NetworkBuilder) -> int:
    x = net.input((16, 64), "uint8", 0.0096, 128)
    return net.fully_connected(x, 16, scale=0.01, zero_point=128)


def _unsigned_product(net: NetworkBuilder) -> int:
    product = net.fully_connected(net.input((4, 8), "int8", 0.05, 0), 16, scale=0.05, zero_point=0)
    return net.quantize(product, "uint8", 0.05, 128)


def _quantized_constant(net: NetworkBuilder) -> int:
    values = net.constant(net.random_integers((1, 4, 4, 8)), None, 0.05, 5)
    x = net.input((1, 4, 4, 8), "int8", 0.05, 5)
    return net.add(x, net.quantize(values, "int8", 0.05, 5))


def _part(net: NetworkBuilder, rows: int, step: int = 1) -> int:
    """Add an input, and a part of it: all rows from row 2, or every second row."""
    x = net.input((1, 8, 6, 8), "int8", 0.05, 0)
    limits = ([0, 2, 0, 0], [1, 2 + rows * step, 6, 8], [1, step, 1, 1])
    return net.apply("STRIDED_SLICE", x, *limits)


def _padded_part(net: NetworkBuilder) -> int:
    return net.depthwise(_part(net, 4), multiplier=2)


def _stepped_padding(net: NetworkBuilder) -> int:
    return net.depthwise(_part(net, 3, 2))


def _stepped_operand(net: NetworkBuilder) -> int:
    return net.maximum(_part(net, 3, 2), net.input((1, 3, 6, 8), "int8", 0.05, 0))


def _reduced_part(net: NetworkBuilder) -> int:
    return net.apply("REDUCE_MAX", _part(net, 4), [3], keep_dims=True)


def _slice_after_state(net: NetworkBuilder) -> int:
    return net.apply("SLICE", svdf(net, net.input((2, 8)), 3, 4, rank=2), [1, 1], [1, 2])


def _select_rows(net: NetworkBuilder) -> int:
    flags = net.input((4,), "bool", None)
    return net.apply("SELECT", flags, net.input((4, 4)), net.input((4, 4)))


def _product(net: NetworkBuilder, x: int) -> int:
    """Multiply with a matrix that is an input too."""
    *before, _, depth = net.tensors[x].shape
    y = net.input((*before, depth, 5), "int8", 0.4, 7)
    return net.apply("BATCH_MATMUL", x, y, scale=1.8, zero_point=3)


def _multiplied_part(net: NetworkBuilder) -> int:
    x = net.input((1, 1, 8, 14), "int8", 0.05, 7)
    return _product(net, net.apply("SLICE", x, [0, 0, 2, 0], [1, 1, 3, 14]))


def _product_into_part(net: NetworkBuilder) -> int:
    product = _product(net, net.input((1, 2, 3, 14), "int8", 0.05, 7))
    return net.pad(product, ((0, 0), (1, 0), (0, 0), (0, 0)))


def _flattened_product(net: NetworkBuilder) -> int:
    x, weights = net.input((2, 2, 7), "int8", 0.05, 7), net.input((5, 14), "int8", 0.4, 7)
    return net.apply("FULLY_CONNECTED", x, weights, scale=1.8, zero_point=3)


_ONE, _OTHER, _OF_BOTH = 0.08050999790430069, 0.06768999993801117, 0.05813036486506462
"""Scales with which 720, the product of many pairs, is between two results."""


def _single_product(net: NetworkBuilder) -> int:
    x, y = net.input((1, 32, 1), scale=_ONE, zero_point=0), net.input((1, 1, 32), scale=_OTHER)
    return net.apply("BATCH_MATMUL", x, y, scale=_OF_BOTH)


def _single_layer(net: NetworkBuilder) -> int:
    x, weights = net.input((32, 1), scale=_ONE, zero_point=0), net.input((32, 1), scale=_OTHER)
    return net.apply("FULLY_CONNECTED", x, weights, scale=_OF_BOTH)


def _clipped_quotient(net: NetworkBuilder) -> int:
    """Divide by a constant: the NPU model faults where a divisor is 0."""
    divisors = net.constant(np.array([3, -2, 7, 1], np.int32))
    x = net.input((1, 4, 4, 4), "int32", None)
    return net.apply("DIV", x, divisors, fused_activation_function="RELU")


def _scaled_quotient(net: NetworkBuilder) -> int:
    divisors = net.constant(np.array([3, -2, 7, 1], np.int32))
    x = net.input((1, 4, 4, 4), "int32", 0.1, 0)
    return net.operator("DIV", [x, divisors], [Spec((1, 4, 4, 4), "int32", None)])[0]


def _narrow_bias(net: NetworkBuilder) -> int:
    x = net.input((3, 12), "int16", 1e-3, 0)
    weights = net.constant(net.random.integers(-127, 128, (4, 12)).astype(np.int8), scale=6e-3)
    bias = net.constant(np.array([100, -20000, 3, 4], np.int32), scale=6e-6)
    return net.apply("FULLY_CONNECTED", x, weights, bias)


def _chained_tables(net: NetworkBuilder) -> int:
    x, y = (net.input((1, 4, 4, 8), "int16", 2.0**-13, 0) for _ in range(2))
    product = net.mul(net.unary("EXP", x, scale=2.0**-12), y, scale=2.0**-13)
    return net.unary("EXP", product, scale=2.0**-10)


NETWORKS: dict[str, Build] = {
    "mirror-pad-axes": _with_constant(
        "MIRROR_PAD", "int8", (1, 2, 2, 4), [[0, 0], [0, 0], [0, 0], [1, 1]]
    ),
    "reduce-dropped-axis": _with_constant(
        "REDUCE_MAX", "int8", (1, 4, 6, 8), [3], {"keep_dims": False}
    ),
    "mean-five-dimensions": _with_constant(
        "MEAN", "int8", (4, 1, 1, 3, 4), [0], {"keep_dims": False}
    ),
    "sum-several-axes": _with_constant("SUM", "int8", (1, 4, 5, 8), [1, 2], {"keep_dims": True}),
    "sum-last-axis": _with_constant("SUM", "int16", (4, 5, 8), [2], {"keep_dims": False}),
    "sum-rounding": _with_constant(
        "SUM", "int8", (1, 16, 8, 8), [1], {"keep_dims": True}, 0.05, 0.11
    ),
    "copy-rescales": _rescaled_pack,
    "transpose-uint8": lambda net: net.apply(
        "TRANSPOSE", net.input((1, 3, 5, 8), "uint8", 0.05, 0), (0, 2, 1, 3)
    ),
    "table-uint8": _table_behind_transpose("uint8"),
    "lut-beyond-shram": _table_behind_transpose("int8"),
    "high-rank-operand": _high_rank,
    "pack-seven": _pack_seven,
    "groups-of-batches": _groups,
    "lstm-one-step": _one_step,
    "reshape-int32": _squeeze_of_scaled_integers,
    "pool-rescales": _rescaling_pool,
    "sum-wraps": _large_bias,
    "shift-wraps": _shifted_sum,
    "pool-wraps": _whole_pool,
    "scale-range": _large_scale,
    "mul-int32": _binary("MUL", "int32", (1.0, 1.0, 1.0)),
    "int32-saturates": _binary("ADD", "int32", None),
    "neg-lowest": _unary("NEG", "int8", 0.05, 0.05),
    "relu6-scale": _unary("RELU6", "int8", 0.1, 0.03),
    "square-overflow": _binary("SQUARED_DIFFERENCE", "int16", (0.01, 0.01, 0.0001)),
    "padded-part": _padded_part,
    "stepped-padding": _stepped_padding,
    "stepped-operand": _stepped_operand,
    "reduced-part": _reduced_part,
    "slice-after-state": _slice_after_state,
    "select-rows": _select_rows,
    "flattened-product": _flattened_product,
    "multiplied-part": _multiplied_part,
    "product-into-part": _product_into_part,
    "lstm-cell-clip": _clipped_lstm,
    "resize-cascade": _column,
    "resize-depth": _deepened,
    "resize-nearest": _nearest,
    "transpose-into-part": _padded_transpose,
    "fully-connected-single": _single_layer,
    "batch-matmul-single": _single_product,
    "log-last-segment": _unary("LOG", "int16", 2.56e-5, 8.52e-6, 0, MANY),
    "logistic-fixed-point": _unary("LOGISTIC", "int8", 1 / 256, 1 / 256, -128),
    "rescale-into-producer": _unsigned_product,
    "computed-constant": _quantized_constant,
    "gelu-precision": _unary("GELU", "int8", 0.05, 0.06, 0, MANY, {"approximate": False}),
    "elu-table": _unary("ELU", "int8", 0.5, 4.0, -128),
    "exp-table": _unary("EXP", "int8", 0.25, 0.02, 0),
    "curve-overflow": _unary("TANH", "int16", 100.0, 2.0**-15),
    "rsqrt-int16": _unary("RSQRT", "int16", 6.4e-4, 6.5e-4, 0, (1, 8, 8, 16)),
    "softmax-int16": _unary("SOFTMAX", "int16", 2.1e-5, 2.0**-15, 0, MANY, {"beta": 1.0}),
    "factor-float": _unary("RELU", "int16", 3.396252577658743e-05, 1.2145474101998843e-05, 0, MANY),
    "fully-connected-rounding": _unsigned_layer,
    "div-stored": _quotient,
    "comparison-rounding": _order("int8", 0.00129, 0.00111),
    "comparison-int32": _order("int32", 0.1, 0.2),
    "order-int16": _order("int16", 1 / 256, 1 / 128),
    "bias-32-bits": _narrow_bias,
    "div-relu": _clipped_quotient,
    "div-scales": _scaled_quotient,
    "chained-tables": _chained_tables,
    "transpose-conv-gap": _apart_windows,
    "max-pool-padding": _padded_pool,
    "int64-copies": _with_constant("REVERSE_V2", "int64", (3, 5, 5), [1], {}, None),
}
"""Builders by the erratum's name."""

NPU = "ethos-u55-32"
OTHER_NPU = {
    "transpose-into-part": "ethos-u55-128",
    **dict.fromkeys(
        (
            *("resize-nearest", "div-stored", "comparison-rounding", "order-int16"),
            *("comparison-int32", "chained-tables", "bias-32-bits", "div-relu", "div-scales"),
            *("int64-copies", "transpose-conv-gap", "max-pool-padding", "select-rows"),
        ),
        "ethos-u85-128",
    ),
}
"""The NPU for networks on which NPU shows another erratum."""
OPTIMISE = {"resize-cascade": "Size"}
"""Vela's --optimise if it is not Performance: it cascades such small networks."""


def npu_of(name: str) -> str:
    """Return the NPU on which an erratum's network shows the erratum."""
    return OTHER_NPU.get(name, NPU)


def build_network(name: str) -> bytes:
    """Return the minimal network of an erratum."""
    net = NetworkBuilder(name, seed=3)
    return net.build(NETWORKS[name](net))


HEAD = f"""# A network for each erratum

Found with Vela {vela_version()} on ethosgen's model of the NPU. TensorFlow Lite Micro, or LiteRT
where TensorFlow Lite Micro lacks the operator, answers otherwise to random samples.
`tests/support/errata_networks.py` writes this folder, and
`tests/backend/ethosu/offload/test_errata.py` shows the differences.

| network | whose | what | source | Vela's options |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the page with the facts for reporting each erratum."""
    return HEAD + "".join(
        f"| {e.name} | {e.owner} | {e.sentence} | {e.source} | {_compile(e.name)} |\n"
        for e in (*ERRATA, *STREAM_ERRATA)
    )


def _compile(name: str) -> str:
    optimise = OPTIMISE.get(name)
    more = f" --optimise {optimise}" if optimise else ""
    return f"`--accelerator-config {npu_of(name)}{more}`"


def write(folder: Path) -> None:
    """Write the networks and the page."""
    folder.mkdir(exist_ok=True)
    (folder / PAGE).write_text(page())
    for name in NETWORKS:
        (folder / f"{name}.tflite").write_bytes(build_network(name))


if __name__ == "__main__":
    write(FOLDER)
