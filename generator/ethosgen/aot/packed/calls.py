"""Layers as calls of a C function: rows that are contiguous, or windows, times packed weights."""

from tvm import tirx

from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed.order import Array

Constants = tuple[Array, Array, Array]
"""Packed weights and scales, group by group, and the struct with the sizes."""


def rows_kernel(
    layer: Layer, function: str, constants: Constants, room_bytes: int, sources: frozenset[str]
) -> Kernel:
    """Return one call for all rows of the input; a function without room takes no pointer to it."""
    nest = Nest()
    x = nest.read("input", layer.source, (layer.source.elements,))
    y = nest.write("output", layer.target, (layer.target.elements,))
    names = ("weights", "scales", "shape")
    tables = [nest.table(*one) for one in zip(names, constants, strict=True)]
    nest.call(
        function,
        *(tirx.address_of(y[0]), tirx.address_of(x[0])),
        layer.target.elements // layer.channels,
        *([nest.room("room", room_bytes).data] if room_bytes else []),
        *(table.data for table in tables),
    )
    return nest.kernel(sources)


def windows_kernel(
    layer: Layer,
    depth: int,
    function: str,
    constants: Constants,
    window: Array,
    room_bytes: int,
    sources: frozenset[str],
) -> Kernel:
    """Return a call for each image and each group of `depth` input channels."""
    groups = layer.source.shape[3] // depth
    packed_weights, scales, shape = constants
    steps = len(packed_weights) // groups, len(scales) // groups
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    w, s = nest.table("weights", packed_weights), nest.table("scales", scales)
    structs = nest.table("shape", shape), nest.table("window", window)
    room = nest.room("room", room_bytes)
    with nest.loops((layer.source.shape[0], groups), "n group") as (n, group):
        nest.call(
            function,
            tirx.address_of(y[n, 0, 0, group * (layer.channels // groups)]),
            *(tirx.address_of(x[n, 0, 0, group * depth]), room.data),
            *(tirx.address_of(w[group * steps[0]]), tirx.address_of(s[group * steps[1]])),
            *(struct.data for struct in structs),
        )
    return nest.kernel(sources)
