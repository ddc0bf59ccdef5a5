"""pytest for tests that export networks with PyTorch, in less processor time; run it by its path.

Python looks for garbage less often, and PyTorch's list of operators, which each export looks up
several times for each namespace, only creates the operators that are new since the last time.
"""

import gc
import sys

import pytest
import torch
from torch._export import utils

_seen: set[str] = set()


def create_new_operators() -> None:
    """Create the objects of operators that this function has not seen, as PyTorch's does."""
    key = "CompositeImplicitAutograd"
    for name in torch._C._dispatch_get_registrations_for_dispatch_key(key):
        if name not in _seen:
            namespace, _, rest = name.partition("::")
            operator, _, overload = rest.partition(".")
            getattr(getattr(getattr(torch.ops, namespace), operator), overload or "default")
            _seen.add(name)


if __name__ == "__main__":
    gc.set_threshold(200_000, 20, 100)
    utils._materialize_cpp_cia_ops = create_new_operators
    sys.exit(pytest.main(sys.argv[1:]))
