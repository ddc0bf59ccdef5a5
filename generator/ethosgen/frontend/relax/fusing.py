"""Fuses clamps into the operator before them, where that already has the clamp's quantization.

PyTorch's quantizers put a quantize between a convolution and its ReLU6. Both then have the same
scale, so clamping the convolution's own result gives the same value at no cost.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ethosgen.values.network import Operator, Tensor

_OPTION = "fused_activation_function"
_HOSTS = frozenset("CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED ADD SUB MUL".split())
_NEXT = {("NONE", "low"): "RELU", ("RELU", "high"): "RELU6"}
_SIX = 6.0


def with_fused_clamps(
    operators: Sequence[Operator], tensors: Sequence[Tensor], outputs: Sequence[int]
) -> list[Operator]:
    """Return the operators, in order, with fewer clamps; tensors keep their indices."""
    uses = Counter(index for operator in operators for index in operator.inputs)
    uses.update(outputs)
    makers: dict[int, int] = {}
    kept: list[Operator] = []
    for operator in operators:
        bound = _bound(operator, tensors)
        place = makers.get(operator.inputs[0]) if operator.inputs else None
        if bound and place is not None and uses[operator.inputs[0]] == 1:
            host = kept[place]
            activation = _NEXT.get((str(host.options.get(_OPTION)), bound))
            if host.code in _HOSTS and activation:
                options = {**host.options, _OPTION: activation}
                kept[place] = replace(host, outputs=operator.outputs, options=options)
                makers[operator.outputs[0]] = place
                continue
        for output in operator.outputs:
            makers[output] = len(kept)
        kept.append(operator)
    return kept


def _bound(operator: Operator, tensors: Sequence[Tensor]) -> str:
    """Return "low" for max(x, 0), "high" for min(x, 6), "" for any other operator."""
    if operator.code not in ("RELU", "MAXIMUM", "MINIMUM"):
        return ""
    source, result = tensors[operator.inputs[0]], tensors[operator.outputs[0]]
    scale = result.quantization
    if scale is None or source.quantization != scale or source.dtype != result.dtype:
        return ""
    if operator.code == "RELU":
        return "low"
    limit = tensors[operator.inputs[1]]
    if limit.data is None or limit.elements != 1 or limit.quantization != scale:
        return ""
    value = int(limit.array().reshape(()))
    zero = scale.zero_point[0]
    if operator.code == "MAXIMUM":
        return "low" if value == zero else ""
    highest = np.iinfo(result.dtype).max
    six = min(highest, zero + round(float(np.float32(_SIX) / np.float32(scale.scale[0]))))
    return "high" if value == six else ""
