"""What a part of an operator reads, and in what it differs from the whole operator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ethosgen.splitting.boxes import Box, Range

CUTTING = "SPLIT_"
"""How the custom codes begin of the operators that only a cut network has."""
PARTIAL, TOTAL = f"{CUTTING}PARTIAL", f"{CUTTING}TOTAL"
"""The sums of products over some input channels, in int32; and all of them added and requantised
once. No operator of TFLite's does either."""


@dataclass(frozen=True)
class PartReading:
    """The reading of one part.

    `boxes` are the regions of the inputs by position, None for one that is not read. `options` and
    `values` are the options, and the constants of parameters by position, that differ from the
    whole operator's. `pads` are the zero points (for MAX_POOL_2D the lowest values) that the part
    adds before and after input 0, for each axis; none if its own padding is right.
    """

    boxes: tuple[Box | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    pads: tuple[Range, ...] = ()
