"""Names of a package that are imported on first use."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def imported_on_use(package: str, names_of: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return a package's `__getattr__`, which imports the module of a name.

    `names_of` has the names of each module.
    """

    def find(name: str) -> object:
        for module, names in names_of.items():
            if name in names:
                return getattr(import_module(f"{package}.{module}"), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return find
