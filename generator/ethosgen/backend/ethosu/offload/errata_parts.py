"""Parts of tensors that Vela lets the next operator read directly, which some operators do wrongly.

Vela drops a SLICE, STRIDED_SLICE, SPLIT or UNPACK and gives its reader an offset and steps (Regor,
GraphIrOptimiser::MoveSplitSliceToConsumer). The operator that makes the part is the one that stays
on the CPU: a copy costs less there than a layer, and the reader then reads a whole tensor.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ethosgen.backend.ethosu.offload.site import Site, point_of, scale_of
from ethosgen.values.model import Tensor

_MAKERS = ("SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V", "UNPACK")
_RENAMERS = ("RESHAPE", "EXPAND_DIMS", "SQUEEZE", "QUANTIZE")
"""Operators that Vela removes, or passes a part through, if they move no values."""
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D")
_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
_REDUCTIONS = ("REDUCE_MAX", "SUM")
_STEPPING = (
    *("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "FULLY_CONNECTED"),
    *("CONCATENATION", "PAD", "TRANSPOSE", "STRIDED_SLICE", "SLICE", "QUANTIZE"),
    *("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR", "RESHAPE", "RELU", "RELU6", "RELU_N1_TO_1"),
    *("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "ABS", "ARG_MAX", "REDUCE_MIN"),
)
"""Operators that step through a part correctly; with two inputs, it may count as the smaller."""


@dataclass(frozen=True)
class _Reader:
    """An operator that reads a part, and the rows and columns of a PAD that is fused with it."""

    site: Site
    padding: tuple[int, int] = (0, 0)


def pads_part(site: Site) -> bool:
    """Return whether a reader of a part loses its padding at the top and left.

    Vela keeps padding as a negative offset wherever it splits an operator, unless there already is
    an offset.
    """
    return any(_is_split(r.site) and any(_before(r)) for r in _readers(site))


def steps_through_padding(site: Site) -> bool:
    """Return whether a reader steps through a part in a direction in which it pads at the front."""
    rows, columns = (step > 1 for step in _steps(site))
    padded = [_before(reader) for reader in _readers(site)]
    return any((rows and top) or (columns and left) for top, left in padded)


def steps_beside_another(site: Site) -> bool:
    """Return whether a reader steps through a part that Vela takes for its larger input."""
    return max(_steps(site)) > 1 and any(r.site.code not in _STEPPING for r in _readers(site))


def reduces_part(site: Site) -> bool:
    """Return whether a reduction reads a part."""
    return any(r.site.code in _REDUCTIONS for r in _readers(site))


def _readers(site: Site) -> Iterator[_Reader]:
    """Yield the operators that read the part that an operator makes."""
    if site.code not in _MAKERS:
        return
    made = [site.graph.tensors[i] for i in site.operator.outputs]
    source = site.inputs[1 if site.code == "SPLIT" else 0]
    for tensor in made:
        if tensor.elements < source.elements:
            yield from _readers_of(site, tensor.index)


def _readers_of(site: Site, index: int) -> Iterator[_Reader]:
    graph = site.graph
    for operator in graph.operators:
        if index not in operator.inputs:
            continue
        reader = Site(graph, operator, site.setting)
        if reader.code in _RENAMERS and _keeps(graph.tensors[index], reader):
            yield from _readers_of(site, operator.outputs[0])
        elif reader.code == "PAD" and len(reader.output.shape) == 4:
            amounts = reader.constant(1)
            fused = (r for r in _readers_of(site, operator.outputs[0]) if r.site.code in _WEIGHTED)
            yield from (_Reader(r.site, (amounts[2], amounts[4])) for r in fused)
        else:
            yield _Reader(reader)


def _keeps(read: Tensor, reader: Site) -> bool:
    """Return whether an operator passes its input on, apart from leading dimensions of 1."""
    made = reader.output
    same = (scale_of(read), point_of(read), read.dtype) == (
        scale_of(made),
        point_of(made),
        made.dtype,
    )
    return same and _reduced(read.shape) == _reduced(made.shape)


def _reduced(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((i for i, extent in enumerate(shape) if extent != 1), len(shape))
    return shape[first:]


def _is_split(reader: Site) -> bool:
    """Return whether Vela splits a layer or a pool into several operations."""
    if reader.code == "TRANSPOSE_CONV":
        return True
    if reader.code not in (*_WEIGHTED, *_POOLS):
        return False
    multiplied = reader.code == "DEPTHWISE_CONV_2D" and (
        reader.output.shape[3] > reader.inputs[0].shape[3]
    )
    return multiplied or reader.inputs[0].shape[0] > 1


def _before(reader: _Reader) -> tuple[int, int]:
    """Return the padding of a layer or a pool at the top and left."""
    site = reader.site
    options = site.operator.options
    if site.code == "TRANSPOSE_CONV":
        _, height, width, _ = site.inputs[1].shape
        return height - 1, width - 1
    if site.code not in (*_WEIGHTED, *_POOLS):
        return 0, 0
    if options.get("padding", "SAME") != "SAME":
        return reader.padding
    kernel: tuple[int, ...]
    if site.code in _POOLS:
        kernel = options["filter_height"], options["filter_width"]
    else:
        kernel = site.inputs[1].shape[1:3]
    names = ("h", "w")
    rows, columns = (
        _same(before, after, extent, options[f"stride_{n}"], options.get(f"dilation_{n}_factor", 1))
        for before, after, extent, n in zip(
            site.inputs[0].shape[1:3], site.output.shape[1:3], kernel, names, strict=True
        )
    )
    return rows, columns


def _same(before: int, after: int, kernel: int, stride: int, dilation: int) -> int:
    """Return the padding that SAME puts before an extent."""
    return max((after - 1) * stride + (kernel - 1) * dilation + 1 - before, 0) // 2


def _steps(site: Site) -> tuple[int, int]:
    """Return the steps along height and width of the part that an operator makes."""
    if site.code != "STRIDED_SLICE":
        return 1, 1
    padded = [1, 1, 1, *site.constant(3)]
    return padded[-3], padded[-2]
