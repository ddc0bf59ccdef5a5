"""Compiles kernels for this machine without LLVM's optimizations: each runs only briefly."""

import sys

import pytest


@pytest.fixture(autouse=True)
def quick_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests in tests/aot run optimized kernels; a module that is not imported is left alone."""
    if llvm := sys.modules.get("ethosgen.aot.host.llvm"):
        monkeypatch.setattr(llvm, "TARGET", {"kind": "llvm", "opt-level": 0})
