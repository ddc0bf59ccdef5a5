"""Functions of one 8-bit number as a table of 256 values, made at compile time."""

from collections.abc import Callable

import numpy as np

from ethosgen.aot.arithmetic.quantization import limits
from ethosgen.aot.loops.nest import Nest, int32
from ethosgen.aot.operators import Kernel
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.model import Tensor


def byte_table(source: Tensor, target: Tensor, function: Callable[[int], int]) -> Kernel:
    """Return a kernel that looks each element up; `function` is clamped to the output's range.

    Both tensors have 8 bits, UnsupportedError otherwise.
    """
    for tensor in (source, target):
        if tensor.dtype not in ("int8", "uint8"):
            raise UnsupportedError(
                f"it turns {source.dtype} into {target.dtype}; that pair is not covered"
            )
    low, high = limits(target.dtype)
    first, last = limits(source.dtype)
    values = [min(max(function(q), low), high) for q in range(first, last + 1)]
    nest = Nest()
    x = nest.read("input", source, (target.elements,))
    y = nest.write("output", target, (target.elements,))
    table = nest.table("table", np.array(values, target.dtype))
    with nest.loop("i", target.elements) as i:
        nest.store(y, (i,), table[int32(x[i]) - first])
    return nest.kernel()
