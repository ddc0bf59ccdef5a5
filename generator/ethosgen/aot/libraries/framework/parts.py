"""Layers whose output may lie over their input, by options that ethosgen adds for short memory.

A library may compute some channels of all rows at a time, and so read all rows until the end. In
parts it needs the rows of one part until the part's end: outputs follow closely behind them.
"""

from dataclasses import replace

from ethosgen.aot.libraries.framework.calls import CFunction, Constants, rows_kernel
from ethosgen.aot.loops.distances import backward_distance
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.kernel import Kernel

PART_ROWS = "ethosgen_part_rows"
"""An option that ethosgen adds to a layer: the rows of a part, for libraries that have parts.

Negative if the last part comes first.
"""

IN_PLACE = "ethosgen_in_place"
"""An option that ethosgen adds to a layer: with more memory for copies of the input, its output may
take the input's place, for libraries that can."""


def parts_kernel(layer: Layer, function: CFunction, constants: Constants, part: int) -> Kernel:
    """Return one call for all rows of the input, which computes `part` rows at a time.

    If `part` is negative, it begins with the last ones.
    """
    in_parts = replace(function, ahead=abs(part))
    kernel = rows_kernel(layer, in_parts, constants, has_count=False, more=(part,))
    if part > 0:
        return kernel
    rows = layer.target.elements // layer.channels
    sizes = layer.source.bytes // rows, layer.target.bytes // rows
    return replace(kernel, distance=backward_distance(rows, *sizes, -part), is_backward=True)
