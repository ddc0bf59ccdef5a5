"""Describe U85's operations for a trace and a disassembly, in the form of simulator/summary.py."""

from ethosgen.backend.ethosu.isa import OfmScaleMode
from ethosgen.backend.ethosu.isa_u85 import (
    U85,
    AccInput,
    ActivationReverse,
    ActivationTranspose,
    U85ActivationClipRange,
    U85ActivationFunction,
    U85BroadcastMode,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.simulator.operation import FeatureMap, Shape, Windowed
from ethosgen.backend.ethosu.simulator.summary import (
    by,
    feature_map_text,
    place,
    stream_parts,
    summary,
    title,
    window_parts,
    window_title,
)
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Accumulators,
    Chained,
    CopyEnd,
    Operand,
    Resize,
    ScalarOperand,
    Scaled,
    U85Convolution,
    U85Dma,
    U85Elementwise,
    U85Output,
    U85Pool,
)
from ethosgen.values.grammar import counted


@title.register
def _(operation: U85Pool) -> str:
    if operation.mode is U85PoolingMode.NONE:
        return f"POOL NONE {by(operation.ofm.shape)}"
    return window_title(f"POOL {operation.mode.name}", operation)


@title.register
def _(operation: U85Elementwise) -> str:
    return f"{operation.mode.name} {by(operation.ofm.shape)}"


@title.register
def _(operation: Resize) -> str:
    name = f"RESIZE {operation.mode.name}"
    axes = [f"{axis.scale}/{axis.step}" for axis in (operation.vertical, operation.horizontal)]
    sizes = f"{by(operation.ofm.shape)} <- {by(operation.ifm_shape)}"
    return f"{name} {sizes}, scale {' and '.join(axes)}"


@title.register
def _(operation: U85Dma) -> str:
    planes, rows, length = operation.shape
    counts = [rows] if planes * rows > 1 else []
    counts += [planes] if planes > 1 else []
    size = f"{by((length, *counts))} bytes" if counts else counted(length, "byte")
    source, destination = _end(operation.source), _end(operation.destination)
    return f"DMA {size} {source} -> {destination}"


@summary.register
def _(operation: U85Dma, block: Shape | None = None) -> str:
    planes, rows, _ = operation.shape
    parts = [title(operation)]
    for name, end in (("source", operation.source), ("destination", operation.destination)):
        if rows > 1 or end.indexed:
            parts.append(f"{name} rows {end.strides[1]} apart")
        if planes > 1:
            parts.append(f"{name} planes {end.strides[0]} apart")
    if operation.indices is not None:
        where = place(operation.indices.region, operation.indices.address)
        parts.append(f"indices int32 {where} of 0..{operation.indices.most}")
    return ", ".join(parts)


@summary.register
def _(operation: U85Convolution | U85Pool, block: Shape | None = None) -> str:
    parts = [title(operation), *window_parts(operation)]
    if not (isinstance(operation, U85Pool) and operation.mode is U85PoolingMode.NONE):
        parts.append(f"ifm {feature_map_text(operation.ifm)}")
    parts += _accumulators(operation.accumulators)
    if isinstance(operation, U85Convolution):
        if operation.matrix is not None:
            parts.append(f"weights {feature_map_text(operation.matrix)}")
        else:
            parts += stream_parts("weights", operation.weights)
    if operation.scales:
        parts += stream_parts("scales", operation.scales)
    return ", ".join([*parts, *_output(operation), *_block(block)])


@summary.register
def _(operation: U85Elementwise, block: Shape | None = None) -> str:
    parts = [title(operation), f"ifm {_scaled(operation.first)}"]
    if operation.second is not None:
        parts.append(f"ifm2 {_scaled(operation.second)}")
    return ", ".join([*parts, *_output(operation), *_block(block)])


@summary.register
def _(operation: Resize, block: Shape | None = None) -> str:
    parts = [title(operation), f"ifm {feature_map_text(operation.ifm)}"]
    return ", ".join([*parts, *_output(operation), *_block(block)])


def _block(block: Shape | None) -> list[str]:
    return [] if block is None else [f"block {by(block)}"]


def _end(end: CopyEnd) -> str:
    return place(end.region, end.address, U85.inner) + (" by index" if end.indexed else "")


def _operand(operand: Operand) -> str:
    match operand:
        case Chained():
            return f"buffer {operand.buffer}"
        case ScalarOperand():
            return f"of {operand.value - operand.zero_point}"
        case FeatureMap():
            return feature_map_text(operand)


def _scaled(scaled: Scaled) -> str:
    text = _operand(scaled.operand)
    if (scaled.scale.scale, scaled.scale.shift) not in ((0, 0), (1, 0)):
        text += f" times {scaled.scale.scale}/2^{scaled.scale.shift} {scaled.rounding.name}"
    if scaled.broadcast not in (U85BroadcastMode.NONE, U85BroadcastMode.SCALAR):
        text += f" repeated along {scaled.broadcast.name.lower()}"
    return text


def _accumulators(accumulators: Accumulators) -> list[str]:
    if accumulators.ifm2 is not None:
        return [f"accumulators from {feature_map_text(accumulators.ifm2)}"]
    return ["accumulators kept"] if accumulators.source is AccInput.KEEP else []


def _output(operation: Windowed | U85Elementwise | Resize) -> list[str]:
    ofm = operation.ofm
    assert isinstance(ofm, U85Output)
    if not ofm.enabled:
        return ["ofm left in the accumulators"]
    parts = [f"ofm {feature_map_text(ofm.fm)}" if ofm.chain is None else f"ofm buffer {ofm.chain}"]
    if ofm.transpose is not ActivationTranspose.HWC:
        parts.append(f"stored as {ofm.transpose.name}")
    if ofm.reverse is not ActivationReverse.NONE:
        parts.append(f"reversed along {ofm.reverse.name.lower()}")
    if ofm.scale_mode is OfmScaleMode.GLOBAL:
        parts.append(f"scale {ofm.scale.scale}/2^{ofm.scale.shift} {ofm.rounding.name}")
    else:
        parts.append(f"scale per channel {ofm.rounding.name}")
    function = U85ActivationFunction(ofm.activation.function)
    if function is not U85ActivationFunction.LUT_NONE:
        parts.append(function.name)
    if ofm.activation.clip_range == U85ActivationClipRange.B16:
        parts.append(f"clip {ofm.activation.minimum}..{ofm.activation.maximum}")
    return parts
