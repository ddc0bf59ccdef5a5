"""Small networks with one operator each, for every operator and type of the movable families.

A case adds inputs, constants and its operator to a Bench and returns the outputs to compare. Many
cases share one network, so that one run of a compiler and of the reference serves them all.
"""

from collections.abc import Sequence

import numpy as np

from tests.support.catalogue.bench import PLAIN, Bench, Build
from tests.support.catalogue.elementwise import (
    QUANTIZE_PAIRS,
    add_n,
    binary,
    cast,
    divide_by_anything,
    divide_int8,
    gelu,
    hard_swish,
    leaky_relu,
    logistic_or_tanh,
    prelu,
    quantize,
    relu6,
    rsqrt_int16,
    same_scale_quantize,
    select_rows,
    tile,
    unary,
    update_slice,
)
from tests.support.catalogue.litert import (
    atan2,
    curve,
    divide_int16,
    floor_by,
    power,
    scatter_nd,
    top_k,
)
from tests.support.catalogue.moves import (
    batch_to_space,
    broadcast_to,
    concatenation,
    depth_to_space,
    mirror_pad,
    pack,
    pad,
    padv2_at_run_time,
    resize,
    reverse,
    slice_,
    space_to_batch,
    space_to_depth,
    split,
    split_v,
    strided_slice,
    transpose,
    unpack,
)
from tests.support.networks import Spec

# ---- choices -------------------------------------------------------------------------------------


def select(net: Bench, dtype: str) -> Sequence[int]:
    outputs = []
    for shapes in (((2, 3, 4),) * 3, ((4,), (2, 3, 4), (3, 1)), ((2, 1, 1), (3, 4), ())):
        condition = net.feed(shapes[0], "bool")
        a, b = (net.feed(shape, dtype, scale=0.1, zero_point=0) for shape in shapes[1:])
        outputs.append(net.apply("SELECT_V2", condition, a, b))
    return outputs


def gather(net: Bench, dtype: str) -> Sequence[int]:
    outputs = []
    for axis, batch, indices in (
        (0, 0, (3, 2)),
        (1, 0, (4,)),
        (-1, 0, (2,)),
        (1, 1, (4, 3)),
        (2, -1, (4, 3)),
        (1, 1, (4,)),  # a place for each batch
    ):
        x, places = net.feed((4, 5, 6), dtype), net.feed(indices, "int32", 0, 3)
        outputs.append(net.apply("GATHER", x, places, axis=axis, batch_dims=batch))
    return [*outputs, net.apply("GATHER", net.feed((4, 5), dtype), ((3, 0), (1, 1)), axis=0)]


def gather_nd(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("GATHER_ND", net.feed((3, 4, 5), dtype), net.feed(indices, "int32", 0, 2))
        for indices in ((3, 1), (2, 2, 2), (4, 3))
    ]


def embedding_lookup(net: Bench, dtype: str) -> Sequence[int]:
    outputs = []
    for target in ("float32", "int8") if dtype == "int8" else ("float32",):
        x = net.feed((6, 3, 2), dtype, zero_point=0)
        places = net.feed((4,), "int32", 0, 5)
        plain = {} if target == dtype else {"dtype": target, "scale": None}
        outputs.append(net.apply("EMBEDDING_LOOKUP", places, x, **plain))
    return outputs


def shape(net: Bench, dtype: str) -> Sequence[int]:
    return [net.apply("SHAPE", net.feed((2, 3, 4), dtype), out_type="int32")]


def fill(net: Bench, dtype: str) -> Sequence[int]:
    value = net.feed((), dtype)
    return [net.apply("FILL", (2, 3, 4), value)]


def zeros_like(net: Bench, dtype: str) -> Sequence[int]:
    return [net.apply("ZEROS_LIKE", net.feed((2, 3, 4), dtype))]


def broadcast_args(net: Bench, dtype: str) -> Sequence[int]:
    a, b = net.constant([3, 1], dtype), net.feed((3,), dtype, 4, 4)
    c, d = net.feed((2,), dtype, 1, 1), net.constant([5, 7], dtype)
    return [
        net.make("BROADCAST_ARGS", [c, b], Spec((3,), dtype)),
        net.make("BROADCAST_ARGS", [d, c], Spec((2,), dtype)),
        net.make("BROADCAST_ARGS", [c, a], Spec((2,), dtype)),
    ]


