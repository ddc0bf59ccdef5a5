"""Compiles kernels for this machine as users' are: optimized."""

from collections.abc import Iterator

import pytest

from ethosgen.aot.host import llvm

USERS = llvm.TARGET


@pytest.fixture(scope="package", autouse=True)
def users_kernels() -> Iterator[None]:
    """Undo what the tests of other rooms do."""
    others, llvm.TARGET = llvm.TARGET, USERS
    yield
    llvm.TARGET = others
