"""NPU_OP_CONV and NPU_OP_DEPTHWISE on U85.

A convolution that starts with empty accumulators is computed as on U55. Others take a matrix from
memory as weights, or start with the previous operation's accumulators, or with IFM2; Regor builds a
convolution with variable weights from such products, one for each tap.
"""

from collections.abc import Callable

import numpy as np

from ethosgen.backend.ethosu.isa import IfmUpscaleMode, OfmScaleMode
from ethosgen.backend.ethosu.isa_u85 import AccInput
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import FeatureMap
from ethosgen.backend.ethosu.simulator.ops import conv
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.output import OutputTarget, activation
from ethosgen.backend.ethosu.simulator.ops.quantize import Factors
from ethosgen.backend.ethosu.simulator.ops.window import padder, place_ifm, windows
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale
from ethosgen.backend.ethosu.simulator.u85.operation import U85Convolution, U85Output
from ethosgen.backend.ethosu.simulator.u85.ops.accumulators import starts
from ethosgen.values.errors import NpuFault

_Scale = Callable[[Ints], Ints]
_Sums = Callable[[], tuple[Ints, _Scale]]
"""Returns an operation's sums, and how accumulators are scaled."""


def prepare(context: Context, operation: U85Convolution, ofm: OutputTarget) -> Action:
    """Return a function that executes a convolution."""
    assert isinstance(operation.ofm, U85Output)
    is_plain = operation.matrix is None and operation.accumulators.source is AccInput.RESET
    if is_plain and operation.ofm.enabled:
        return conv.prepare(context, operation, ofm)
    conv.check_work(context, operation)
    if operation.matrix is not None:
        return _accumulate(context, operation, ofm, _product(context, operation, operation.matrix))
    return _accumulate(context, operation, ofm, _convolution(context, operation))


def _accumulate(
    context: Context, operation: U85Convolution, ofm: OutputTarget, summed: _Sums
) -> Action:
    """Add sums of products to the initial accumulators."""
    start = starts(context, operation.accumulators, operation.ofm.shape)
    activate = activation(context, operation.ofm)
    assert isinstance(operation.ofm, U85Output)
    enabled = operation.ofm.enabled

    def run() -> None:
        sums, scale = summed()
        total: Ints = sums + start()
        context.inner.accumulators = total
        if enabled:
            ofm.write(activate(scale(total)))

    return run


def _product(context: Context, operation: U85Convolution, other: FeatureMap) -> _Sums:
    """Multiply the IFM's pixels by the rows of another feature map."""
    if operation.kernel.size != (1, 1) or operation.padding.any or operation.depthwise:
        raise NpuFault("parse", "a matrix product needs a kernel of 1x1 and no padding")
    if operation.upscale is not IfmUpscaleMode.NONE:
        raise NpuFault("parse", "a matrix product cannot upscale its IFM")
    if operation.ofm.scale_mode is not OfmScaleMode.GLOBAL:
        raise NpuFault("parse", "a matrix product with a scale for each channel is not modelled")
    ifm = place_ifm(context, operation)
    base = context.base(other.region)
    rows = Placed(context.bus, other, base, operation.matrix_shape)
    scale = Rescale(operation.ofm.scale.scale, operation.ofm.scale.shift, operation.ofm.rounding)
    stride = operation.kernel.stride

    def summed() -> tuple[Ints, _Scale]:
        left = ifm.read()[:: stride[0], :: stride[1]].astype(np.float64) - operation.ifm.zero_point
        right = rows.read()[0].astype(np.float64) - other.zero_point
        return (left @ right.T).astype(np.int64), scale

    return summed


def _convolution(context: Context, operation: U85Convolution) -> _Sums:
    """Multiply windows of the IFM by weights."""
    constants = context.constants(operation)
    ifm = place_ifm(context, operation)
    zero_point = operation.ifm.zero_point
    pad = padder(operation, ifm, np.dtype(np.int64), zero_point, zero_point)

    def summed() -> tuple[Ints, _Scale]:
        weights, records = constants.decode()
        view = windows(operation, pad() - zero_point).astype(np.float64)
        height, width, rows, columns, depth = view.shape
        matrix = weights.matrix.astype(np.float64)
        if operation.depthwise:
            taps = view.reshape(height, width, rows * columns, depth)
            sums = np.einsum("hwtc,tc->hwc", taps, matrix)
        else:
            sums = view.reshape(height, width, rows * columns * depth) @ matrix
        factors = Factors.of(operation.ofm, records, np.zeros_like(records.bias))
        scale = Rescale(factors.scale, factors.shift, operation.ofm.rounding)
        return sums.astype(np.int64), lambda total: scale(total + factors.bias)

    return summed
