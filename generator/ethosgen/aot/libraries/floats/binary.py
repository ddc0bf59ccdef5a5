"""ADD, SUB and MUL of float32, also with one broadcast input."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.arithmetic.binary import ends
from ethosgen.aot.libraries.floats import cost
from ethosgen.aot.libraries.floats.matrix import two_forms
from ethosgen.aot.libraries.framework.elementwise import LEAST_ROW, rows_of_two
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import merge_dimensions
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.rescaling import plain_range

FILES = frozenset({"ethosgen_binary_f32.c"})
ROW, CALL = 30, 25
"""Instructions of a row outside its loop, and of all rows."""
ELEMENT = {cost.HELIUM: 2.5, cost.IN_C: 11.0}


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    inputs, target = [tensors[i] for i in op.inputs], tensors[op.outputs[0]]
    *_, full = merge_dimensions([*(t.shape for t in inputs), target.shape])
    rows = target.elements / max(full[-1], 1)
    return CALL + rows * (ROW + ELEMENT[by] * full[-1])


@packed("ADD", "SUB", "MUL", dtype="float32", cycles=two_forms(_whole))
def binary(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute 4 elements at a time."""
    first, second, target = ends(op, tensors)
    *shapes, full = merge_dimensions([first.shape, second.shape, target.shape])
    if shapes[0][-1] < full[-1] and op.code != "SUB":
        first, second, shapes = second, first, shapes[::-1]
    if shapes[0][-1] < full[-1] or (len(full) > 1 and full[-1] < LEAST_ROW):
        return None
    bounds = np.array(plain_range(op, "float32"), np.float32)
    single = "_one" if shapes[1][-1] < full[-1] else ""
    function, three = f"ethosgen_{op.code.lower()}{single}_f32", (first, second, target)
    return rows_of_two(function, three, (*shapes, full), ("bounds", bounds), FILES)
