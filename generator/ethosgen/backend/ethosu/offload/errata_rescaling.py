"""Errata of changes of quantization that Vela does not leave to a separate operation.

It lets the operator before a QUANTIZE write the QUANTIZE's output (GraphIrOptimiser::FuseRescale),
and computes operators on constants itself (GraphIrOptimiser::ConstPropagation).
"""

import math
from collections.abc import Sequence

import numpy as np

from ethosgen.backend.ethosu.offload.rounding import REDUCED, Array
from ethosgen.backend.ethosu.offload.site import (
    TABLES,
    OperatorSite,
    reach_of,
    scale_of,
    stored_values,
    type_values,
)
from ethosgen.values.network import Graph, Operator, Tensor

_WEIGHTED = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 0, "FULLY_CONNECTED": 0, "TRANSPOSE_CONV": 2}
"""The position of a layer's input."""
_SHIFTED = frozenset(
    "MUL QUANTIZE RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 LEAKY_RELU ABS MEAN SUM".split()
)
"""Operators that rescale a value or a product of two."""
_MATMUL = "BATCH_MATMUL"
_BIAS_32 = ("CONV_2D", "FULLY_CONNECTED")
"""Layers that TFLite Micro can sum in 32 bits with int16 inputs."""
_LIMIT_32 = 1 << 31
_TYPES = ("int8", "uint8", "int16")
_RESHAPERS = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
"""Operators that Vela removes before it looks for operators to join."""
_NOT_FUSED = frozenset(
    """
    RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 MAX_POOL_2D AVERAGE_POOL_2D TRANSPOSE_CONV TRANSPOSE
    CONCATENATION SPLIT SPLIT_V SLICE STRIDED_SLICE PAD PADV2 PACK UNPACK GATHER DEPTH_TO_SPACE
    SPACE_TO_DEPTH SELECT SELECT_V2
    """.split()
).union(TABLES)
"""Operators that Vela does not let write a QUANTIZE's output."""
_SUMS = ("ADD", "SUB")
_SELECTIONS = ("MAXIMUM", "MINIMUM", "REDUCE_MAX")
"""Operators whose results are values of their inputs, so that they never saturate."""
_RESCALED_COPIES = ("CONCATENATION", "PACK", "STRIDED_SLICE")
"""Copies that Vela rescales where input and output have other quantizations, and TFLite does not.
"""
_LESS_THAN_HALF = 0.49
_COPIES = ("QUANTIZE", "CONCATENATION", "PACK", "STRIDED_SLICE")
"""Operators that become copies of one input, which Vela carries out if it is constant."""


def rescales_into_producer(site: OperatorSite) -> bool:
    """Return whether the operator before a QUANTIZE writes its output and saturates otherwise.

    Vela does this if only zero point and type change and the first zero point is 0. The operator
    then saturates once, at the bounds that both types share, as if the new zero point were 0, too.
    The last operation of a PRELU has no scale, so Vela lets it write any scale and zero point.
    """
    if site.code != "QUANTIZE" or site.inputs[0].dtype not in _TYPES:
        return False
    x, y = site.inputs[0], site.output
    writer = _only_writer(site.graph, x)
    if writer is None or writer.code == "PRELU":
        return writer is not None
    is_moved = (y.first_zero_point, y.dtype) != (0, x.dtype)
    is_shift_of_zero = scale_of(x) == scale_of(y) and not x.first_zero_point and is_moved
    if not is_shift_of_zero or not _is_fused(OperatorSite(site.graph, writer, site.setting)):
        return False
    if writer.code == "RESIZE_NEAREST_NEIGHBOR":
        return True
    (low, high), (least, most) = _bounds(x), _bounds(y)
    shared = max(low, least), min(high, most)
    ours = tuple(min(max(v + y.first_zero_point, least), most) for v in (low, high))
    if writer.code in _SELECTIONS:
        return shared[0] > ours[0] or shared[1] < ours[1]
    return shared != ours


