"""The packages of the extra `place`, which ethosgen itself does not require."""

from importlib.util import find_spec

from ethosgen.values.errors import ToolError

_PACKAGES = {"pymetis": "divides graphs", "simpy": "simulates"}


def require_packages() -> None:
    """Raise ToolError if a package is missing."""
    for name, purpose in _PACKAGES.items():
        if find_spec(name) is None:
            raise ToolError(
                f"placing needs {name}, which {purpose}; install it with: "
                "pip install 'ethosgen[place]'"
            )
