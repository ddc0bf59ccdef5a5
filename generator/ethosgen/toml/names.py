"""Fields whose values are names, to which plug-ins may add."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ethosgen.platforms import PLATFORMS, names_of


def _expected(names: Iterable[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}"


def _known(name: str) -> str:
    if name not in PLATFORMS:
        raise PydanticCustomError(
            "literal_error", "Input should be {expected}", {"expected": _expected(PLATFORMS)}
        )
    return name


def _built(name: str) -> str:
    known = names_of(lambda platform: platform.is_built)
    if name not in known:
        raise PydanticCustomError(
            "literal_error", "Input should be {expected}", {"expected": _expected(known)}
        )
    return name


def _schema(names: Iterable[str]) -> Any:
    return WithJsonSchema({"enum": list(names), "type": "string"})


PlatformName = Annotated[str, AfterValidator(_known), _schema(PLATFORMS.own)]
"""A platform; the schema for editors lists ethosgen's own."""
BoardPlatform = Annotated[
    str,
    AfterValidator(_built),
    _schema(name for name, platform in PLATFORMS.own.items() if platform.is_built),
]
"""A platform that boards can have."""
