"""The rules of operators that only move values."""

from ethosgen.splitting.boxes import Box, Range, interval, sizes, unfolded, whole
from ethosgen.splitting.reading import PartReading
from ethosgen.values.network import Graph, Operator


def reshape(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a RESHAPE, SQUEEZE or EXPAND_DIMS: the same values in another box."""
    source = graph.tensors[operator.inputs[0]].shape
    target = graph.tensors[operator.outputs[0]].shape
    ranges: list[Range] = []
    for (a, b), (c, d) in _alike(source, target):
        span = interval(box[c:d], target[c:d])
        part = None if span is None else unfolded(span, source[a:b])
        if part is None:
            return None
        ranges += part
    rest = tuple(whole(graph.tensors[i].shape) for i in operator.inputs[1:])
    if operator.code != "RESHAPE":
        return PartReading((tuple(ranges), *rest))
    shape = sizes(box)
    return PartReading((tuple(ranges), *rest), {"new_shape": shape}, {1: shape} if rest else {})


def _alike(source: tuple[int, ...], target: tuple[int, ...]) -> list[tuple[Range, Range]]:
    """Return the shortest runs of both shapes' axes that have the same number of elements."""
    runs, starts, ends, products = list[tuple[Range, Range]](), [0, 0], [0, 0], [1, 1]
    shapes = source, target
    while ends[0] < len(source) or ends[1] < len(target):
        side = 0 if ends[0] < len(source) and products[0] <= products[1] else 1
        if ends[side] == len(shapes[side]):
            side = 1 - side
        products[side] *= shapes[side][ends[side]]
        ends[side] += 1
        if products[0] == products[1] and all(a < b for a, b in zip(starts, ends, strict=True)):
            runs.append(((starts[0], ends[0]), (starts[1], ends[1])))
            starts, products = list(ends), [1, 1]
    if starts != ends and runs:  # axes of size 1 at the end of one shape
        (a, _), (c, _) = runs.pop()
        runs.append(((a, ends[0]), (c, ends[1])))
    return runs


def transpose(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a TRANSPOSE by a constant order."""
    order = graph.tensors[operator.inputs[1]]
    if order.data is None:
        return None
    places = {int(axis) % len(box): span for axis, span in zip(order.array(), box, strict=True)}
    source = tuple(places[axis] for axis in range(len(box)))
    return PartReading((source, whole(order.shape)))


def pad(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a PAD: what is inside, and the rest of the padding."""
    widths = graph.tensors[operator.inputs[1]]
    source = graph.tensors[operator.inputs[0]].shape
    if widths.data is None or not all(source):
        return None
    inside, around = [], []
    for (start, end), size, (before, _) in zip(box, source, widths.array().tolist(), strict=True):
        first, last = max(start - before, 0), min(end - before, size)
        if first >= last:
            return None
        inside.append((first, last))
        around.append((first - start + before, end - before - last))
    rest = tuple(whole(graph.tensors[i].shape) for i in operator.inputs[1:])
    return PartReading((tuple(inside), *rest), values={1: tuple(around)})


def slice_(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a SLICE at a constant place."""
    begin, size = (graph.tensors[i] for i in operator.inputs[1:3])
    if begin.data is None or size.data is None:
        return None
    source = tuple(
        (start + first, end + first)
        for (start, end), first in zip(box, begin.array().tolist(), strict=True)
    )
    values = {1: (0,) * len(box), 2: sizes(box)}
    return PartReading((source, whole(begin.shape), whole(size.shape)), values=values)


def concatenation(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a CONCATENATION: the inputs of which the box has anything."""
    axis = int(operator.options.get("axis", 0)) % len(box)
    first, boxes = 0, list[Box | None]()
    for index in operator.inputs:
        size = graph.tensors[index].shape[axis]
        start, end = max(box[axis][0] - first, 0), min(box[axis][1] - first, size)
        boxes.append((*box[:axis], (start, end), *box[axis + 1 :]) if start < end else None)
        first += size
    return PartReading(tuple(boxes))
