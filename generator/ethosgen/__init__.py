"""ethosgen: a quantized network to Cortex-M + Ethos-U firmware, checked bit for bit.

The functions of `ethosgen.api` are here, too, and imported on first use: compilers take seconds,
and the command imports this module before it can set up Ctrl-C. Type checkers read __init__.pyi.
"""

from ethosgen.version import __version__

__all__ = [
    "AttachedRun",
    "EthosgenError",
    "OffloadMode",
    "OffloadOptions",
    "Run",
    "Schedule",
    "Strategy",
    "__version__",
    "accuracy",
    "attach",
    "build_project",
    "compare",
    "create_project",
    "create_report",
    "draw_samples",
    "flash_project",
    "identify",
    "place",
    "read",
    "run_project",
    "simulate",
    "sweep",
    "verify",
]

_PARTS = {"place", "sweep"}
"""Names that come in by entry points."""


def __getattr__(name: str) -> object:
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
