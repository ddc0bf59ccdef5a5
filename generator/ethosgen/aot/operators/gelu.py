"""GELU as in LiteRT (lite/kernels/internal/reference/gelu.h); TFLite Micro does not have it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.curve import curve_kernel
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, call, pointwise, real
from ethosgen.values.network import Operator, Tensor

_ULP = 16
"""LiteRT has its own erfc and tanh. Below -1 the approximation adds 1 to almost -1, and libraries
differ in the remaining digits."""

_ROOT_HALF = float(np.float32(math.sqrt(0.5)))
_ROOT_TWO_BY_PI = float(np.float32(math.sqrt(2 / math.pi)))
_CUBIC = float(np.float32(0.044715))


@operator("GELU", dtypes=("float32",), ulp=_ULP, litert=True, in_place=True)
def gelu(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x times the normal distribution function of x, by erfc or approximated by tanh."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]

    def formula(nest: Nest, a: Any) -> Any:
        half = nest.let("half", real(0.5) * a)
        if not op.options.get("approximate"):
            return half * call("erfcf", a * real(-_ROOT_HALF))
        cube = nest.let("cube", real(_CUBIC) * a * a * a)
        return half * (real(1.0) + call("tanhf", real(_ROOT_TWO_BY_PI) * (a + cube)))

    return pointwise([source], target, formula)


@operator("GELU", dtypes=("int8", "int16"), litert=True)
def gelu_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up GELU, computed in float32."""
    function = _by_tanh if op.options.get("approximate") else _by_erfc
    return curve_kernel(op, tensors, np.vectorize(function, otypes=[np.float64]))


def _by_tanh(x: float) -> float:
    inner = np.float32(_ROOT_TWO_BY_PI * (x + _CUBIC * x**3))
    return 0.5 * x * (1 + math.tanh(float(inner)))


def _by_erfc(x: float) -> float:
    return 0.5 * x * math.erfc(x * -_ROOT_HALF)
