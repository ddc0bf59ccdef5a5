"""An operator's attributes and tensors for readers: kernel, stride, scales."""

from collections.abc import Iterator, Mapping
from typing import Any

from ethosgen.report.content import OperandFacts
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor

_PAIRS = {
    "stride": ("stride_h", "stride_w"),
    "dilation": ("dilation_h_factor", "dilation_w_factor"),
    "window": ("filter_height", "filter_width"),
}
"""Attributes whose height and width TFLite stores apart."""
_NAMES = {"fused_activation_function": "activation", "depth_multiplier": "depth multiplier"}
_USUAL: Mapping[str, Any] = {"activation": "NONE", "dilation": "1x1", "depth multiplier": 1}
"""Values that need no line."""
_INTERNAL = frozenset(
    {
        *("quantized_bias_type", "pot_scale_int16", "weights_format", "keep_num_dims"),
        *("asymmetric_quantize_inputs", "new_shape"),
    }
)
"""Options that say nothing about what a reader sees: they repeat a tensor, or are TFLite's own."""
_KERNEL_SIDES = {"CONV_2D": (1, 2), "DEPTHWISE_CONV_2D": (1, 2), "TRANSPOSE_CONV": (1, 2)}
"""The axes of the weights with the kernel's height and width."""
_ROLES = {
    "CONV_2D": ("input", "weights", "bias"),
    "DEPTHWISE_CONV_2D": ("input", "weights", "bias"),
    "FULLY_CONNECTED": ("input", "weights", "bias"),
    "TRANSPOSE_CONV": ("shape", "weights", "input", "bias"),
}
_LONGEST_LIST = 8


def attributes_of(graph: Graph, operator: Operator) -> dict[str, str]:
    """Return an operator's attributes for readers, without usual values."""
    shown = dict(_kernel(graph, operator))
    paired = {side for sides in _PAIRS.values() for side in sides}
    for title, sides in _PAIRS.items():
        if all(side in operator.options for side in sides):
            shown[title] = "x".join(str(operator.options[side]) for side in sides)
    for key, value in operator.options.items():
        if key not in paired and key not in _INTERNAL:
            title = _NAMES.get(key, key.replace("_", " "))
            shown[title] = value if value == _USUAL.get(title) else _text(value)
    return {
        title: str(value)
        for title, value in shown.items()
        if value not in ("", None) and value != _USUAL.get(title)
    }


def _kernel(graph: Graph, operator: Operator) -> Iterator[tuple[str, str]]:
    sides = _KERNEL_SIDES.get(operator.code)
    if sides and len(operator.inputs) > 1 and operator.inputs[1] != ABSENT:
        shape = graph.tensors[operator.inputs[1]].shape
        if len(shape) > max(sides):
            yield "kernel", "x".join(str(shape[side]) for side in sides)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        more = ", …" if len(value) > _LONGEST_LIST else ""
        return ", ".join(map(str, value[:_LONGEST_LIST])) + more
    return "" if isinstance(value, bytes) else str(value)


def operands_of(graph: Graph, operator: Operator) -> tuple[OperandFacts, ...]:
    """Return the tensors that an operator reads, and those that it writes."""
    roles = _ROLES.get(operator.code, ())
    read = [
        _operand(_role(graph.tensors[index], place, roles), graph.tensors[index])
        for place, index in enumerate(operator.inputs)
        if index != ABSENT
    ]
    written = [_operand("output", graph.tensors[index]) for index in operator.outputs]
    return (*read, *written)


def _role(tensor: Tensor, place: int, roles: tuple[str, ...]) -> str:
    if place < len(roles):
        return roles[place]
    return "input" if tensor.data is None else "constant"


def _operand(role: str, tensor: Tensor) -> OperandFacts:
    known = tensor.quantization
    scales = [float(scale) for scale in known.scale] if known else []
    points = sorted({int(point) for point in known.zero_point}) if known else []
    return OperandFacts(
        role=role,
        name=tensor.name,
        shape=tensor.shape,
        dtype="int4" if tensor.is_packed else "float16" if tensor.is_half else tensor.dtype,
        scales=len(scales),
        least_scale=_rounded(min(scales)) if scales else None,
        most_scale=_rounded(max(scales)) if scales else None,
        zero_point=points[0] if len(points) == 1 else None,
    )


def _rounded(scale: float) -> float:
    """Return a scale with the seven digits that a float32 has."""
    return float(f"{scale:.7g}")