# ---- along axes ----------------------------------------------------------------------------------


def reduction(code: str, same: bool = False) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        outputs = []
        for axes, keep in (((1, 2), True), ((0,), False), ((-1, 1), False), ((0, 1, 2, 3), True)):
            x = net.feed(net.sizes(4), dtype)
            drawn = net.to(dtype, (), x if same else None)
            to = {"scale": drawn.scale, "zero_point": drawn.zero_point}
            outputs.append(net.apply(code, x, axes, keep_dims=keep, **to))
        return outputs

    return build


def arg(code: str) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        return [
            net.apply(code, net.feed(net.sizes(3), dtype), np.array(axis), output_type="int32")
            for axis in (0, 1, -1)
        ]

    return build


def cumsum(net: Bench, dtype: str) -> Sequence[int]:
    outputs = []
    for axis, exclusive, backwards in ((0, False, False), (1, True, False), (-1, True, True)):
        x = net.feed(net.sizes(3), dtype)
        drawn = net.to(dtype, ())
        to = {"scale": drawn.scale, "zero_point": drawn.zero_point}
        options = {"exclusive": exclusive, "reverse": backwards}
        outputs.append(net.apply("CUMSUM", x, np.array(axis), **options, **to))
    return outputs


def log_softmax(net: Bench, dtype: str) -> Sequence[int]:
    to = {"scale": 16 / 256, "zero_point": 127} if dtype == "int8" else {}
    return [
        net.apply("LOG_SOFTMAX", net.feed(net.sizes(3), dtype, scale=scale if to else None), **to)
        for scale in (0.05, 0.2, 0.011)
    ]


def l2_normalization(net: Bench, dtype: str) -> Sequence[int]:
    to = {"scale": 1 / 128, "zero_point": 0} if dtype == "int8" else {}
    return [
        net.apply(
            "L2_NORMALIZATION", net.feed((5, depth), dtype, zero_point=5 if to else None), **PLAIN,
            **to,
        )
        for depth in (1, 3, 70)
    ]  # fmt: skip


# ---- all of them ---------------------------------------------------------------------------------

QUANTIZED, UNQUANTIZED = ("int8", "int16"), ("int32", "float32")
NUMBERS = ("int8", "int16", "int32", "float32")
EVERY = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
FUSED = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")

