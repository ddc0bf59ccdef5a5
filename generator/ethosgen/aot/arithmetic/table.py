"""Functions of one 8-bit value as lookup tables of 256 entries, computed at compile time."""

from collections.abc import Callable

import numpy as np

from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, int32
from ethosgen.aot.tir.quantization import limits
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Tensor


def byte_table(source: Tensor, target: Tensor, function: Callable[[int], int]) -> Kernel:
    """Return a kernel that looks each element up; values are clamped to the output's range.

    UnsupportedError unless both tensors have 8 bits.
    """
    for tensor in (source, target):
        if tensor.dtype not in ("int8", "uint8"):
            raise UnsupportedError(
                f"it converts {source.dtype} to {target.dtype}, which is not covered"
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
