"""In which networks a known difference may show: conditions on graph and setting alone."""

from collections.abc import Callable, Iterator

import numpy as np

from corpus.evidence import Evidence
from ethosgen.model import Graph, Operator
from ethosgen.plan import IoStyle

_TABLES = ("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "TANH", "ELU", "GELU", "EXP", "LOG", "RSQRT")
_PARTS = ("PAD", "PADV2", "CONCATENATION", "PACK")
_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
_NATIVE_RANK = 4


def operators(graph: Graph, *codes: str) -> Iterator[Operator]:
    """Yield the operators of some kinds."""
    return (op for op in graph.operators if op.code in codes)


def constant(graph: Graph, op: Operator, position: int) -> list[int]:
    """Return the values of a constant input."""
    return [int(v) for v in graph.tensors[op.inputs[position]].array().reshape(-1)]


def axes(graph: Graph, op: Operator) -> list[int]:
    """Return the axes of a reduction, counted from the front."""
    rank = len(graph.tensors[op.inputs[0]].shape)
    return [axis % rank for axis in constant(graph, op, 1)]


def has(*codes: str, dtypes: tuple[str, ...] = ()) -> Callable[[Evidence], bool]:
    """Say whether a network has one of the operators, computing in one of the dtypes."""

    def applies(found: Evidence) -> bool:
        tensors = found.graph.tensors
        return any(
            not dtypes or tensors[op.outputs[0]].dtype in dtypes
            for op in operators(found.graph, *codes)
        )

    return applies


def rescales(code: str) -> Callable[[Evidence], bool]:
    """Say whether an operator's output is quantized otherwise than its input."""

    def applies(found: Evidence) -> bool:
        tensors = found.graph.tensors
        pairs = (
            (tensors[op.inputs[0]].quantization, tensors[op.outputs[0]].quantization)
            for op in operators(found.graph, code)
        )
        return any(x and y and (x.scale, x.zero_point) != (y.scale, y.zero_point) for x, y in pairs)

    return applies


def mirrors_elsewhere(found: Evidence) -> bool:
    """Say whether a MIRROR_PAD pads another dimension than height and width."""
    for op in operators(found.graph, "MIRROR_PAD"):
        rank = len(found.graph.tensors[op.inputs[0]].shape)
        amounts = constant(found.graph, op, 1)
        others = (a for a in range(rank) if a < rank - 3 or a == rank - 1)
        if any(amounts[2 * a] + amounts[2 * a + 1] for a in others):
            return True
    return False


def reduces_dropped_axis(found: Evidence) -> bool:
    """Say whether an axis is dropped that Vela reshapes around: see known.py."""
    for op in operators(found.graph, "REDUCE_MAX", "REDUCE_MIN"):
        last = len(found.graph.tensors[op.inputs[0]].shape) - 1
        reduced = axes(found.graph, op)
        minimum = op.code == "REDUCE_MIN" and reduced != [0]
        if not op.options.get("keep_dims") and (last in reduced or minimum):
            return True
    return False


def sums_several_axes(found: Evidence) -> bool:
    """Say whether a SUM has more than one axis."""
    return any(len(axes(found.graph, op)) > 1 for op in operators(found.graph, "SUM"))


def sums_several_axes_for_caller(found: Evidence) -> bool:
    """Say whether a SUM of more than one axis is written to the caller's buffer."""
    ends = set(found.graph.outputs)
    sums = operators(found.graph, "SUM")
    to_caller = any(ends & set(op.outputs) and len(axes(found.graph, op)) > 1 for op in sums)
    return found.setting.io is IoStyle.CALLER and to_caller


def sums_dropped_last_axis(found: Evidence) -> bool:
    """Say whether a SUM without zero point drops the last axis."""
    for op in operators(found.graph, "SUM"):
        x = found.graph.tensors[op.inputs[0]]
        point = x.quantization.zero_point[0] if x.quantization and x.quantization.zero_point else 0
        dropped = len(x.shape) - 1 in axes(found.graph, op) and not op.options.get("keep_dims")
        if dropped and not point:
            return True
    return False


def squares_beyond_32_bits(found: Evidence) -> bool:
    """Say whether the largest squared difference, in steps of the output, exceeds an int32."""
    tensors = found.graph.tensors
    for op in operators(found.graph, "SQUARED_DIFFERENCE"):
        x, y, out = (tensors[i].quantization for i in (*op.inputs, *op.outputs))
        info = np.iinfo(tensors[op.outputs[0]].dtype)
        steps = int(info.max) - int(info.min)
        if x and y and out and (steps * (x.scale[0] + y.scale[0])) ** 2 / out.scale[0] > 1 << 31:
            return True
    return False


def transposes_uint8(found: Evidence) -> bool:
    """Say whether Vela transposes uint8: where it is asked to, or for a depthwise multiplier."""
    if has("TRANSPOSE", dtypes=("uint8",))(found):
        return True
    tensors = found.graph.tensors
    return any(
        op.options.get("depth_multiplier", 1) > 1 and tensors[op.inputs[0]].shape[3] > 1
        for op in operators(found.graph, "DEPTHWISE_CONV_2D")
        if tensors[op.outputs[0]].dtype == "uint8"
    )


def clips_cells_at_a_fraction(found: Evidence) -> bool:
    """Say whether an LSTM's cell clip is no integer."""
    lstms = operators(found.graph, "UNIDIRECTIONAL_SEQUENCE_LSTM")
    clips = (op.options.get("cell_clip", 0.0) for op in lstms)
    return any(clip != int(clip) for clip in clips)


def _follows_transposition(graph: Graph, codes: tuple[str, ...]) -> bool:
    """Say whether one of the operators reads, perhaps through a table, what TRANSPOSE wrote."""
    fused = {op.outputs[0] for op in operators(graph, "TRANSPOSE")}
    for op in operators(graph, *_TABLES):
        if op.inputs[0] in fused and op.code not in codes:
            fused.add(op.outputs[0])
    return any(fused & set(op.inputs) for op in operators(graph, *codes))


def transposes_into_part(found: Evidence) -> bool:
    """Say whether a transposition may be written straight into part of a tensor."""
    return _follows_transposition(found.graph, _PARTS)


def table_after_transposition(found: Evidence) -> bool:
    """Say whether a table may be fused with a transposition, on an NPU without reserved room."""
    small = found.setting.npu in ("ethos-u55-32", "ethos-u55-64")
    return small and _follows_transposition(found.graph, _TABLES)


def saturates_at_once(found: Evidence) -> bool:
    """Say whether one step of an input of LOGISTIC or TANH is beyond their range."""
    inputs = (found.graph.tensors[o.inputs[0]] for o in operators(found.graph, "LOGISTIC", "TANH"))
    return any(t.quantization is not None and t.quantization.scale[0] > 15 for t in inputs)


def steps_through_operand_of_lower_rank(found: Evidence) -> bool:
    """Say whether an operand has an extent where the output has another axis to step along.

    Tensors of fewer than four dimensions have been filled up to four by then.
    """
    tensors = found.graph.tensors
    for op in operators(found.graph, *_BINARY):
        rank = len(tensors[op.outputs[0]].shape)
        for shape in (tensors[i].shape for i in op.inputs):
            filled = (1,) * (_NATIVE_RANK - len(shape)) + tuple(shape)
            if len(filled) < rank and any(extent > 1 for extent in filled[: rank - 3]):
                return True
    return False


def packs_seven_dimensions(found: Evidence) -> bool:
    """Say whether the output of a PACK has seven dimensions, and several outermost slices."""
    shapes = (found.graph.tensors[op.outputs[0]].shape for op in operators(found.graph, "PACK"))
    return any(len(shape) > 6 and shape[0] > 1 for shape in shapes)
