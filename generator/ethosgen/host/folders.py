"""The user's folders, by each system's own convention. Owns platformdirs."""

from pathlib import Path
from typing import Any

_NAME = "ethosgen"
NO_CACHE = "ETHOSGEN_NO_CACHE"
"""The variable that, if it has a value, keeps networks and their trials out of the cache."""


def cache_folder() -> Path:
    """Return the folder for files that can be computed again: ~/.cache/ethosgen on Linux."""
    return Path(_folders().user_cache_path)


def data_folder() -> Path:
    """Return the folder for files that commands install: ~/.local/share/ethosgen on Linux."""
    return Path(_folders().user_data_path)


def state_folder() -> Path:
    """Return the folder for a command's state: ~/.local/state/ethosgen on Linux."""
    return Path(_folders().user_state_path)


def _folders() -> Any:
    from platformdirs import PlatformDirs  # the environments' own Pythons lack it

    return PlatformDirs(_NAME, appauthor=False)
