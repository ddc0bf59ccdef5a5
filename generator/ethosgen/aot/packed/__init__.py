"""Operators with hand-written inner loops for Helium: micro-kernels that TVM's loops call.

If an operator has a packed form for its shapes, the firmware uses it. The form in
`ethosgen.aot.operators` runs on this machine, and in the firmware for all other shapes. Both are
bit-identical to TFLite Micro's reference kernels.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

from ethosgen.aot.operators import Kernel, code_of
from ethosgen.values.network import Operator, Tensor

_FAMILIES = ("matrix", "depthwise", "fft", "pool", "signal", "softmax", "wide")
"""Modules of this package. Importing one imports tvm, so the first lookup does it."""

Pack = Callable[[Operator, Sequence[Tensor]], Kernel | None]
"""Returns the packed form of an operator, None for uncovered shapes."""


def packed(*codes: str, dtype: str = "int8") -> Callable[[Pack], Pack]:
    """Declare that the decorated function packs these operators; all their tensors have `dtype`."""

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
