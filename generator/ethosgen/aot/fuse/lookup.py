"""Lookup tables for elements that are functions of one 8-bit value.

One lookup replaces any number of operators. The PrimFunc itself, compiled for this machine,
computes the 256 entries.
"""

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from ethosgen.aot.arithmetic.table import byte_table
from ethosgen.aot.tir.element import ElementLoops
from ethosgen.aot.tir.graft import reshaped
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.lowering import UNOPTIMIZED, compile_natively
from ethosgen.aot.tir.nest import Array
from ethosgen.aot.tir.quantization import limits
from ethosgen.values.network import Tensor

BYTES = ("int8", "uint8")


def is_of_a_byte(element: ElementLoops, tensors: Sequence[Tensor], target: Tensor) -> bool:
    """Return whether an 8-bit result depends only on one 8-bit value and on constants."""
    read = {i for i in element.kernel.inputs if tensors[i].data is None}
    return (
        len(read) == 1
        and tensors[next(iter(read))].dtype in BYTES
        and target.dtype in BYTES
        and element.is_free_of_place()
        and _reads_the_byte_by_place_alone(element, tensors)
    )


def _reads_the_byte_by_place_alone(element: ElementLoops, tensors: Sequence[Tensor]) -> bool:
    """Return whether the byte is read at the output's index, and constants without one.

    A SLICE of one element has no loops either, but reads another index.
    """
    ends = zip(element.kernel.function.params, element.kernel.inputs, strict=False)
    parameters = [parameter for parameter, i in ends if tensors[i].data is None]
    return all(
        element.is_whole(load)
        == any(element.views[load.source].same_as(pointer) for pointer in parameters)
        for load in element.loads()
    )


def tables(
    elements: Mapping[int, ElementLoops], tensors: Sequence[Tensor], targets: Mapping[int, Tensor]
) -> dict[int, Kernel]:
    """Return a lookup kernel for each element; `is_of_a_byte` must hold for all."""
    functions = {
        f"element_{key}": reshaped(element, (256,)).function.with_attr(
            "global_symbol", f"element_{key}"
        )
        for key, element in elements.items()
    }
    if not functions:
        return {}
    library = compile_natively(functions, UNOPTIMIZED)
    kernels = {}
    for key, element in elements.items():
        source = next(t for t in map(tensors.__getitem__, element.kernel.inputs) if t.data is None)
        values = _evaluate(library[f"element_{key}"], element, tensors, source, targets[key])
        low, high = limits(source.dtype)
        outputs = dict(zip(range(low, high + 1), values.tolist(), strict=True))
        kernels[key] = byte_table(source, targets[key], outputs.__getitem__)
    return kernels


def _evaluate(
    function: object,
    element: ElementLoops,
    tensors: Sequence[Tensor],
    source: Tensor,
    target: Tensor,
) -> Array:
    low, high = limits(source.dtype)
    every = np.arange(low, high + 1).astype(source.dtype)
    outputs = np.empty(256, target.dtype)
    inputs = [tensors[i] for i in element.kernel.inputs]
    arrays = [every if t.data is None else np.ascontiguousarray(t.array()) for t in inputs]
    arrays += [np.ascontiguousarray(constant) for constant in element.kernel.arrays]
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (*arrays, outputs)))  # type: ignore[operator]
    return outputs


def bounds_of(kernel: Kernel) -> tuple[int, int] | None:
    """Return the bounds to which an int8 table clamps its argument, None if it is not a clamp."""
    if len(kernel.arrays) != 1 or kernel.arrays[0].dtype != np.int8:
        return None
    values = kernel.arrays[0].astype(int)
    every = np.arange(-128, 128)
    low, high = int(values[0]), int(values[-1])
    return (
        (low, high) if values.size == 256 and (np.clip(every, low, high) == values).all() else None
    )
