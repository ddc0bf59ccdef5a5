"""The requirements of TOSA 1.0 on an operator: its inputs, their types, and the output's shape.

`require_fit` checks an operator completely, so that kernels, Vela and the reference model, which
aborts on unexpected operators, get only valid ones. The rules are the specification's ERROR_IFs.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethosgen.frontend.tosa import windows
from ethosgen.frontend.tosa.misfit import MisfitError, require
from ethosgen.values.grammar import counted
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.tosa import TOSA_OPS

Shape = tuple[int, ...]
Rule = Callable[[Operator, Sequence[Tensor]], Shape]

_LETTERS = {"bool": "b", "int8": "1", "int16": "2", "int32": "4", "int64": "6", "float32": "f"}
_INT4, _HALF = "h", "e"

_WIDE = ("int32", "int64")
_SHIFTED = "11>1 22>2 44>4"
_LAYER = "11411>4 1h41h>4 21621>6 eeeee>e fffff>f"
_FLOAT = "e>e f>f"
_FLOATS = "ee>e ff>f"
_TYPES = {
    "ARGMAX": "1>4 2>4 e>4 f>4",
    "AVG_POOL2D": "111>1 222>2 eee>e fff>f",
    "CONV2D": _LAYER,
    "CONV3D": _LAYER,
    "DEPTHWISE_CONV2D": _LAYER,
    "FFT2D": "ff>f",
    "MATMUL": "1111>4 2222>6 eeee>e eeee>f ffff>f",
    "MAX_POOL2D": f"1>1 2>2 {_FLOAT}",
    "RFFT2D": "f>f",
    "TRANSPOSE_CONV2D": _LAYER,
    "CLAMP": f"1>1 2>2 {_FLOAT}",
    **dict.fromkeys(["ERF", "SIGMOID", "TANH"], _FLOAT),
    **dict.fromkeys(["ADD", "MAXIMUM", "MINIMUM", "SUB"], f"44>4 {_FLOATS}"),
    "INTDIV": "44>4",
    **dict.fromkeys(["ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT"], _SHIFTED),
    **dict.fromkeys(["LOGICAL_RIGHT_SHIFT"], _SHIFTED),
    **dict.fromkeys(["BITWISE_AND", "BITWISE_OR", "BITWISE_XOR"], _SHIFTED),
    **dict.fromkeys(["LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR"], "bb>b"),
    "MUL": "111>4 221>4 441>4 ee1>e ff1>f",
    "POW": _FLOATS,
    "TABLE": "11>1 22>4",
    "ABS": f"4>4 {_FLOAT}",
    "BITWISE_NOT": "1>1 2>2 4>4",
    "CLZ": "4>4",
    **dict.fromkeys(["CEIL", "COS", "EXP", "FLOOR", "LOG", "RECIPROCAL", "RSQRT", "SIN"], _FLOAT),
    "LOGICAL_NOT": "b>b",
    "NEGATE": "111>1 222>2 444>4 eee>e fff>f",
    "SELECT": "bbb>b b11>1 b22>2 b44>4 bee>e bff>f",
    **dict.fromkeys(["EQUAL", "GREATER", "GREATER_EQUAL"], "44>b ee>b ff>b"),
    **dict.fromkeys(["REDUCE_ALL", "REDUCE_ANY"], "b>b"),
    **dict.fromkeys(["REDUCE_MAX", "REDUCE_MIN"], f"1>1 2>2 4>4 {_FLOAT}"),
    "REDUCE_PRODUCT": _FLOAT,
    "REDUCE_SUM": f"4>4 {_FLOAT}",
    "CONCAT": f"b>b 1>1 2>2 4>4 {_FLOAT}",
    "PAD": "b6b>b 161>1 262>2 464>4 e6e>e f6f>f",
    **dict.fromkeys(["RESHAPE", "TILE"], "b6>b 16>1 26>2 46>4 e6>e f6>f"),
    **dict.fromkeys(["REVERSE", "TRANSPOSE"], f"b>b 1>1 2>2 4>4 {_FLOAT}"),
    "SLICE": "b66>b 166>1 266>2 466>4 e66>e f66>f",
    "GATHER": "14>1 24>2 44>4 e4>e f4>f",
    "SCATTER": "141>1 242>2 444>4 e4e>e f4f>f",
    "RESIZE": "1666>1 1666>4 2666>2 2666>6 e666>e f666>f",
    "CAST": "b>1 b>2 b>4 1>b 1>2 1>4 2>b 2>1 2>4 4>b 4>1 4>2 "
    "1>e 1>f 2>e 2>f 4>e 4>f e>1 e>2 e>4 e>f f>1 f>2 f>4 f>e",
    "IDENTITY": f"b>b h>h 1>1 2>2 4>4 6>6 {_FLOAT}",
}
"""Types of inputs and output; RESCALE has rules of its own."""


def require_fit(op: Operator, tensors: Sequence[Tensor]) -> None:
    """Raise MisfitError, which describes the error, unless TOSA allows an operator."""
    known = TOSA_OPS[op.code]
    ports = known.inputs
    is_list = ports[0].is_list
    require(
        len(op.outputs) == known.outputs
        and (len(op.inputs) == len(ports) or (is_list and bool(op.inputs))),
        f"has {counted(len(op.inputs), 'input')} and {counted(len(op.outputs), 'output')}",
    )
    inputs = [tensors[i] for i in op.inputs]
    outputs = [tensors[i] for i in op.outputs]
    for position, tensor in enumerate(inputs):
        port = known.port(position)
        require(
            not port.is_constant or tensor.data is not None,
            f"has {port.name} '{tensor.name}', which is not a constant",
        )
    unknown = [
        attribute.name for attribute in known.attributes if op.options[attribute.name] == "UNKNOWN"
    ]
    require(not unknown, f"has no {' and '.join(unknown)}")
    for output in outputs:
        _require_types(known.name, inputs, output)
        shape = _RULES[known.name](op, [*inputs, output])
        require(
            shape == output.shape,
            f"has the shape {list(output.shape)}, but its inputs make {list(shape)}",
        )


def _require_types(name: str, inputs: Sequence[Tensor], output: Tensor) -> None:
    letters = "".join(_letter(tensor) for tensor in inputs)
    if name == "CONCAT":
        letters = "".join(sorted(set(letters)))
    has = f"{letters}>{_letter(output)}"
    allowed = _TYPES.get(name)
    if has in allowed.split() if allowed else not {_INT4, _HALF, "f"} & {*has}:
        return
    *types, result = map(_kind, (*inputs, output))
    raise MisfitError(
        f"has the types {', '.join(types)} and makes {result}, which TOSA does not have"
    )


def _letter(tensor: Tensor) -> str:
    return _INT4 if tensor.is_packed else _HALF if tensor.is_half else _LETTERS[tensor.dtype]


def _kind(tensor: Tensor) -> str:
    return "int4" if tensor.is_packed else "float16" if tensor.is_half else tensor.dtype


# ---- rules: the output's shape, given the operator and its tensors -------------------------------


def _same(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    return tensors[0].shape


def _broadcast(tensors: Sequence[Tensor]) -> Shape:
    ranks = {len(tensor.shape) for tensor in tensors}
    require(len(ranks) == 1, f"has inputs of different ranks {sorted(ranks)}")
    sizes = [set(column) - {1} for column in zip(*(t.shape for t in tensors), strict=True)]
    require(
        all(len(column) <= 1 for column in sizes),
        f"has inputs that do not broadcast: {[list(t.shape) for t in tensors]}",
    )
    return tuple(next(iter(column), 1) for column in sizes)


def _pointwise(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    return _broadcast(tensors[:-1])


def _mul(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    first, second, shift, _ = tensors
    (by,) = _values(shift, 1, "shift")
    require(0 <= by <= 63 and (by == 0 or first.dtype == "int32"), f"has a shift of {by}")
    return _broadcast([first, second])


def _negate(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    for zero_point in tensors[1:3]:
        windows.zero_point(zero_point)
    return tensors[0].shape


def _clamp(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    bounds = [bytes(op.options[name]) for name in ("min_val", "max_val")]
    dtype = np.dtype(_kind(tensors[0]))
    require(all(len(bound) >= dtype.itemsize for bound in bounds), "has no bounds")
    low, high = (np.frombuffer(bound[: dtype.itemsize], dtype)[0].item() for bound in bounds)
    require(low <= high, f"clamps to [{low}, {high}]")
    return tensors[0].shape


def _table(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    size = 256 if tensors[0].dtype == "int8" else 513
    require(tensors[1].shape == (size,), f"has a table of shape {list(tensors[1].shape)}")
    return tensors[0].shape


def _rescale(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    source, multiplier, shift, *points, target = tensors
    options = op.options
    types = source.dtype, target.dtype
    require(
        types[0] in ("int8", "int16", "int32", "int64") and types[1] in ("int8", "int16", "int32"),
        f"rescales {types[0]} to {types[1]}",
    )
    wide = options["scale32"]
    require(multiplier.dtype == ("int32" if wide else "int16"), "has multipliers of another type")
    require(shift.dtype == "int8", "has shifts of another type")
    require(not (wide and types[0] == "int64"), "rescales int48 by 32-bit multipliers")
    rounding = options["rounding_mode"]
    require(wide or rounding != "DOUBLE_ROUND", "rounds twice without 32-bit multipliers")
    unsigned = options["input_unsigned"], options["output_unsigned"]
    require(not all(unsigned), "has an unsigned input and an unsigned output")
    require(not (unsigned[0] and types[1] == "int32"), "makes int32 of an unsigned input")
    require(not (unsigned[0] and types[0] in _WIDE), "has an unsigned input of more than 16 bits")
    is_plain = types[0] in _WIDE or types[1] in _WIDE
    require(not (unsigned[1] and is_plain), f"makes unsigned {types[1]} of {types[0]}")
    count = source.shape[-1] if options["per_channel"] and source.shape else 1
    require(not options["per_channel"] or bool(source.shape), "has no channels")
    require(all(v >= 0 for v in _values(multiplier, count, "multiplier")), "has a multiplier < 0")
    require(all(2 <= v <= 62 for v in _values(shift, count, "shift")), "has a shift out of range")
    for tensor, of, is_unsigned in zip(points, types, unsigned, strict=True):
        require(
            tensor.dtype == of or (of == "int64" and tensor.elements == 1),
            f"has a zero point of {tensor.dtype}",
        )
        windows.zero_point(tensor, is_unsigned)
    return source.shape


def _axis(op: Operator, rank: int) -> int:
    axis = int(op.options["axis"])
    require(0 <= axis < rank, f"has axis {axis} of {rank}")
    return axis


def _argmax(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    shape = tensors[0].shape
    axis = _axis(op, len(shape))
    return (*shape[:axis], *shape[axis + 1 :])


def _reduce(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    shape = tensors[0].shape
    axis = _axis(op, len(shape))
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _reverse(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    _axis(op, len(tensors[0].shape))
    return tensors[0].shape


def _fft(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    shapes = {tensor.shape for tensor in tensors[:-1]}
    (shape, *others) = shapes
    require(not others and len(shape) == 3, f"has inputs of shapes {[list(s) for s in shapes]}")
    is_power = all(size & (size - 1) == 0 for size in shape[1:])
    require(is_power, f"transforms {list(shape[1:])}, which are not powers of two")
    return shape


def _rfft(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    batch, height, width = _fft(op, tensors)
    return (batch, height, width // 2 + 1)


def _concat(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    *parts, _ = tensors
    first = parts[0].shape
    axis = _axis(op, len(first))
    for part in parts:
        fits = len(part.shape) == len(first) and all(
            i == axis or a == b for i, (a, b) in enumerate(zip(part.shape, first, strict=True))
        )
        require(fits, f"has inputs of shapes {[list(part.shape) for part in parts]}")
    return (*first[:axis], sum(part.shape[axis] for part in parts), *first[axis + 1 :])


def _pad(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    source, padding, constant, _ = tensors
    values = _values(padding, 2 * len(source.shape), "padding")
    require(all(value >= 0 for value in values), "has a negative padding")
    require(constant.elements == 1, "has several padding values")
    pairs = zip(source.shape, values[::2], values[1::2], strict=True)
    return tuple(size + before + after for size, before, after in pairs)


def _reshape(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    shape = _values(tensors[1], tensors[1].elements, "shape")
    require(math.prod(shape) == tensors[0].elements, f"reshapes {list(tensors[0].shape)}")
    return shape


def _slice(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    source, start, size, _ = tensors
    starts, sizes = (
        _values(operand, len(source.shape), "start or size") for operand in (start, size)
    )
    inside = all(
        at >= 0 and count > 0 and at + count <= whole
        for at, count, whole in zip(starts, sizes, source.shape, strict=True)
    )
    require(inside, f"takes {list(sizes)} at {list(starts)} of {list(source.shape)}")
    return sizes


def _tile(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    times = _values(tensors[1], len(tensors[0].shape), "multiples")
    return tuple(size * count for size, count in zip(tensors[0].shape, times, strict=True))


def _transpose(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    shape, order = tensors[0].shape, op.options["perms"]
    require(sorted(order) == list(range(len(shape))), f"permutes by {list(order)}")
    return tuple(shape[axis] for axis in order)


def _gather(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    values, indices, _ = (tensor.shape for tensor in tensors)
    fits = len(values) == 3 and len(indices) == 2 and values[0] == indices[0]
    require(fits, f"has values {list(values)} and indices {list(indices)}")
    return (values[0], indices[1], values[2])


def _scatter(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    values, indices, source, _ = (tensor.shape for tensor in tensors)
    fits = len(values) == 3 and len(indices) == 2 and source == (*indices, values[2])
    require(
        fits and values[0] == indices[0] and values[1] >= indices[1],
        f"has values {list(values)}, indices {list(indices)} and inputs {list(source)}",
    )
    return values


def _values(tensor: Tensor, count: int, what: str) -> Shape:
    """Return a constant's values; MisfitError unless there are `count`."""
    require(tensor.shape == (count,), f"has a {what} of shape {list(tensor.shape)}")
    return tuple(int(value) for value in tensor.array())


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys([name.removeprefix("TOSA_") for name in TOSA_OPS], _pointwise),
    **dict.fromkeys(["ABS", "BITWISE_NOT", "CLZ", "LOGICAL_NOT", "CAST", "IDENTITY"], _same),
    **dict.fromkeys([name for name, types in _TYPES.items() if types == _FLOAT], _same),
    **dict.fromkeys([name for name in _TYPES if name.startswith("REDUCE_")], _reduce),
    "ARGMAX": _argmax,
    "AVG_POOL2D": windows.pool,
    "CLAMP": _clamp,
    "CONCAT": _concat,
    "CONV2D": windows.convolution,
    "CONV3D": windows.convolution,
    "DEPTHWISE_CONV2D": windows.depthwise,
    "FFT2D": _fft,
    "GATHER": _gather,
    "MATMUL": windows.matmul,
    "MAX_POOL2D": windows.pool,
    "MUL": _mul,
    "NEGATE": _negate,
    "PAD": _pad,
    "RESCALE": _rescale,
    "RESHAPE": _reshape,
    "RESIZE": windows.resize,
    "RFFT2D": _rfft,
    "REVERSE": _reverse,
    "SCATTER": _scatter,
    "SLICE": _slice,
    "TABLE": _table,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "TRANSPOSE_CONV2D": windows.transposed,
}
