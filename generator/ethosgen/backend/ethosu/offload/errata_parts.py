"""Errata of slices: Vela lets their readers access the source directly, some of them wrongly.

Vela removes a SLICE, STRIDED_SLICE, SPLIT or UNPACK and gives its reader an offset and strides
(Regor, GraphIrOptimiser::MoveSplitSliceToConsumer). The slicing operator stays on the CPU: a copy
costs less there than a layer, and the reader then reads a whole tensor.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ethosgen.backend.ethosu.offload.site import OperatorSite, scale_of
from ethosgen.values.network import ABSENT, Tensor

_MAKERS = ("SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V", "UNPACK")
_RENAMERS = ("RESHAPE", "EXPAND_DIMS", "SQUEEZE", "QUANTIZE")
"""Operators that Vela removes, or through which it passes a slice, if they move no values."""
_RESHAPERS = ("RESHAPE", "EXPAND_DIMS", "SQUEEZE")
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D")
_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
_REDUCTIONS = ("REDUCE_MAX", "SUM")
_JOINERS = ("CONCATENATION", "PACK", "PAD", "PADV2", "MIRROR_PAD")
"""Operators that Vela removes: the producer of an input writes directly into the output."""
_STEPPING = (
    *("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "FULLY_CONNECTED"),
    *("CONCATENATION", "PAD", "TRANSPOSE", "STRIDED_SLICE", "SLICE", "QUANTIZE"),
    *("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR", "RESHAPE", "RELU", "RELU6", "RELU_N1_TO_1"),
    *("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "ABS", "ARG_MAX", "REDUCE_MIN"),
)
"""Operators that read a strided slice correctly: Vela does not mistake it for a larger input."""


@dataclass(frozen=True)
class _SliceReader:
    """An operator that reads a slice, and the rows and columns of a PAD fused with it."""

    site: OperatorSite
    part: Tensor
    padding: tuple[int, int] = (0, 0)


def follows_state_only(site: OperatorSite) -> bool:
    """Return whether no operator before a SLICE reads only inputs and constants.

    Vela reads a SLICE's start during a walk from such operators. The walk does not reach a SLICE
    that only follows operators with state, such as SVDF: a state is neither.
    """
    if site.code != "SLICE" or not any(site.constant(1)):
        return False
    graph = site.graph
    waiting, seen = [site.operator], {site.operator.index}
    while waiting:
        operator = waiting.pop()
        nonconstant = [i for i in operator.inputs if i != ABSENT and graph.tensors[i].data is None]
        if set(nonconstant) <= set(graph.inputs):
            return False
        for writer in map(graph.writer, nonconstant):
            if writer is not None and writer.index not in seen:
                seen.add(writer.index)
                waiting.append(writer)
    return True


def pads_part(site: OperatorSite) -> bool:
    """Return whether a reader of a slice loses its padding at the top and left.

    When Vela splits an operator, it stores padding as a negative offset, unless there already is an
    offset.
    """
    return any(_is_split(r.site) and any(_before(r)) for r in _readers(site))


def steps_through_padding(site: OperatorSite) -> bool:
    """Return whether a reader has front padding along a strided axis of a slice."""
    rows, columns = (step > 1 for step in _steps(site))
    padded = [_before(reader) for reader in _readers(site)]
    return any((rows and top) or (columns and left) for top, left in padded)


def steps_beside_another(site: OperatorSite) -> bool:
    """Return whether a reader reads a strided slice that Vela mistakes for its larger input."""
    return max(_steps(site)) > 1 and any(r.site.code not in _STEPPING for r in _readers(site))


def reduces_part(site: OperatorSite) -> bool:
    """Return whether a reduction reads a slice."""
    return any(r.site.code in _REDUCTIONS for r in _readers(site))


def multiplies_part(site: OperatorSite) -> bool:
    """Return whether a product of two non-constant matrices reads a slice as its first input.

    Vela multiplies the rows of the whole source from its first column on. A slice that is one of
    several whole matrices is correct.
    """
    if site.code not in _MAKERS:
        return False
    source = site.inputs[1 if site.code == "SPLIT" else 0].shape
    if site.code == "UNPACK":
        axis = site.operator.options.get("axis", 0) % len(source)
        if math.prod(source[:axis]) > 1:
            return False  # without the axis the slice has another shape, and Vela copies it
    return any(
        _multiplies(r.site)
        and r.site.operator.inputs[0] == r.part.index
        and not r.site.operator.options.get("adj_x")
        and math.prod(r.part.shape[:-3]) == 1
        and not _is_one_matrix(r.part.shape, source)
        for r in _readers(site)
    )


def _is_one_matrix(part: tuple[int, ...], source: tuple[int, ...]) -> bool:
    """Return whether a slice is one whole matrix of the source."""
    several = math.prod(part[:-2]) > 1 or math.prod(source[:-3]) > 1
    return not several and part[-2:] == source[-2:]


def multiplies_into_part(site: OperatorSite) -> bool:
    """Return whether a product of two matrices is written directly into a larger output.

    Vela ignores the offset there, and multiplies as many rows as the whole output has. It does so
    only if product and input have the same four dimensions, the first one 1.
    """
    if site.code not in _JOINERS:
        return False
    for index in site.operator.inputs:
        product = _product(site, index)
        if product is not None:
            shape = list(site.graph.tensors[index].shape)
            if site.code == "PACK":
                shape.insert(site.operator.options.get("axis", 0) % (len(shape) + 1), 1)
            matrices = [1, math.prod(product.shape[:-2]), *product.shape[-2:]]
            if shape == matrices:
                return True
    return False


def _product(reader: OperatorSite, index: int) -> Tensor | None:
    """Return the product's tensor, None if it is not a product or has other readers."""
    graph = reader.graph
    if len(graph.readers(index)) > 1 or index in graph.outputs:
        return None
    operator = graph.writer(index)
    if operator is None:
        return None
    site = OperatorSite(graph, operator, reader.setting)
    if site.code in _RESHAPERS:
        return _product(site, operator.inputs[0])
    return site.output if _multiplies(site) else None


