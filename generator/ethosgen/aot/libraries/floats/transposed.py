"""TRANSPOSE_CONV of float32 as ordinary convolutions: see ethosgen.aot.libraries.helium.transposed.

An output adds its products in the order of the inputs, as TFLite Micro does.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import (
    CONVOLUTION,
    packed_groups,
    strip_shape,
    two_forms,
)
from ethosgen.aot.libraries.floats.strips import ConvolutionSizes, FloatStrips
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.transposed import MOST_PARTS, Phase, phases
from ethosgen.aot.loops.window import make_transposed_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

CALL = 100
"""Instructions of a part outside its strips."""
Part = tuple[Phase, Phase, FloatStrips]


def _parts(op: Operator, tensors: Sequence[Tensor]) -> list[Part]:
    """Return the convolutions, none if there are too many or if some outputs have no input."""
    _, weights, source = (tensors[i] for i in op.inputs[:3])
    target = tensors[op.outputs[0]]
    _, height, width, _ = weights.shape
    window = make_transposed_window(op, (height, width), source, target)
    pairs = list(product(*map(phases, window)))
    depth, channels = source.shape[3], target.shape[3]
    parts = [
        (down, right, FloatStrips(ConvolutionSizes(down.axis, right.axis, depth, depth, channels)))
        for down, right in pairs
    ]
    is_covered = all(tap >= 0 for pair in pairs for phase in pair for tap in phase.taps[0])
    return parts if is_covered and len(parts) <= MOST_PARTS else []


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    parts = _parts(op, tensors)
    batches = tensors[op.outputs[0]].shape[0]
    return batches * sum(CALL + strips.cycles(by, strips.sizes) for _, _, strips in parts)


@packed("TRANSPOSE_CONV", dtype="float32", cycles=two_forms(_whole))
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart."""
    layer = order.float_layer(op, tensors)
    parts = [] if layer is None else _parts(op, tensors)
    if layer is None or not parts:
        return None
    _, _, width, channels = layer.target.shape
    weights = layer.weights.array()
    packs, structs = [], []
    for down, right, strips in parts:
        taken = weights[:, list(down.taps[0])][:, :, list(right.taps[0])]
        packs += packed_groups(layer, taken, 1)
        steps = down.stride * width * channels, right.stride * channels
        structs.append(strip_shape(strips, steps, len(packs[-1])))
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    w, shape = nest.table("weights", np.concatenate(packs)), nest.table("shape", structs)
    room = max(strips.floats for _, _, strips in parts)
    strip = nest.workspace("strip", "float32", (room,))
    with nest.loop("n", layer.target.shape[0]) as n:
        at = 0
        for number, (down, right, _) in enumerate(parts):
            nest.call(
                "ethosgen_convolution_f32",
                tirx.address_of(y[n, down.first, right.first, 0]),
                tirx.address_of(x[n, 0, 0, 0]),
                *(strip.data, tirx.address_of(w[at]), tirx.address_of(shape[number])),
            )
            at += len(packs[number])
    return nest.kernel(CONVOLUTION)
