"""Manifests of older formats: one function for each format, which makes the next of it.

A project outlives the ethosgen that made it. Its manifest names the format; the reader knows only
the newest, and each older one becomes that step by step. A step states what the format before meant
where it said nothing, so a default that changes later does not change old projects.
"""

from collections.abc import Callable
from typing import Any

from ethosgen.values.errors import InputError
from ethosgen.version import __version__

FORMAT = 13
"""The manifest's format. Increment it with each field that an older ethosgen does not expect, add
a function to _STEPS, and store a manifest of the format before in tests/golden/manifests."""
OLDEST = 2
"""Firmware of format 1 answers over the console in a way that no later ethosgen understands."""

Content = dict[str, Any]


def migrate(content: Content, path: str) -> Content:
    """Return a manifest's content in FORMAT; InputError if it is newer or too old.

    KeyError, TypeError or AttributeError for damaged content.
    """
    number = content["format"]
    if not isinstance(number, int):
        raise TypeError("a format that is no number")
    if number > FORMAT:
        raise InputError(
            f"'{path}' has format {number}, but this ethosgen {__version__} reads up to {FORMAT}; "
            f"use ethosgen {content['ethosgen']} or newer, which made it, or generate the project "
            "again elsewhere"
        )
    if number < OLDEST:
        raise InputError(
            f"'{path}' has format {number}, but this ethosgen {__version__} reads {OLDEST} to "
            f"{FORMAT}; generate the project again elsewhere"
        )
    for before in range(number, FORMAT):
        _STEPS[before](content)
    content["format"] = FORMAT
    return content


def _name_the_oracle(content: Content) -> None:
    """2: always the usual oracle, and at first neither check nor memory modes."""
    content.setdefault("memory_mode", "shared_sram")
    for network in content["networks"]:
        network.setdefault("oracle", None)
        network.setdefault("check", True)


def _name_the_source(content: Content) -> None:
    """3: every network is a .tflite file, `model`."""
    for network in content["networks"]:
        if "model" in network:
            network["source"] = {"format": "tflite", "file": network.pop("model")}


def _trust_any_compiler(content: Content) -> None:
    """4: the only compiler is Vela."""
    for network in content["networks"]:
        network.setdefault("trust_compiler", network.pop("trust_vela", False))


def _allow_no_steps(content: Content) -> None:
    """5 to 7: exact, or it fails; until 5 also without accelerators of users."""
    for network in content["networks"]:
        network.setdefault("steps", 0)


def _list_no_calls(content: Content) -> None:
    """8 and before: without the steps of profiles; the project has no hooks for them."""
    for network in content["networks"]:
        network.setdefault("calls", [])


def _count_outside_of_loops(content: Content) -> None:
    """9: firmware counts no entries of loops and branches, so its profiles cannot be read."""
    for network in content["networks"]:
        network["calls"] = []


def _use_the_usual_schedule(content: Content) -> None:
    """10: the compiler always optimizes for performance, without a limit."""
    for network in content["networks"]:
        network.setdefault("schedule", {"strategy": "performance", "arena_bytes": None})


def _change_nothing(content: Content) -> None:
    """Where the next format only says what this one could not: its absence is what was meant."""


_STEPS: dict[int, Callable[[Content], None]] = {
    2: _name_the_oracle,
    3: _name_the_source,
    4: _trust_any_compiler,
    5: _change_nothing,  # 6 names users' accelerators
    6: _change_nothing,  # 7 has programs for Linux
    7: _allow_no_steps,
    8: _list_no_calls,  # 9 has boards without an NPU
    9: _count_outside_of_loops,
    10: _use_the_usual_schedule,
    11: _change_nothing,  # 12 has secure sides, applications, and weights apart from the code
    12: _change_nothing,  # 13 has boards with a clock and a module of Zephyr's
}
