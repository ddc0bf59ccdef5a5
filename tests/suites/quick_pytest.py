"""pytest for tests that export networks with PyTorch, in less processor time; run it by its path.

Python looks for garbage less often. PyTorch's list of operators, which each export looks up
several times for each namespace, is looked up once, and only creates the operators that are new.
Kernels are made once, and registered without the annotations that PyTorch evaluates for each of
them. The search for the range of a histogram compares NumPy's numbers, not tensors of one element.
What says where a node comes from never changes, so it is not copied.
"""

import functools
import gc
import sys
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch._C import DispatchKey
from torch._export import utils
from torch._ops import OperatorBase
from torch.export import decomp_utils, exported_program
from torch.fx.traceback import NodeSource
from torchao.quantization.pt2e.observer import HistogramObserver

_seen: set[str] = set()
_collect = utils._collect_all_valid_cia_ops
_py_impl = OperatorBase.py_impl


def create_new_operators() -> None:
    """Create the objects of operators that this function has not seen, as PyTorch's does."""
    key = "CompositeImplicitAutograd"
    for name in torch._C._dispatch_get_registrations_for_dispatch_key(key):
        if name not in _seen:
            namespace, _, rest = name.partition("::")
            operator, _, overload = rest.partition(".")
            getattr(getattr(getattr(torch.ops, namespace), operator), overload or "default")
            _seen.add(name)


def collect_operators() -> Any:
    """Return PyTorch's list of operators, and create new ones once for all namespaces."""
    create_new_operators()
    utils._materialize_cpp_cia_ops = lambda: None
    try:
        return _collect()
    finally:
        utils._materialize_cpp_cia_ops = create_new_operators


def py_impl(operator: Any, key: Any) -> Callable[[Any], Any]:
    """Return PyTorch's decorator for a kernel, in fewer steps for a new one."""
    decorator = None if isinstance(key, DispatchKey) else _py_impl(operator, key)

    def register(kernel):  # type: ignore[no-untyped-def]
        if decorator or key == DispatchKey.Python or key in operator.py_kernels:
            return (decorator or _py_impl(operator, key))(kernel)
        operator.py_kernels[key] = kernel
        operator._dispatch_cache.clear()
        return kernel

    return register


def cumulative_sums(histogram: torch.Tensor, dim: int) -> Any:
    """Return PyTorch's sums as an array; its elements compare with a float in their own type."""
    return torch.cumsum(histogram, dim=dim).numpy()


def quick_search(search: FunctionType) -> FunctionType:
    """Return PyTorch's search for the range of a histogram, with sums in an array."""
    names = {"torch": SimpleNamespace(sum=torch.sum, cumsum=cumulative_sums)}
    return FunctionType(search.__code__, names)


if __name__ == "__main__":
    gc.set_threshold(200_000, 20, 100)
    utils._materialize_cpp_cia_ops = create_new_operators
    for module in (utils, decomp_utils, exported_program):
        module._collect_all_valid_cia_ops = collect_operators
    OperatorBase.py_impl = py_impl
    make_kernel = functools.cache(exported_program.autograd_not_implemented)
    exported_program.autograd_not_implemented = make_kernel
    NodeSource.__deepcopy__ = lambda source, _: source
    HistogramObserver._non_linear_param_search = quick_search(
        HistogramObserver._non_linear_param_search
    )
    sys.exit(pytest.main(sys.argv[1:]))
