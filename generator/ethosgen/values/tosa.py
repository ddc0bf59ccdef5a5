"""TOSA's operators in our dialect: numbers, attributes and inputs, declared once.

Their codes have the prefix TOSA_, and no .tflite file can have them. An operator has the inputs
and attributes of TOSA 1.0, except that shapes are int64 constants. int48 values are int64 in our
graphs, since TOSA has no int64, and float16 values are float32. COND_IF and WHILE_LOOP are TFLite's
IF and WHILE, and the operators of variables TFLite's too. CONST and CONST_SHAPE are not in the
dialect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "TOSA_"

VERSION = (1, 0, 0)
"""The version of the specification, and of the files that we write."""
NEWEST = (1, 1)
"""The newest version of files that we read, as far as they have only what 1.0 has."""

DTYPES = (
    *("unknown", "bool", "int4", "int8", "int16", "int32", "int48", "float32", "float16"),
    *("bfloat16", "shape", "float8e4m3", "float8e5m2"),
)
"""Types of tensors by number."""

_ENUMERATIONS: Mapping[str, tuple[str, ...]] = {
    "DType": DTYPES,
    "NanMode": ("UNKNOWN", "PROPAGATE", "IGNORE"),
    "ResizeMode": ("UNKNOWN", "NEAREST", "BILINEAR"),
    "Rounding": ("UNKNOWN", "SINGLE_ROUND", "INEXACT_ROUND", "DOUBLE_ROUND"),
}

_CONVOLUTION = (
    "pad:[int32] stride:[int32] dilation:[int32] local_bound:bool acc_type:DType"
    " < input weight bias input_zp! weight_zp!"
)
_OPERATORS = f"""
1 ARGMAX axis:int32 nan_mode:NanMode < input
2 AVG_POOL2D kernel:[int32] stride:[int32] pad:[int32] acc_type:DType < input input_zp! output_zp!
3 CONV2D {_CONVOLUTION}
4 CONV3D {_CONVOLUTION}
5 DEPTHWISE_CONV2D {_CONVOLUTION}
6 FFT2D inverse:bool local_bound:bool < input_real input_imag > 2
7 MATMUL < a b a_zp! b_zp!
8 MAX_POOL2D kernel:[int32] stride:[int32] pad:[int32] nan_mode:NanMode < input
9 RFFT2D local_bound:bool < input_real > 2
10 TRANSPOSE_CONV2D out_pad:[int32] stride:[int32] local_bound:bool acc_type:DType
    < input weight bias input_zp! weight_zp!
11 CLAMP min_val:[uint8] max_val:[uint8] nan_mode:NanMode < input
12 ERF < input
13 SIGMOID < input
14 TANH < input
15 ADD < a b
16 ARITHMETIC_RIGHT_SHIFT round:bool < a b
17 BITWISE_AND < a b
18 BITWISE_OR < a b
19 BITWISE_XOR < a b
20 INTDIV < a b
21 LOGICAL_AND < a b
22 LOGICAL_LEFT_SHIFT < a b
23 LOGICAL_RIGHT_SHIFT < a b
24 LOGICAL_OR < a b
25 LOGICAL_XOR < a b
26 MAXIMUM nan_mode:NanMode < a b
27 MINIMUM nan_mode:NanMode < a b
28 MUL < a b shift!
29 POW < a b
30 SUB < a b
31 TABLE < input table!
32 ABS < input
33 BITWISE_NOT < input
34 CEIL < input
35 CLZ < input
36 COS < input
37 EXP < input
38 FLOOR < input
39 LOG < input
40 LOGICAL_NOT < input
41 NEGATE < input input_zp! output_zp!
42 RECIPROCAL < input
43 RSQRT < input
44 SIN < input
45 SELECT < condition a b
46 EQUAL < a b
47 GREATER < a b
48 GREATER_EQUAL < a b
49 REDUCE_ALL axis:int32 < input
50 REDUCE_ANY axis:int32 < input
51 REDUCE_MAX axis:int32 nan_mode:NanMode < input
52 REDUCE_MIN axis:int32 nan_mode:NanMode < input
53 REDUCE_PRODUCT axis:int32 < input
54 REDUCE_SUM axis:int32 < input
55 CONCAT axis:int32 < input*
56 PAD < input padding~ pad_const!
57 RESHAPE < input shape~
58 REVERSE axis:int32 < input
59 SLICE < input start~ size~
60 TILE < input multiples~
61 TRANSPOSE perms:[int32] < input
62 GATHER < values indices
63 SCATTER < values indices input
64 RESIZE mode:ResizeMode < input scale~ offset~ border~
65 CAST < input
66 RESCALE scale32:bool rounding_mode:Rounding per_channel:bool input_unsigned:bool
    output_unsigned:bool < input multiplier! shift! input_zp! output_zp!
