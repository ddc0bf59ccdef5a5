"""ethosgen in programs that use TVM: the package ethosgen_relax, under its public name."""

import sys
from typing import Any

from ethosgen import plugins

sys.modules[__name__] = plugins.part(plugins.NAMES, "relax")


def __getattr__(name: str) -> Any:
    """Tell type checkers that the names are those of another module."""
    raise AttributeError(name)
