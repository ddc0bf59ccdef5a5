"""The user's folders, by each system's own convention. Owns platformdirs."""

from pathlib import Path

from platformdirs import PlatformDirs

_NAME = "ethosgen"


def cache_folder() -> Path:
    """Return the folder for what can be computed again: ~/.cache/ethosgen on Linux."""
    return Path(PlatformDirs(_NAME, appauthor=False).user_cache_path)


def data_folder() -> Path:
    """Return the folder for what commands install: ~/.local/share/ethosgen on Linux."""
    return Path(PlatformDirs(_NAME, appauthor=False).user_data_path)


def state_folder() -> Path:
    """Return the folder for what a command keeps for later: ~/.local/state/ethosgen on Linux."""
    return Path(PlatformDirs(_NAME, appauthor=False).user_state_path)
