"""Folds operators that only move constants.

The converter of .tflite files reshapes the weights of depthwise convolutions and of fully connected
layers in the graph, where Vela takes only constants. Folded, they are weights on the NPU, and on
the CPU nothing is copied at each inference.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

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
    """Return the operators that stay, numbered anew, and the tensors with the folded constants.

    The operators must fit TOSA and be in order. What makes an output of the graph stays.
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
