"""The rules of layers: windows with halos, and channels."""

from ethosgen.optimizer.intervals.windows import Window, WindowAxis, window_of
from ethosgen.splitting.boxes import Box, Range, whole
from ethosgen.splitting.reading import PartReading
from ethosgen.values.network import ABSENT, Graph, Operator

_IMAGE = 4
"""The rank of (batch, rows, columns, channels)."""


def convolution(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a CONV_2D: a window of rows and columns, and some filters."""
    source, weights = (graph.tensors[i].shape for i in operator.inputs[:2])
    if source[3] != weights[3] and box[3] != (0, weights[0]):
        return None  # the channels of groups
    filters: Box = (box[3], *whole(weights[1:]))
    return _windowed(graph, operator, box, (0, source[3]), filters)


def depthwise(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a DEPTHWISE_CONV_2D: output channels follow their input channels."""
    source, weights = (graph.tensors[i].shape for i in operator.inputs[:2])
    first, end = box[3]
    multiplier = weights[3] // source[3]
    if source[3] == 1:
        channels, multiplier = (0, 1), end - first
    elif first % multiplier or end % multiplier:
        return None
    else:
        channels = first // multiplier, end // multiplier
    filters: Box = (*whole(weights[:3]), box[3])
    more = {"depth_multiplier": multiplier}
    return _windowed(graph, operator, box, channels, filters, more)


def pool(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a pool; an average leaves out its padding, which a part must too."""
    reading = _windowed(graph, operator, box, box[3], None)
    if reading is not None and reading.pads and operator.code != "MAX_POOL_2D":
        return None
    return reading


def dense(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of a FULLY_CONNECTED: rows of the input, and rows of the weights."""
    source, weights = (graph.tensors[i] for i in operator.inputs[:2])
    if weights.data is None or weights.is_packed:
        return None
    target = graph.tensors[operator.outputs[0]].shape
    if len(target) == len(source.shape) and target[:-1] == source.shape[:-1]:
        rows: Box = (*box[:-1], (0, source.shape[-1]))
    elif box[:-1] == whole(target[:-1]):
        rows = whole(source.shape)
    else:
        return None
    return PartReading((rows, (box[-1], *whole(weights.shape[1:])), *_bias(operator, box)))


def partial(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the reading of the sums over some input channels, which `depth` names."""
    weights = graph.tensors[operator.inputs[1]].shape
    depth: Range = operator.options["depth"]
    if len(weights) == _IMAGE:
        filters: Box = (box[3], *whole(weights[1:]))
        return _windowed(graph, operator, box, depth, filters)
    return PartReading(((*box[:-1], depth), (box[-1], (0, weights[1]))))


def _bias(operator: Operator, box: Box) -> tuple[Box | None, ...]:
    return tuple(None if i == ABSENT else (box[-1],) for i in operator.inputs[2:])


def _windowed(
    graph: Graph,
    operator: Operator,
    box: Box,
    channels: Range,
    filters: Box | None,
    more: dict[str, int] | None = None,
) -> PartReading | None:
    """Return the reading of a window that moves over rows and columns."""
    window = _window(graph, operator)
    axes = tuple(zip((window.rows, window.columns), box[1:3], strict=True))
    covered = [_covered(axis, span) for axis, span in axes]
    if any(start >= end for (start, end), _ in covered):
        return None
    pads = tuple(pad for _, pad in covered)
    options: dict[str, int | str] = dict(more or {})
    if not all(_pads_itself(axis, *each) for axis, each in zip(axes, covered, strict=True)):
        options |= {"padding": "VALID"}
    else:
        pads = ((0, 0), (0, 0))
    source: Box = (box[0], covered[0][0], covered[1][0], channels)
    constants = () if filters is None else (filters, *_bias(operator, box))
    padding = ((0, 0), *pads, (0, 0)) if any(map(any, pads)) else ()
    return PartReading((source, *constants), options, pads=padding)


def _window(graph: Graph, operator: Operator) -> Window:
    shapes = [graph.tensors[i].shape for i in (operator.inputs[0], operator.outputs[0])]
    options = operator.options
    if "filter_height" in options:
        taps = [int(options["filter_height"]), int(options["filter_width"])]
    else:
        _, *taps, _ = graph.tensors[operator.inputs[1]].shape
    rows, columns = taps
    return window_of(options, shapes[0], shapes[1], (rows, columns))


def _covered(axis: WindowAxis, span: Range) -> tuple[Range, Range]:
    """Return the range of the input under a range of the output, and the padding around it."""
    reach = (axis.taps - 1) * axis.dilation + 1
    first = span[0] * axis.stride - axis.before
    end = (span[1] - 1) * axis.stride - axis.before + reach
    inside = max(first, 0), min(end, axis.size)
    return inside, (inside[0] - first, end - inside[1])


def _pads_itself(case: tuple[WindowAxis, Range], inside: Range, pads: Range) -> bool:
    """Return whether an axis of a part, padded by the operator's own rule, has the same windows."""
    axis, span = case
    size, out = inside[1] - inside[0], span[1] - span[0]
    if not axis.is_same:
        return True
    alone = WindowAxis(size, out, axis.taps, axis.stride, axis.dilation, is_same=True)
    return alone.before == pads[0] and out == -(-size // axis.stride)
