"""The table of rows, and what their builders share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.onnx_networks import OnnxNetwork

Build = Callable[[OnnxNetwork], list[str]]


@dataclass(frozen=True)
class Row:
    """One operator; `also` are operators that its variants need quantized as well."""

    name: str
    build: Build
    also: tuple[str, ...] = ()
    types: tuple[str, ...] = ("int8", "uint8", "int16")
    options: dict[str, Any] = field(default_factory=dict)


ROWS: dict[str, Row] = {}


def row(name: str, *also: str, **settings: Any) -> Callable[[Build], Build]:
    """Add a row whose networks the decorated function builds."""

    def add(build: Build) -> Build:
        ROWS[name] = Row(name, build, also, **settings)
        return build

    return add


class Inputs:
    """Adds an input for each variant."""

    def __init__(self, net: OnnxNetwork) -> None:
        self.net = net

    def __call__(self, *shape: int) -> str:
        return self.net.add_input(f"x{len(self.net.inputs)}", *shape)