TABLE: list[tuple[str, tuple[str, ...], Build]] = [
    ("ADD", (*QUANTIZED, *UNQUANTIZED), binary("ADD", FUSED)),
    ("SUB", (*QUANTIZED, *UNQUANTIZED), binary("SUB", FUSED)),
    ("MUL", (*QUANTIZED, *UNQUANTIZED), binary("MUL", FUSED)),
    ("DIV", ("int32",), binary("DIV", FUSED, 1, 50)),
    ("DIV", ("float32",), binary("DIV", FUSED, 0.5, 9)),
    ("DIV", ("int8",), divide_int8),
    ("DIV", ("int8",), divide_by_anything),
    ("SQUARED_DIFFERENCE", QUANTIZED, binary("SQUARED_DIFFERENCE", scale=0.9)),
    ("SQUARED_DIFFERENCE", UNQUANTIZED, binary("SQUARED_DIFFERENCE")),
    ("ADD_N", ("int8", "float32"), add_n),
    ("MINIMUM", (*QUANTIZED, *UNQUANTIZED, "int64"), binary("MINIMUM", same=True)),
    ("MAXIMUM", (*QUANTIZED, *UNQUANTIZED, "int64"), binary("MAXIMUM", same=True)),
    ("FLOOR_DIV", ("float32",), binary("FLOOR_DIV", (), 0.3, 2)),
    ("FLOOR_MOD", ("float32",), binary("FLOOR_MOD", (), -2, -0.3)),
    *(
        (code, ("int8", "int32", "int64", "float32"), binary(code, result="bool"))
        for code in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    ),
    *(
        (code, ("int16",), binary(code, result="bool", same=True))
        for code in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    ),
    ("GELU", ("int8", "float32"), gelu),
    ("TILE", EVERY, tile),
    ("SELECT", EVERY, select_rows),
    ("DYNAMIC_UPDATE_SLICE", NUMBERS, update_slice),
    ("EQUAL", ("bool",), binary("EQUAL", result="bool")),
    ("NOT_EQUAL", ("bool",), binary("NOT_EQUAL", result="bool")),
    ("LOGICAL_AND", ("bool",), binary("LOGICAL_AND")),
    ("LOGICAL_OR", ("bool",), binary("LOGICAL_OR")),
    ("LOGICAL_NOT", ("bool",), unary("LOGICAL_NOT")),
    ("ABS", (*QUANTIZED, "float32"), unary("ABS")),
    ("ABS", QUANTIZED, unary("ABS", same=True)),
    *(
        (code, ("float32",), unary(code))
        for code in ("NEG", "EXP", "SIN", "COS", "CEIL", "FLOOR", "ROUND", "SQUARE")
    ),
    *((code, ("float32",), unary(code, 0.01, 50)) for code in ("LOG", "SQRT", "RSQRT")),
    ("RSQRT", ("int8",), unary("RSQRT", -5, 127, zero_point=-5)),
    ("RSQRT", ("int16",), rsqrt_int16),
    ("RELU", (*QUANTIZED, "float32"), unary("RELU")),
    ("RELU_N1_TO_1", ("int8", "float32"), unary("RELU_N1_TO_1")),
    ("RELU_0_TO_1", ("int8", "float32"), unary("RELU_0_TO_1")),
    ("RELU6", QUANTIZED, relu6),
    ("RELU6", ("float32",), unary("RELU6", -2, 9)),
    ("LOGISTIC", (*QUANTIZED, "float32"), logistic_or_tanh("LOGISTIC")),
    ("TANH", (*QUANTIZED, "float32"), logistic_or_tanh("TANH")),
    ("LEAKY_RELU", (*QUANTIZED, "float32"), leaky_relu),
    ("PRELU", (*QUANTIZED, "float32"), prelu),
    ("HARD_SWISH", ("int8", "float32"), hard_swish),
    ("ELU", ("int8", "float32"), unary("ELU")),
    ("QUANTIZE", tuple(QUANTIZE_PAIRS), quantize),
    ("QUANTIZE", ("int8", "uint8"), same_scale_quantize),
    ("DEQUANTIZE", ("int8", "uint8", "int16"), unary("DEQUANTIZE", out={"dtype": "float32"})),
    ("CAST", ("int8", "int16", "int32", "uint32", "float32", "bool"), cast),
    ("CONCATENATION", (*NUMBERS, "int64", "bool"), concatenation),
    ("PACK", (*NUMBERS, "int64"), pack),
    ("UNPACK", NUMBERS, unpack),
    ("SPLIT", NUMBERS, split),
    ("SPLIT_V", NUMBERS, split_v),
    ("PAD", NUMBERS, pad("PAD")),
    ("PADV2", NUMBERS, pad("PADV2")),
    ("PADV2", NUMBERS, padv2_at_run_time),
    ("TRANSPOSE", (*QUANTIZED, "float32"), transpose),
    ("SLICE", (*NUMBERS, "bool"), slice_),
    ("STRIDED_SLICE", (*NUMBERS, "bool"), strided_slice),
    ("MIRROR_PAD", ("int8", "float32"), mirror_pad),
    ("SPACE_TO_DEPTH", ("int8", "float32"), space_to_depth),
    ("DEPTH_TO_SPACE", ("int8", "float32"), depth_to_space),
    ("SPACE_TO_BATCH_ND", ("int8", "float32"), space_to_batch),
    ("BATCH_TO_SPACE_ND", ("int8", "float32"), batch_to_space),
    ("BROADCAST_TO", EVERY, broadcast_to),
    ("REVERSE_V2", EVERY, reverse),
    ("RESIZE_NEAREST_NEIGHBOR", (*QUANTIZED, "float32"), resize("RESIZE_NEAREST_NEIGHBOR")),
    ("RESIZE_BILINEAR", ("int8", "float32"), resize("RESIZE_BILINEAR")),
    ("SELECT_V2", EVERY, select),
    ("GATHER", ("int8", "float32"), gather),
    ("GATHER_ND", ("int8", "float32"), gather_nd),
    ("EMBEDDING_LOOKUP", ("int8", "float32"), embedding_lookup),
    ("SHAPE", EVERY, shape),
    ("FILL", EVERY, fill),
    ("ZEROS_LIKE", ("int8", "int32", "int64", "float32"), zeros_like),
    ("BROADCAST_ARGS", ("int32", "int64"), broadcast_args),
    ("MEAN", (*QUANTIZED, "float32"), reduction("MEAN")),
    ("SUM", (*QUANTIZED, "float32"), reduction("SUM")),
    ("REDUCE_MAX", ("int8", "float32"), reduction("REDUCE_MAX", same=True)),
    ("REDUCE_MIN", ("int8", "float32"), reduction("REDUCE_MIN", same=True)),
    ("REDUCE_ALL", ("bool",), reduction("REDUCE_ALL")),
    ("ARG_MAX", ("int8", "float32"), arg("ARG_MAX")),
    ("ARG_MIN", ("int8", "float32"), arg("ARG_MIN")),
    ("CUMSUM", ("int8", "float32"), cumsum),
    ("LOG_SOFTMAX", ("int8", "float32"), log_softmax),
    ("L2_NORMALIZATION", ("int8", "float32"), l2_normalization),
    ("SIGN", UNQUANTIZED, unary("SIGN")),
    ("NEG", (*QUANTIZED, "int32", "int64"), unary("NEG")),
    ("ABS", ("int32",), unary("ABS")),
    ("EXP", QUANTIZED, curve("EXP", 0.0004, 0.03)),
    ("LOG", QUANTIZED, curve("LOG", 0.002, 0.08)),
    ("GELU", ("int16",), curve("GELU", 0.0003, 0.04)),
    ("SPLIT", ("int64",), split),
    ("SPLIT_V", ("int64",), split_v),
    ("UNPACK", ("bool",), unpack),
    ("PAD", ("int64", "bool"), pad("PAD")),
    ("PADV2", ("int64", "bool"), pad("PADV2")),
    ("TRANSPOSE", ("int32", "int64", "bool"), transpose),
    ("SPACE_TO_DEPTH", ("int32", "int64"), space_to_depth),
    ("DEPTH_TO_SPACE", ("int32", "int64"), depth_to_space),
    ("SLICE", ("int64",), slice_),
    ("STRIDED_SLICE", ("int64",), strided_slice),
    ("DYNAMIC_UPDATE_SLICE", ("int64", "bool"), update_slice),
    ("MIRROR_PAD", ("int16", "int32", "int64", "bool"), mirror_pad),
    ("SPACE_TO_BATCH_ND", ("int16", "int32", "int64", "bool"), space_to_batch),
    ("BATCH_TO_SPACE_ND", ("int16", "int32", "int64", "bool"), batch_to_space),
    ("GATHER", ("int16", "int32", "int64", "bool"), gather),
    ("GATHER_ND", ("int16", "int32", "int64", "bool"), gather_nd),
    ("REDUCE_MAX", ("int16", "int32", "int64"), reduction("REDUCE_MAX", same=True)),
    ("REDUCE_MIN", ("int16", "int32", "int64"), reduction("REDUCE_MIN", same=True)),
    ("ARG_MAX", ("int32",), arg("ARG_MAX")),
    ("ARG_MIN", ("int32",), arg("ARG_MIN")),
    ("MEAN", ("int32", "int64"), reduction("MEAN")),
    ("SUM", ("int32", "int64"), reduction("SUM")),
    ("CAST", ("int64", "uint8"), cast),
    ("RESIZE_BILINEAR", ("int16",), resize("RESIZE_BILINEAR")),
    ("DIV", ("int16",), divide_int16),
    *(
        (code, ("int16",), binary(code, result="bool"))
        for code in ("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    ),
    ("FLOOR_DIV", ("int8", "int16", "int32"), floor_by("FLOOR_DIV")),
    ("FLOOR_MOD", ("int8", "int16", "int32", "int64"), floor_by("FLOOR_MOD")),
    ("POW", UNQUANTIZED, power),
    ("ATAN2", ("float32",), atan2),
    ("REDUCE_ANY", ("bool",), reduction("REDUCE_ANY")),
    ("TOPK_V2", ("int8", "uint8", "int16", "int32", "int64", "float32"), top_k),
    ("SCATTER_ND", ("int8", "uint8", "int32", "int64", "float32", "bool"), scatter_nd),
]

CASES: dict[str, tuple[str, str, Build]] = {}
for _code, _dtypes, _build in TABLE:
    for _dtype in _dtypes:
        _name = f"{_code} {_dtype}"
        while _name in CASES:
            _name += ", again"
        CASES[_name] = (_code, _dtype, _build)
