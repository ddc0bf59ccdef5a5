"""Moves that move nothing: each output element is the input's element at the same index."""

from ethosgen.values.network import Graph, Operator

_WHOLE = frozenset(
    {
        *("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "SLICE", "TILE", "BROADCAST_TO", "SPLIT"),
        *("PAD", "PADV2", "MIRROR_PAD", "RESIZE_NEAREST_NEIGHBOR"),
        *("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"),
    }
)
"""Moves that cannot move anything if input and output have one shape."""
_MASKS = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def keeps_places(operator: Operator, graph: Graph) -> bool:
    """Return whether a move with one varying input, and an output of its shape, moves nothing."""
    options = operator.options
    data = operator.inputs[1 if operator.code == "SPLIT" else 0]
    if graph.tensors[data].data is not None:
        return False
    if operator.code in _WHOLE:
        return True
    if operator.code == "CONCATENATION":
        plain = options.get("fused_activation_function", "NONE") == "NONE"
        return len(operator.inputs) == 1 and plain
    if operator.code == "TRANSPOSE":
        order = graph.tensors[operator.inputs[1]].array().ravel().tolist()
        return [axis % len(order) for axis in order] == [*range(len(order))]
    if operator.code == "STRIDED_SLICE":
        steps = graph.tensors[operator.inputs[3]].array()
        return bool((steps == 1).all()) and not any(options.get(mask, 0) for mask in _MASKS)
    return False