def _multiplies(site: OperatorSite) -> bool:
    """Return whether an operator multiplies two matrices, neither of them constant weights."""
    if site.code == "FULLY_CONNECTED":
        return site.inputs[1].data is None
    return site.code == "BATCH_MATMUL"


def _readers(site: OperatorSite) -> Iterator[_SliceReader]:
    """Yield the operators that read a slicing operator's output."""
    if site.code not in _MAKERS:
        return
    slices = [site.graph.tensors[i] for i in site.operator.outputs]
    source = site.inputs[1 if site.code == "SPLIT" else 0]
    for tensor in slices:
        if tensor.elements < source.elements:
            yield from _readers_of(site, tensor.index)


def _readers_of(site: OperatorSite, index: int) -> Iterator[_SliceReader]:
    graph = site.graph
    for operator in graph.operators:
        if index not in operator.inputs:
            continue
        reader = OperatorSite(graph, operator, site.setting)
        if reader.code in _RENAMERS and _keeps(graph.tensors[index], reader):
            yield from _readers_of(site, operator.outputs[0])
        elif reader.code == "PAD" and len(reader.output.shape) == 4:
            amounts = reader.constant(1)
            fused = (r for r in _readers_of(site, operator.outputs[0]) if r.site.code in _WEIGHTED)
            padding = amounts[2], amounts[4]
            yield from (_SliceReader(r.site, r.part, padding) for r in fused)
        else:
            yield _SliceReader(reader, graph.tensors[index])


def _keeps(read: Tensor, reader: OperatorSite) -> bool:
    """Return whether an operator keeps its input's shape, except for leading dimensions of 1."""
    output = reader.output
    same = (scale_of(read), read.first_zero_point, read.dtype) == (
        scale_of(output),
        output.first_zero_point,
        output.dtype,
    )
    return same and _reduced(read.shape) == _reduced(output.shape)


def _reduced(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((i for i, extent in enumerate(shape) if extent != 1), len(shape))
    return shape[first:]


def _is_split(reader: OperatorSite) -> bool:
    """Return whether Vela splits a layer or a pool into several operations."""
    if reader.code == "TRANSPOSE_CONV":
        return True
    if reader.code not in (*_WEIGHTED, *_POOLS):
        return False
    multiplied = reader.code == "DEPTHWISE_CONV_2D" and (
        reader.output.shape[3] > reader.inputs[0].shape[3]
    )
    return multiplied or reader.inputs[0].shape[0] > 1


def _before(reader: _SliceReader) -> tuple[int, int]:
    """Return the top and left padding of a layer or a pool."""
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
    """Return the padding that SAME adds before an extent."""
    return max((after - 1) * stride + (kernel - 1) * dilation + 1 - before, 0) // 2


def _steps(site: OperatorSite) -> tuple[int, int]:
    """Return the strides along height and width of a slicing operator's output."""
    if site.code != "STRIDED_SLICE":
        return 1, 1
    padded = [1, 1, 1, *site.constant(3)]
    return padded[-3], padded[-2]