def rescales_copies(site: OperatorSite) -> bool:
    """Return whether a copy's input has another quantization than its output.

    Scales that differ too little to change any value do not count. TFLite rescales a CONCATENATION
    of uint8, too.
    """
    is_rescaled = site.code == "CONCATENATION" and site.dtype == "uint8"
    if site.code not in _RESCALED_COPIES or site.dtype not in _TYPES or is_rescaled:
        return False
    y = site.output
    copied = site.inputs[:1] if site.code == "STRIDED_SLICE" else site.inputs
    return any(
        x.first_zero_point != y.first_zero_point
        or reach_of(x) * abs(scale_of(x) / scale_of(y) - 1) >= _LESS_THAN_HALF
        for x in copied
    )


def shifts_beyond_32_bits(site: OperatorSite) -> bool:
    """Return whether a value can exceed 32 bits when a factor of 1 or more shifts it left.

    It is a sum of products, a product, or a value without its zero point; a sum of MEAN is not
    divided.
    """
    if site.code in _SHIFTED and {site.dtype, *(t.dtype for t in site.inputs[:1])} <= {*_TYPES}:
        values = site.inputs[: 2 if site.code == "MUL" else 1]
        reach = np.array(math.prod(map(reach_of, values)) * _summed(site), np.float64)
        factors = np.array(math.prod(map(scale_of, values)) / scale_of(site.output))
    elif sums_32_bits(site):
        reach, factors = _products(site)
    else:
        return False
    _, shifts = np.frexp(factors)
    return bool((reach * 2.0 ** np.maximum(shifts, 0) >= _LIMIT_32).any())


def multiplies_beyond_32_bits(site: OperatorSite) -> bool:
    """Return whether a 64-bit sum of two variables' products, in output steps, exceeds 32 bits."""
    is_layer = site.code in _WEIGHTED and site.inputs[1].data is None
    if site.dtype != "int16" or sums_32_bits(site) or not (is_layer or site.code == _MATMUL):
        return False
    reach, factors = _products(site)
    return bool((reach * factors * REDUCED >= _LIMIT_32 - 1).any())


def sums_32_bits(site: OperatorSite) -> bool:
    """Return whether the sums of a layer or of a product of matrices have 32 bits.

    With int16 inputs, two layers have 32-bit sums if the bias has, or is declared to have, 32 bits.
    """
    if site.code not in (*_WEIGHTED, _MATMUL):
        return False
    if site.dtype != "int16":
        return site.dtype in _TYPES
    position = _WEIGHTED.get(site.code, 0)
    bias = next(iter(site.inputs[3 if position else 2 :]), None)
    declared = site.operator.options.get("quantized_bias_type")
    return site.code in _BIAS_32 and (bias.dtype if bias else declared) == "int32"


def _products(site: OperatorSite) -> tuple[Array, Array]:
    """Return the largest magnitude of a sum of products and its factor, by output channel."""
    x, weights = site.inputs[_WEIGHTED.get(site.code, 0)], site.inputs[1]
    factors = np.array(weights.scales, np.float64) * scale_of(x) / scale_of(site.output)
    if weights.data is None or site.code == _MATMUL:
        turned = bool(site.operator.options.get("adj_x"))
        depth = x.shape[-2 if turned else -1] if site.code == _MATMUL else weights.shape[-1]
        return np.array(float(depth * reach_of(x) * reach_of(weights))), factors
    axis = -1 if site.code == "DEPTHWISE_CONV_2D" else 0
    centred = weights.array().astype(np.int64)
    if site.code == "FULLY_CONNECTED" or weights.dtype == "uint8":  # others ignore zero points
        centred = centred - weights.first_zero_point
    reach = abs(np.moveaxis(centred, axis, 0).reshape(weights.shape[axis], -1)).sum(axis=1)
    reach = reach.astype(np.float64) * reach_of(x)
    bias = site.inputs[-1]
    if bias.dtype == "int32" and bias.data is not None and bias.shape == reach.shape:
        reach = reach + abs(bias.array().astype(np.float64))
    return reach, factors


def _summed(site: OperatorSite) -> int:
    """Return the number of values that a MEAN or SUM adds; 1 for other operators."""
    if site.code not in ("MEAN", "SUM"):
        return 1
    return site.inputs[0].elements // max(site.output.elements, 1)


