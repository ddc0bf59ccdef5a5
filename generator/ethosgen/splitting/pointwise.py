"""The rules of operators that compute each value alone, or values along some axes."""

from ethosgen.splitting.boxes import Box, whole
from ethosgen.splitting.reading import PartReading
from ethosgen.values.network import ABSENT, Graph, Operator


def elementwise(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of an operator that computes each value from those at its place."""
    return PartReading(
        tuple(
            None if index == ABSENT else _broadcast(graph.tensors[index].shape, box)
            for index in operator.inputs
        )
    )


def _broadcast(shape: tuple[int, ...], box: Box) -> Box:
    """Return the box of an input whose missing axes, and those of size 1, are repeated."""
    spans = box[len(box) - len(shape) :]
    return tuple((0, 1) if size == 1 else span for size, span in zip(shape, spans, strict=True))


def along_axis(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of an operator over the last axis, such as SOFTMAX."""
    size = graph.tensors[operator.outputs[0]].shape[-1]
    return PartReading((box,)) if box[-1] == (0, size) else None


def reduction(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a MEAN and its like: the reduced axes are read as a whole."""
    source, axes = (graph.tensors[i] for i in operator.inputs[:2])
    if axes.data is None:
        return None
    rank = len(source.shape)
    reduced = {int(axis) % rank for axis in axes.array().ravel()}
    if operator.options.get("keep_dims"):
        kept = dict(enumerate(box))
    else:
        kept = dict(zip((axis for axis in range(rank) if axis not in reduced), box, strict=True))
    spans = tuple((0, source.shape[i]) if i in reduced else kept[i] for i in range(rank))
    return PartReading((spans, whole(axes.shape)))


def matrices(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a BATCH_MATMUL: rows of the left matrix, columns of the right one."""
    left, right = (graph.tensors[i].shape for i in operator.inputs)
    is_left_turned, is_right_turned = (bool(operator.options.get(n)) for n in ("adj_x", "adj_y"))
    depth = 0, left[-2] if is_left_turned else left[-1]
    rows, columns = (box[-2], depth), (depth, box[-1])
    return PartReading(
        (
            (*_broadcast(left[:-2], box[:-2]), *(rows[::-1] if is_left_turned else rows)),
            (*_broadcast(right[:-2], box[:-2]), *(columns[::-1] if is_right_turned else columns)),
        )
    )
