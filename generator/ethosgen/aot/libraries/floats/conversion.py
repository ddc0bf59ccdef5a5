"""QUANTIZE of float32, and DEQUANTIZE."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.floats import cost
from ethosgen.aot.libraries.floats.matrix import two_forms
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address
from ethosgen.aot.tir.quantization import limits, scale_of, zero_point_of
from ethosgen.values.network import Operator, Tensor

FILES = frozenset({"ethosgen_conversion_f32.c"})
CALL = 25
QUANTIZED, DEQUANTIZED = 4.1, 1.9
"""Cycles of an element with Helium."""
IN_C = 40.0
"""The same in C: the plain loops are cheaper, since they know the scale."""
LEAST_SCALE, GREATEST_SCALE = 2.0**-90, 2.0**90
"""Between them no step of a quotient that is not rounded to 0 is subnormal or infinite."""


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    with_helium = QUANTIZED if op.code == "QUANTIZE" else DEQUANTIZED
    each = with_helium if by == cost.HELIUM else IN_C
    return CALL + each * tensors[op.outputs[0]].elements


def _is_usual(scale: np.float32) -> bool:
    """Return whether the kernels compute the exact quotient by a scale."""
    mantissa = int(scale.view(np.uint32)) & 0x7FFFFF
    return LEAST_SCALE < float(scale) < GREATEST_SCALE and mantissa != 0x7FFFFF


@packed("QUANTIZE", dtype="float32 int8", cycles=two_forms(_whole))
@packed("QUANTIZE", dtype="float32 uint8", cycles=two_forms(_whole))
@packed("QUANTIZE", dtype="float32 int16", cycles=two_forms(_whole))
def quantize(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute round(x / scale) + zero point, limited, 4 elements at a time."""
    target = tensors[op.outputs[0]]
    scale, point = np.float32(scale_of(target)), zero_point_of(target)
    if not _is_usual(scale):
        return None
    bounds = [scale * np.float32(bound - point) for bound in limits(target.dtype)]
    bits = 8 * np.dtype(target.dtype).itemsize
    constants = np.array([scale, np.float32(1) / scale, *bounds], np.float32)
    return _kernel(f"ethosgen_quantize_{bits}_f32", op, tensors, point, constants)


@packed("DEQUANTIZE", dtype="int8 float32", cycles=two_forms(_whole))
@packed("DEQUANTIZE", dtype="uint8 float32", cycles=two_forms(_whole))
@packed("DEQUANTIZE", dtype="int16 float32", cycles=two_forms(_whole))
def dequantize(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute scale (q - zero point), 4 elements at a time."""
    source = tensors[op.inputs[0]]
    scale = np.float32(scale_of(source))
    if not _is_usual(scale):
        return None
    name = {"int8": "s8", "uint8": "u8", "int16": "s16"}[source.dtype]
    constants, point = np.array([scale], np.float32), zero_point_of(source)
    return _kernel(f"ethosgen_dequantize_{name}_f32", op, tensors, point, constants)


def _kernel(
    function: str, op: Operator, tensors: Sequence[Tensor], point: int, constants: np.ndarray
) -> Kernel:
    """Return the call for all elements, which are contiguous."""
    nest, count = Nest(), tensors[op.outputs[0]].elements
    x = nest.read("input", tensors[op.inputs[0]], (count,))
    y = nest.write("output", tensors[op.outputs[0]], (count,))
    scale = nest.table("scale", constants)
    nest.call(function, address(y, 0), address(x, 0), count, point, scale.data)
    return nest.kernel(FILES)