def sums_lowest_beyond_32_bits(site: OperatorSite) -> bool:
    """Return whether the lowest values of a window of an average add up to -2**31 or less."""
    if site.code != "AVERAGE_POOL_2D" or site.dtype != "int16":
        return False
    size = (int(site.operator.options[side]) for side in ("filter_height", "filter_width"))
    return math.prod(size) << 15 >= _LIMIT_32


def _only_writer(graph: Graph, tensor: Tensor) -> Operator | None:
    """Return the operator whose result a tensor holds, None if the result has other readers."""
    index = tensor.index
    writer = graph.writer(index)
    if writer is None or len(graph.readers(index)) != 1 or index in graph.outputs:
        return None
    if writer.code in _RESHAPERS:
        return _only_writer(graph, graph.tensors[writer.inputs[0]])
    return writer


def _is_fused(writer: OperatorSite) -> bool:
    """Return whether Vela lets an operator write the output of the QUANTIZE that follows it."""
    if writer.code in _NOT_FUSED:
        return False
    if writer.operator.options.get("fused_activation_function", "NONE") != "NONE":
        return False  # the activation is a separate operation, in between
    if writer.code in _SUMS:
        first, second = writer.inputs
        return scale_of(first) != scale_of(second)
    return True


def _bounds(tensor: Tensor) -> tuple[int, int]:
    info = np.iinfo(tensor.dtype)
    return int(info.min), int(info.max)


def computes_constant_otherwise(site: OperatorSite) -> bool:
    """Return whether Vela computes an operator on constants with another result.

    For a RESHAPE it does so only if its result is read on the CPU, which is not known here.
    """
    if site.dtype not in ("int8", "int16"):
        return False
    operands = _operands(site)
    known = [_values(site, tensor) for tensor in operands]
    if not operands or any(values is None for values in known):
        return False
    centred = [
        v - t.first_zero_point for v, t in zip(known, operands, strict=True) if v is not None
    ]
    wrapped = [values.astype(site.dtype).astype(np.int64) for values in centred]
    if site.code == "MUL":
        return any((a != b).any() for a, b in zip(centred, wrapped, strict=True))
    x, y = operands[0], site.output
    if (scale_of(x), x.first_zero_point) == (scale_of(y), y.first_zero_point):
        right, wrong = centred[0] + x.first_zero_point, wrapped[0]
    else:
        right, wrong = (_requantized(values, x, y) for values in (centred[0], wrapped[0]))
    return not np.array_equal(_saturated(right, y), wrong)


def _operands(site: OperatorSite) -> Sequence[Tensor]:
    """Return the tensors that determine the result, if Vela can compute it before the inference."""
    tensors = site.inputs
    if site.code in ("STRIDED_SLICE", *_RESHAPERS):
        tensors = tensors[:1] if tensors[0].elements == site.output.elements else []
    is_copy = site.code in (*_COPIES, *_RESHAPERS) and len(tensors) == 1
    is_one = is_copy or site.code == "MUL"
    return tensors if is_one and all(t.dtype in _TYPES for t in tensors) else ()


def _values(site: OperatorSite, tensor: Tensor) -> Array | None:
    """Return the values that a tensor can have if Vela knows it, else None."""
    if tensor.data is not None:
        return stored_values(tensor)
    graph = site.graph
    writer = graph.writer(tensor.index)
    if writer is None or writer.code not in (*_RESHAPERS, *_COPIES):
        return None
    maker = OperatorSite(graph, writer, site.setting)
    operands = _operands(maker)
    before = _values(maker, operands[0]) if operands else None
    if before is None or computes_constant_otherwise(maker):
        return None  # an operator that stays on the CPU yields no constant
    if writer.code in _RESHAPERS:
        return before
    return type_values(tensor.dtype)


def _requantized(values: Array, x: Tensor, y: Tensor) -> Array:
    steps = np.floor(values * (scale_of(x) / scale_of(y)) + 0.5).astype(np.int64)
    return _saturated(steps + y.first_zero_point, y)


def _saturated(values: Array, tensor: Tensor) -> Array:
    return np.asarray(np.clip(values, *_bounds(tensor)))
