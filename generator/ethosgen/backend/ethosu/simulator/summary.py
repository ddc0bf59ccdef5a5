"""Describe an operation: one line for a trace, one for a disassembly.

Shapes are height x width x depth, addresses region:offset, data types numpy names and the layout.
"""

from functools import singledispatch

from ethosgen.backend.ethosu.isa import (
    U55,
    ActivationClipRange,
    ActivationFunction,
    IfmUpscaleMode,
    OfmScaleMode,
)
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    DataStream,
    Dma,
    Elementwise,
    FeatureMap,
    Operation,
    Output,
    Pool,
    Shape,
    Windowed,
)
from ethosgen.values.grammar import counted


def place(region: int | None, address: int, inner: str = U55.inner) -> str:
    """Format an address; region None is the NPU's own memory."""
    return f"{inner if region is None else region}:0x{address:x}"


@singledispatch
def title(operation: Operation) -> str:
    """Describe the operation and its shapes."""
    raise NotImplementedError(type(operation).__name__)


@title.register
def _(operation: Dma) -> str:
    source, destination = place(*operation.source), place(*operation.destination)
    return f"DMA {_dma_size(operation)} {source} -> {destination}"


@title.register
def _(operation: Elementwise) -> str:
    return f"{operation.mode.name} {by(operation.ofm.shape)}{_second_operand(operation)}"


@title.register
def _(operation: Convolution | Pool) -> str:
    return window_title(_name(operation), operation)


def window_title(name: str, operation: Windowed) -> str:
    """Describe an operation with a kernel."""
    text = f"{name} {by(operation.ofm.shape)} <- {by(operation.ifm_shape)}"
    kernel = operation.kernel
    text += f", kernel {by(kernel.size)}"
    if kernel.stride != (1, 1):
        text += f", stride {by(kernel.stride)}"
    if kernel.dilation != (1, 1):
        text += f", dilation {by(kernel.dilation)}"
    return text


@singledispatch
def summary(operation: Operation, block: Shape | None = None) -> str:
    """Describe an operation in full: `title`, addresses, and how results are computed.

    `block` is the OFM block, which the model itself does not use.
    """
    return title(operation)


@summary.register
def _(operation: Convolution | Pool | Elementwise, block: Shape | None = None) -> str:
    parts = [title(operation)]
    if isinstance(operation, Windowed):
        parts += window_parts(operation)
    parts.append(f"ifm {feature_map_text(operation.ifm)}")
    if isinstance(operation, Elementwise) and operation.ifm2 is not None:
        parts.append(f"ifm2 {feature_map_text(operation.ifm2)}")
    parts.append(f"ofm {feature_map_text(operation.ofm.fm)}")
    if isinstance(operation, Convolution):
        parts += stream_parts("weights", operation.weights) + stream_parts(
            "scales", operation.scales
        )
    parts += _output_parts(operation.ofm)
    if block is not None:
        parts.append(f"block {by(block)}")
    return ", ".join(parts)


def _name(operation: Convolution | Pool) -> str:
    if isinstance(operation, Pool):
        return f"POOL {operation.mode.name}"
    return "DEPTHWISE" if operation.depthwise else "CONV"


def by(shape: tuple[int, ...]) -> str:
    """Format a shape."""
    return "x".join(map(str, shape))


def _dma_size(operation: Dma) -> str:
    dims = max(operation.source_dims, operation.destination_dims)
    rows = operation.sizes[: dims - 1]
    if rows:
        return f"{by((operation.length, *rows))} bytes"
    return counted(operation.length, "byte")


def _second_operand(operation: Elementwise) -> str:
    if operation.scalar is not None:
        return f" with {operation.scalar}"
    if operation.ifm2 is None or not any(operation.broadcast):
        return ""
    axes = "".join(a for a, on in zip("hwc", operation.broadcast, strict=True) if on)
    return f", ifm2 repeated along {axes}"


def window_parts(operation: Windowed) -> list[str]:
    """Describe padding and upscaling."""
    parts = []
    padding = operation.padding
    if padding.any:
        sides = (padding.top, padding.left, padding.bottom, padding.right)
        parts.append(f"pad top,left,bottom,right {','.join(map(str, sides))}")
    if operation.upscale is not IfmUpscaleMode.NONE:
        parts.append(f"upscale {operation.upscale.name}")
    return parts


def feature_map_text(fm: FeatureMap) -> str:
    """Describe type, layout, address and zero point."""
    dtype = {"u": "uint", "i": "int"}[fm.dtype[-2]] + str(8 * int(fm.dtype[-1]))
    tiles = sum(base != 0 for base in fm.bases[1:])
    text = f"{dtype} {fm.layout.name} {place(fm.region, fm.bases[0])}"
    text += f" +{counted(tiles, 'tile')}" if tiles else ""
    return text + (f" zero point {fm.zero_point}" if fm.zero_point else "")


def stream_parts(name: str, streams: tuple[DataStream, ...]) -> list[str]:
    """Describe the streams of weights or scales."""
    places = " and ".join(f"{place(s.region, s.base)}+{s.length}" for s in streams)
    return [f"{name} {places}"]


def _output_parts(ofm: Output) -> list[str]:
    parts = []
    if ofm.scale_mode is OfmScaleMode.GLOBAL:
        parts.append(f"scale {ofm.scale.scale}/2^{ofm.scale.shift} {ofm.rounding.name}")
    else:
        parts.append(f"scale per channel {ofm.rounding.name}")
    activation = ofm.activation
    if activation.function != ActivationFunction.RELU:
        parts.append(ActivationFunction(activation.function).name)
    if activation.clip_range is not ActivationClipRange.OFM_PRECISION:
        parts.append(activation.clip_range.name)
    parts.append(f"clip {activation.minimum}..{activation.maximum}")
    return parts
