# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Functions of one 8-bit number as a table of 256 values, made at compile time."""

from collections.abc import Callable

import numpy as np
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.quantization import limits
from ethosgen.errors import UnsupportedError
from ethosgen.model import Tensor


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
    table_values = np.array(values, target.dtype)
    elements = target.elements
    before, after = source.dtype, target.dtype

    @T.prim_func(private=True)
    def kernel(input: T.handle(before), table: T.handle(after), output: T.handle(after)):
        x = T.decl_buffer((elements,), before, data=input)
        t = T.decl_buffer((256,), after, data=table)
        y = T.decl_buffer((elements,), after, data=output)
        for i in T.serial(elements):
            y[i] = t[T.cast(x[i], "int32") - first]

    return Kernel(kernel, (source.index,), (table_values,))
