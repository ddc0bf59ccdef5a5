"""Operators with inner loops written by hand, for Helium: micro-kernels around which TVM loops.

Where an operator has a packed form for its shapes it is what the firmware runs; its form in
`ethosgen.aot.operators` is what this machine runs, and what is left for all other shapes. Both
equal TFLite Micro's reference kernels to the last bit.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

from ethosgen.aot.operators import Kernel, code_of
from ethosgen.values.model import Operator, Tensor

_FAMILIES = ("matrix", "depthwise", "fft", "pool", "signal", "softmax", "wide")
"""Modules of this package; importing one imports tvm, so it happens on the first look-up."""

Pack = Callable[[Operator, Sequence[Tensor]], Kernel | None]
"""Returns the packed form of an operator, None for shapes that it does not cover."""


def packed(*codes: str, dtype: str = "int8") -> Callable[[Pack], Pack]:
    """Declare that the decorated function packs these operators, of one type from end to end."""

    def declare(pack: Pack) -> Pack:
        packs = [(code, dtype) for code in codes]
        pack.packs = [*getattr(pack, "packs", ()), *packs]  # type: ignore[attr-defined]
        return pack

    return declare


def pack(operator: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Return an operator's packed form, None if it has none."""
    dtypes = {tensors[i].dtype for i in (*operator.inputs[:1], *operator.outputs[:1])}
    found = _registry().get((code_of(operator), *dtypes)) if len(dtypes) == 1 else None
    return found(operator, tensors) if found else None


@cache
def _registry() -> dict[tuple[str, ...], Pack]:
    functions = [
        value
        for family in _FAMILIES
        for value in vars(import_module(f"{__name__}.{family}")).values()
    ]
    return {key: function for function in functions for key in getattr(function, "packs", ())}
