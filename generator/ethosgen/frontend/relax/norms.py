"""Normalizations and their parts, in floats: TFLite has no operators for them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ethosgen.frontend.relax.draft import Array, DraftConstant, Value
from ethosgen.frontend.relax.floats import Floats
from ethosgen.frontend.relax.site import Site, ints, translates
from ethosgen.values.errors import UnsupportedError


@translates("nn.layer_norm")
def layer_norm(site: Site) -> Value:
    """Translate to MEAN, products and RSQRT over the named axes."""
    source = site.value(0)
    rank = len(source.shape)
    axes = [axis % rank for axis in ints(site.attributes.axes)]
    scale, shift = (_spread(site, number, axes) for number in (1, 2))
    return _normalized(site, source, axes, scale, shift)


@translates("nn.instance_norm")
def instance_norm(site: Site) -> Value:
    """Translate to MEAN, products and RSQRT over the plane of each channel."""
    source = site.value(0)
    channel = int(site.attributes.channel_axis) % len(source.shape)
    scale, shift = (_spread(site, number, [channel]) for number in (1, 2))
    axes = [axis % len(source.shape) for axis in ints(site.attributes.axes)]
    return _normalized(site, source, axes, scale, shift)


def _normalized(
    site: Site, source: Value, axes: Sequence[int], scale: Array, shift: Array
) -> Value:
    add = Floats(site, source)
    centred, variance = _moments(add, source, axes)
    factor = add("RSQRT", add("ADD", variance, float(site.attributes.epsilon)))
    result = add("MUL", add("MUL", centred, factor), scale)
    return site.finished(add("ADD", result, shift))


def _moments(add: Floats, source: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """Return the values less their mean, and their variance."""
    centred = add("SUB", source, add.reduced("MEAN", source, axes))
    return centred, add.reduced("MEAN", add("MUL", centred, centred), axes)


@translates("nn.batch_norm")
def batch_norm(site: Site) -> tuple[Value, ...]:
    """Translate to MUL and ADD with constants: the statistics come from training."""
    if bool(site.attributes.training):
        raise UnsupportedError("it is in training mode; export the network for inference")
    source = site.value(0)
    axis = int(site.attributes.axis) % len(source.shape)
    gamma, beta, mean, variance = (_spread(site, number, [axis]) for number in (1, 2, 3, 4))
    factor = gamma / np.sqrt(variance + np.float32(site.attributes.epsilon))
    add = Floats(site, source)
    result = add("ADD", add("MUL", source, factor), beta - mean * factor)
    return (result,)


@translates("variance")
def variance(site: Site) -> Value:
    """Translate to MEAN of squares."""
    source = site.value(0)
    rank = len(source.shape)
    named = site.attributes.axis
    axes = range(rank) if named is None else [axis % rank for axis in ints(named)]
    _, result = _moments(Floats(site, source), source, axes)
    if bool(site.attributes.keepdims):
        return result
    plain = site.draft.plain(result)
    return replace(site.draft.reshaped(plain.tensor, site.shape, plain), is_real=False)


def _spread(site: Site, number: int, axes: Sequence[int]) -> Array:
    """Return a constant parameter, its axes at those of the operand."""
    constant = site.operands[number]
    if not isinstance(constant, DraftConstant):
        raise UnsupportedError("its parameters are not constant")
    shape = [1] * len(site.operands[0].shape)
    for axis in axes:
        shape[axis] = site.operands[0].shape[axis]
    array: Array = constant.real().astype(np.float32).reshape(shape)
    return array
