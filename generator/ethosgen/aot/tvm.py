"""TVM's modules, each imported at the first use of one of its names.

The import takes a second, and a network that runs only on the NPU needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class _Deferred:
    """Stands for a module until one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)  # later uses find it without a call
        return value


def load() -> None:
    """Import all of them now."""
    for name in ("tvm.relax.expr_functor", "tvm.s_tir", "tvm.tirx"):
        import_module(name)


if TYPE_CHECKING:
    import tvm
    import tvm_ffi
    from tvm import ir, relax, s_tir, tirx
    from tvm.relax import expr_functor
else:
    tvm, tvm_ffi = _Deferred("tvm"), _Deferred("tvm_ffi")
    ir, relax = _Deferred("tvm.ir"), _Deferred("tvm.relax")
    s_tir, tirx = _Deferred("tvm.s_tir"), _Deferred("tvm.tirx")
    expr_functor = _Deferred("tvm.relax.expr_functor")

__all__ = ["expr_functor", "ir", "load", "relax", "s_tir", "tirx", "tvm", "tvm_ffi"]
