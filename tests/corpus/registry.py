"""The operators of the corpus: all in Vela's SUPPORTED_OPS.md for TFLite, without variables."""

from tests.corpus.draft import Generator
from tests.corpus.operators import (
    activations,
    compound,
    elementwise,
    indexed,
    logic,
    pools,
    recurrent,
    shapes,
    weighted,
)
from tests.corpus.settings import NPUS

EIGHT = ("int8", "uint8")
ALL = ("int8", "uint8", "int16")
MANY = (*ALL, "int32")
CHOSEN = ("int8", "int16", "int32", "bool")

OPERATORS: dict[str, tuple[Generator, tuple[str, ...]]] = {
    "ABS": (elementwise.absolute, ALL),
    "ADD": (elementwise.add, (*ALL, "int32")),
    "ARG_MAX": (pools.arg_max, EIGHT),
    "AVERAGE_POOL_2D": (pools.pool("AVERAGE_POOL_2D"), ALL),
    "BATCH_MATMUL": (weighted.batch_matmul, ("int8", "int16")),
    "CAST": (logic.cast, (*MANY, "bool")),
    "CONCATENATION": (shapes.concatenation, ALL),
    "CONV_2D": (weighted.conv2d, ALL),
    "DEPTHWISE_CONV_2D": (weighted.depthwise, ALL),
    "DIV": (elementwise.div, MANY),
    "ELU": (activations.unary("ELU"), ("int8",)),
    "EQUAL": (logic.comparison("EQUAL"), (*MANY, "bool")),
    "EXP": (activations.exp, ALL),
    "EXPAND_DIMS": (shapes.expand_dims, (*ALL, "int32")),
    "FULLY_CONNECTED": (weighted.fully_connected, ALL),
    "GATHER": (indexed.gather, ("int8", "uint8", "int16", "int32", "int64", "bool")),
    "GELU": (activations.gelu, EIGHT),
    "GREATER": (logic.comparison("GREATER"), MANY),
    "GREATER_EQUAL": (logic.comparison("GREATER_EQUAL"), MANY),
    "HARD_SWISH": (activations.unary("HARD_SWISH"), EIGHT),
    "LEAKY_RELU": (activations.leaky_relu, ALL),
    "LESS": (logic.comparison("LESS"), MANY),
    "LESS_EQUAL": (logic.comparison("LESS_EQUAL"), MANY),
    "LOG": (activations.log, ("int8", "int16")),
    "LOGICAL_AND": (logic.logical("LOGICAL_AND"), ("bool",)),
    "LOGICAL_NOT": (logic.logical_not, ("bool",)),
    "LOGICAL_OR": (logic.logical("LOGICAL_OR"), ("bool",)),
    "LOGISTIC": (activations.logistic, ALL),
    "MAXIMUM": (elementwise.maximum, MANY),
    "MAX_POOL_2D": (pools.pool("MAX_POOL_2D"), ALL),
    "MEAN": (pools.mean, ALL),
    "MINIMUM": (elementwise.minimum, MANY),
    "MIRROR_PAD": (shapes.mirror_pad, (*ALL, "int32")),
    "MUL": (elementwise.mul, (*ALL, "int32")),
    "NEG": (elementwise.negative, (*ALL, "int32")),
    "NOT_EQUAL": (logic.comparison("NOT_EQUAL"), (*MANY, "bool")),
    "PACK": (shapes.pack, ALL),
    "PAD": (shapes.pad, ALL),
    "PADV2": (shapes.pad_v2, ALL),
    "PRELU": (elementwise.prelu, ALL),
    "QUANTIZE": (activations.quantize, ALL),
    "REDUCE_ALL": (pools.reduction("REDUCE_ALL"), ("bool",)),
    "REDUCE_ANY": (pools.reduction("REDUCE_ANY"), ("bool",)),
    "REDUCE_MAX": (pools.reduction("REDUCE_MAX"), MANY),
    "REDUCE_MIN": (pools.reduction("REDUCE_MIN"), MANY),
    "RELU": (activations.relu, ALL),
    "RELU6": (activations.unary("RELU6"), ALL),
    "RELU_0_TO_1": (activations.unary("RELU_0_TO_1"), ALL),
    "RELU_N1_TO_1": (activations.unary("RELU_N1_TO_1"), ALL),
    "RESHAPE": (shapes.reshape, (*ALL, "int32")),
    "RESIZE_BILINEAR": (shapes.resize("RESIZE_BILINEAR"), ALL),
    "RESIZE_NEAREST_NEIGHBOR": (shapes.resize("RESIZE_NEAREST_NEIGHBOR"), ALL),
    "REVERSE_V2": (shapes.reverse, ALL),
    "RSQRT": (activations.rsqrt, ("int8", "int16")),
    "SCATTER_ND": (indexed.scatter_nd, ("int8", "uint8", "int32")),
    "SELECT": (logic.select, CHOSEN),
    "SELECT_V2": (logic.select_v2, CHOSEN),
    "SLICE": (shapes.slice_, ALL),
    "SOFTMAX": (activations.softmax, ALL),
    "SPLIT": (shapes.split, ALL),
    "SPLIT_V": (shapes.split_v, ALL),
    "SQUARED_DIFFERENCE": (elementwise.squared_difference, ALL),
    "SQUEEZE": (shapes.squeeze, (*ALL, "int32")),
    "STRIDED_SLICE": (shapes.strided_slice, ALL),
    "SUB": (elementwise.sub, (*ALL, "int32")),
    "SUM": (pools.reduction("SUM"), (*ALL, "int32")),
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

_ONLY_U85 = frozenset(
    """
    CAST DIV EQUAL GATHER GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_NOT LOGICAL_OR
    NOT_EQUAL REDUCE_ALL REDUCE_ANY SCATTER_ND SELECT SELECT_V2
    """.split()
)
_ONLY_U85_TYPES = {
    ("BATCH_MATMUL", "int16"),
    ("MAXIMUM", "int32"),
    ("MINIMUM", "int32"),
    ("REDUCE_MAX", "int32"),
    ("REDUCE_MIN", "int32"),
}


def products_of(operator: str, dtype: str) -> tuple[str, ...]:
    """Return the products that a row is measured on: those for which Vela takes its networks."""
    if operator in _ONLY_U85 or (operator, dtype) in _ONLY_U85_TYPES:
        return ("u85",)
    return tuple(NPUS)
