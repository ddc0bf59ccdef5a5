"""The operators of the corpus: all in Vela's SUPPORTED_OPS.md for TFLite on U55 and U65."""

from collections.abc import Callable

from tests.corpus.choices import Choices
from tests.corpus.draft import Case
from tests.corpus.operators import (
    activations,
    compound,
    elementwise,
    pools,
    recurrent,
    shapes,
    weighted,
)

Generator = Callable[[Choices, str], Case]

EIGHT = ("int8", "uint8")
ALL = ("int8", "uint8", "int16")

OPERATORS: dict[str, tuple[Generator, tuple[str, ...]]] = {
    "ABS": (elementwise.absolute, ALL),
    "ADD": (elementwise.add, (*ALL, "int32")),
    "ARG_MAX": (pools.arg_max, EIGHT),
    "AVERAGE_POOL_2D": (pools.average_pool, ALL),
    "BATCH_MATMUL": (weighted.batch_matmul, ("int8",)),
    "CONCATENATION": (shapes.concatenation, ALL),
    "CONV_2D": (weighted.conv2d, ALL),
    "DEPTHWISE_CONV_2D": (weighted.depthwise, ALL),
    "ELU": (activations.elu, ("int8",)),
    "EXP": (activations.exp, ALL),
    "EXPAND_DIMS": (shapes.expand_dims, (*ALL, "int32")),
    "FULLY_CONNECTED": (weighted.fully_connected, ALL),
    "GELU": (activations.gelu, EIGHT),
    "HARD_SWISH": (activations.hard_swish, EIGHT),
    "LEAKY_RELU": (activations.leaky_relu, ALL),
    "LOG": (activations.log, ("int8", "int16")),
    "LOGISTIC": (activations.logistic, ALL),
    "MAXIMUM": (elementwise.maximum, ALL),
    "MAX_POOL_2D": (pools.max_pool, ALL),
    "MEAN": (pools.mean, ALL),
    "MINIMUM": (elementwise.minimum, ALL),
    "MIRROR_PAD": (shapes.mirror_pad, (*ALL, "int32")),
    "MUL": (elementwise.mul, (*ALL, "int32")),
    "NEG": (elementwise.negative, (*ALL, "int32")),
    "PACK": (shapes.pack, ALL),
    "PAD": (shapes.pad, ALL),
    "PADV2": (shapes.pad_v2, ALL),
    "PRELU": (elementwise.prelu, ALL),
    "QUANTIZE": (activations.quantize, ALL),
    "REDUCE_MAX": (pools.reduce_max, ALL),
    "REDUCE_MIN": (pools.reduce_min, ALL),
    "RELU": (activations.relu, ALL),
    "RELU6": (activations.relu6, ALL),
    "RELU_0_TO_1": (activations.relu_0_to_1, ALL),
    "RELU_N1_TO_1": (activations.relu_n1_to_1, ALL),
    "RESHAPE": (shapes.reshape, (*ALL, "int32")),
    "RESIZE_BILINEAR": (shapes.resize_bilinear, ALL),
    "RESIZE_NEAREST_NEIGHBOR": (shapes.resize_nearest, ALL),
    "REVERSE_V2": (shapes.reverse, ALL),
    "RSQRT": (activations.rsqrt, ("int8", "int16")),
    "SLICE": (shapes.slice_, ALL),
    "SOFTMAX": (activations.softmax, ALL),
    "SPLIT": (shapes.split, ALL),
    "SPLIT_V": (shapes.split_v, ALL),
    "SQUARED_DIFFERENCE": (elementwise.squared_difference, ALL),
    "SQUEEZE": (shapes.squeeze, (*ALL, "int32")),
    "STRIDED_SLICE": (shapes.strided_slice, ALL),
    "SUB": (elementwise.sub, (*ALL, "int32")),
    "SUM": (pools.total, (*ALL, "int32")),
    "TANH": (activations.tanh, ALL),
    "TILE": (shapes.tile, ALL),
    "TRANSPOSE": (shapes.transpose, (*ALL, "int32")),
    "TRANSPOSE_CONV": (weighted.transpose_conv, ALL),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (recurrent.lstm, ("int8", "int16")),
    "UNPACK": (shapes.unpack, ALL),
}

NETWORKS: dict[str, tuple[Generator, tuple[str, ...]]] = {
    "chain": (compound.chain, ALL),
    "residual": (compound.residual, ALL),
    "branches": (compound.branches, ALL),
    "cascade": (compound.cascade, ALL),
    "heavy": (compound.heavy, ALL),
    "high rank": (compound.high_rank, ("int8", "int16")),
    "attention": (compound.attention, ("int8",)),
}

GENERATORS = OPERATORS | NETWORKS

ROWS = [(operator, dtype) for operator, (_, dtypes) in GENERATORS.items() for dtype in dtypes]
"""The table's rows, in order."""
