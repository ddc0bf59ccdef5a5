"""Samples with golden outputs that a network's file contains besides the network."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ethosgen.values.outcome import Arrays


@dataclass(frozen=True)
class Examples:
    """Inputs and golden outputs by tensor name; `name` is the file's.

    `steps` is the difference that the file's own runtime allows, in steps of an output.
    """

    name: str
    inputs: Sequence[Arrays] = field(repr=False)
    outputs: Sequence[Arrays] = field(repr=False)
    steps: float = 0.0