68 IDENTITY < input
"""
"""Number and name, attributes in the order of their slots, and inputs.

An input with `!` must be a constant, one with `~` is a shape, and one with `*` is any number of
inputs. After `>` is the number of outputs, if it is not 1. The number of an operator's table of
attributes is its own.
"""

EXTENSIONS: Mapping[int, str] = {69: "CUSTOM"}
"""Operators of TOSA's extensions that we lack, by number."""

VARIABLE, VARIABLE_WRITE, VARIABLE_READ = 72, 73, 74
"""The numbers of the operators that declare, write and read a variable."""

CONTROL: Mapping[int, tuple[str, str, tuple[str, str]]] = {
    70: ("COND_IF", "IF", ("then_subgraph_index", "else_subgraph_index")),
    71: ("WHILE_LOOP", "WHILE", ("cond_subgraph_index", "body_subgraph_index")),
}
"""TOSA's control flow by number: its name, TFLite's operator for it, whose options are the numbers
of the graphs that TOSA names in slots 0 and 1."""

CONST, CONST_SHAPE = 67, 75
"""The numbers of the operators that give a constant its name."""


@dataclass(frozen=True)
class Operand:
    """An input: its name, and whether it must be constant, is a shape, or stands for several."""

    name: str
    is_constant: bool
    is_shape: bool
    is_list: bool


@dataclass(frozen=True)
class Attribute:
    """An attribute: `wire` is its type in files, `names` are those of an enumeration's numbers."""

    name: str
    wire: str
    names: tuple[str, ...]
    is_vector: bool

    @property
    def default(self) -> Any:
        """The value where a file has none."""
        if self.is_vector:
            return ()
        return self.names[0] if self.names else self.wire != "bool" and 0


@dataclass(frozen=True)
class TosaOp:
    """One operator of TOSA; `attributes` are in the order of their slots."""

    name: str
    number: int
    attributes: tuple[Attribute, ...]
    inputs: tuple[Operand, ...]
    outputs: int

    @property
    def code(self) -> str:
        """Its code in the dialect."""
        return PREFIX + self.name

    def port(self, position: int) -> Operand:
        """Return the input at a position."""
        return self.inputs[min(position, len(self.inputs) - 1)]


def dtype_of(kind: str) -> str:
    """Return the dtype of our tensors for a type of TOSA; "" for one that we do not have."""
    wider = {"int4": "int8", "int48": "int64", "shape": "int64", "float16": "float32"}
    return wider.get(kind) or (
        kind if kind in ("bool", "int8", "int16", "int32", "float32") else ""
    )


def _operator(line: str) -> TosaOp:
    head, _, ends = line.partition(" < ")
    number, name, *fields = head.split()
    ports, _, outputs = ends.partition(" > ")
    return TosaOp(
        name,
        int(number),
        tuple(_attribute(*field.split(":")) for field in fields),
        tuple(_port(port) for port in ports.split()),
        int(outputs or 1),
    )


def _attribute(name: str, kind: str) -> Attribute:
    plain = kind.strip("[]")
    names = _ENUMERATIONS.get(plain, ())
    return Attribute(name, "uint32" if names else plain, names, plain != kind)


def _port(text: str) -> Operand:
    return Operand(text.rstrip("!~*"), text[-1] in "!~", text[-1] == "~", text[-1] == "*")


TOSA_OPS: Mapping[str, TosaOp] = {
    op.code: op for op in map(_operator, _OPERATORS.strip().replace("\n    ", " ").split("\n"))
}
"""The operators by code."""

TOSA_CODES: Mapping[int, str] = {op.number: op.code for op in TOSA_OPS.values()}
"""Their codes by TOSA's number."""

IDENTITY = TOSA_OPS["TOSA_IDENTITY"].number
"""The number of IDENTITY, which stands for an access of a variable in tosa-opt's files."""
