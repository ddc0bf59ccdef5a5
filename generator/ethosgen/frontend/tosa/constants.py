"""Folds operators that only move constants; copies constants that are outputs.

The converter of .tflite files reshapes the weights of depthwise convolutions and of fully connected
layers in the graph, where Vela takes only constants. Folded, they are weights on the NPU, and on
the CPU nothing is copied at each inference.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ethosgen.values.naming import unique_name
from ethosgen.values.network import Operator, Tensor


def _same(_op: Operator, source: Tensor) -> bytes:
    return source.data or b""


def _transposed(op: Operator, source: Tensor) -> bytes:
    values = np.frombuffer(source.data or b"", source.dtype).reshape(source.shape)
    return values.transpose(op.options["perms"]).tobytes()


_MOVES: dict[str, Callable[[Operator, Tensor], bytes]] = {
    "TOSA_IDENTITY": _same,
    "TOSA_RESHAPE": _same,
    "TOSA_TRANSPOSE": _transposed,
}


def fold_moves(
    operators: Sequence[Operator], tensors: Sequence[Tensor], outputs: Sequence[int]
) -> tuple[tuple[Operator, ...], tuple[Tensor, ...]]:
    """Return the operators that stay, renumbered, and the tensors with the folded constants.

    The operators must fit TOSA and be in order. An operator that writes an output of the graph
    stays.
    """
    folded, left = list(tensors), list[Operator]()
    for op in operators:
        move = _MOVES.get(op.code)
        source = folded[op.inputs[0]] if move and op.inputs else None
        if move is None or source is None or source.data is None or op.outputs[0] in outputs:
            left.append(replace(op, index=len(left)))
        else:
            target = op.outputs[0]
            folded[target] = replace(folded[target], data=move(op, source))
    return tuple(left), tuple(folded)


def copy_constants(
    operators: Sequence[Operator], tensors: Sequence[Tensor], outputs: Sequence[int]
) -> tuple[tuple[Operator, ...], tuple[Tensor, ...]]:
    """Return the operators and tensors with an IDENTITY for each output that is a constant.

    The constant gets another name, and its readers read it there.
    """
    taken = {tensor.name for tensor in tensors}
    copied, copies, moved = list(tensors), list[Operator](), dict[int, int]()
    for output in dict.fromkeys(outputs):
        constant = tensors[output]
        if constant.data is None:
            continue
        place = moved[output] = len(copied)
        name = unique_name(constant.name, place, taken)
        copied.append(replace(constant, index=place, name=name))
        copied[output] = replace(constant, data=None)
        copies.append(Operator(0, "TOSA_IDENTITY", (place,), (output,)))
    readers = (
        replace(op, inputs=tuple(moved.get(index, index) for index in op.inputs))
        for op in operators
    )
    ordered = (replace(op, index=index) for index, op in enumerate([*copies, *readers]))
    return tuple(ordered), tuple(copied)
