"""Which kernels the tests of libraries get."""

import pytest

from ethosgen.aot import libraries


@pytest.fixture
def even_if_dearer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all layers to micro-kernels, whatever the plain ones cost."""
    monkeypatch.setattr("ethosgen.aot.libraries.estimate_cycles", lambda *_, **__: None)


@pytest.fixture
def only_the_first_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out libraries that a processor's own library stands before."""
    for name in ("DSP_LIBRARIES", "ARMV7M_LIBRARIES", "ARMV6M_LIBRARIES"):
        monkeypatch.setattr(libraries, name, getattr(libraries, name)[:1])
