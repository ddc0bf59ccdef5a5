"""ethosgen: a quantized network to Cortex-M + Ethos-U firmware, checked bit for bit.

The functions of `ethosgen.api` are here too, and imported on first use: compilers take seconds, and
the command imports this module before it can say what Ctrl-C does.
"""

from ethosgen.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ethosgen.api import (
        OffloadMode,
        OffloadOptions,
        Run,
        Schedule,
        Strategy,
        accuracy,
        build_project,
        compare,
        create_project,
        create_report,
        draw_samples,
        read,
        run_project,
        simulate,
        verify,
    )
    from ethosgen.values.errors import EthosgenError

    sweep: Callable[..., Any]

__all__ = [
    "EthosgenError",
    "OffloadMode",
    "OffloadOptions",
    "Run",
    "Schedule",
    "Strategy",
    "__version__",
    "accuracy",
    "build_project",
    "compare",
    "create_project",
    "create_report",
    "draw_samples",
    "read",
    "run_project",
    "simulate",
    "sweep",
    "verify",
]

_PARTS = {"sweep"}
"""Names that come in by entry points."""


if not TYPE_CHECKING:  # for type checkers a misspelled name must stay an error

    def __getattr__(name: str) -> "Any":
        if name not in __all__:
            raise AttributeError(f"module 'ethosgen' has no attribute '{name}'")
        if name == "EthosgenError":
            from ethosgen.values.errors import EthosgenError

            return EthosgenError
        if name in _PARTS:
            from ethosgen import plugins

            return plugins.part(plugins.NAMES, name)
        from ethosgen import api

        return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
