"""TRANSPOSE_CONV of float32 as ordinary convolutions, from strips.

An output adds its products in the order of the inputs, as TFLite Micro does.
"""

from collections.abc import Sequence

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import CONVOLUTION, packed_groups, strip_shape, two_forms
from ethosgen.aot.libraries.floats.strips import ConvolutionSizes, FloatStrips
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.transposed import (
    ConvolutionPart,
    PartCall,
    parts_kernel,
    parts_of,
    transposed_sizes,
)
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

CALL = 100
"""Instructions of a part outside its strips."""


def _parts(op: Operator, tensors: Sequence[Tensor]) -> list[tuple[ConvolutionPart, FloatStrips]]:
    """Return the convolutions, none if there are too many or if some outputs have no input."""
    parts = next(parts_of(transposed_sizes(op, tensors), merges=False), ())
    phases = [phase for part in parts for phase in (part.down, part.across)]
    if any(tap < 0 for phase in phases for tap in phase.taps[0]):
        return []
    return [(part, FloatStrips(_sizes(part))) for part in parts]


def _sizes(part: ConvolutionPart) -> ConvolutionSizes:
    axes = part.down.axis, part.across.axis
    return ConvolutionSizes(*axes, part.depth, part.depth, part.channels)


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    batches = tensors[op.outputs[0]].shape[0]
    parts = _parts(op, tensors)
    return batches * sum(CALL + strips.cycles(by, strips.sizes) for _, strips in parts)


@packed("TRANSPOSE_CONV", dtype="float32", cycles=two_forms(_whole))
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart."""
    layer = order.float_layer(op, tensors)
    parts = [] if layer is None else _parts(op, tensors)
    if layer is None or not parts:
        return None
    calls = []
    for part, strips in parts:
        (weights,) = packed_groups(layer, part.weights(layer), 1)
        shape = strip_shape(strips, part.steps(layer), len(weights))
        calls.append(PartCall(part, "ethosgen_convolution_f32", (weights, shape)))
    room = (max(strips.floats for _, strips in parts),)
    return parts_kernel(
        layer,
        calls,
        ("weights", "shape"),
        lambda nest: nest.workspace("strip", "float32", room),
        CONVOLUTION,
    )
