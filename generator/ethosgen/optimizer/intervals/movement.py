"""Bounds of operators that move values, or choose or average some of them."""

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, channels_of
from ethosgen.optimizer.intervals.elementwise import are_alike
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.rescaling import activation_range


def pooled(site: BoundedSite) -> Bounds | None:
    """Keep the bounds: maxima and rounded averages stay between integers."""
    bounds = site.bounds(0)
    if bounds is None or not are_alike(site.inputs[0], site.target):
        return None
    return bounds.clamped(*activation_range(site.operator, site.target))


def kept(site: BoundedSite) -> Bounds | None:
    """Keep each channel's bounds: places change, channels do not."""
    bounds, source, target = site.bounds(0), site.inputs[0], site.target
    if bounds is None or not are_alike(source, target):
        return None
    return bounds if channels_of(source) == channels_of(target) else None


def mixed(site: BoundedSite) -> Bounds | None:
    """Return the bounds of all values, for each channel; the first input has them all."""
    bounds = site.bounds(0)
    if bounds is None or not are_alike(site.inputs[0], site.target):
        return None
    return bounds.hull().over(channels_of(site.target))


def reshaped(site: BoundedSite) -> Bounds | None:
    """Follow channels in memory's order, if the new last axis has them in turn."""
    bounds = site.bounds(0)
    if bounds is None or not are_alike(site.inputs[0], site.target):
        return None
    count, new = bounds.low.size, channels_of(site.target)
    if count and new % count == 0:
        return Bounds(np.tile(bounds.low, new // count), np.tile(bounds.high, new // count))
    return bounds.hull().over(new)


def transposed(site: BoundedSite) -> Bounds | None:
    """Keep the bounds if the last axis stays."""
    order = site.tensor(1)
    if order is None or order.data is None:
        return mixed(site)
    last = int(order.array().ravel()[-1]) % max(len(site.inputs[0].shape), 1)
    return kept(site) if last == len(site.inputs[0].shape) - 1 else mixed(site)


def padded(site: BoundedSite) -> Bounds | None:
    """Join the bounds with the padding's value: the zero point, or a constant."""
    bounds, amounts, source = site.bounds(0), site.tensor(1), site.inputs[0]
    if bounds is None or amounts is None or not are_alike(source, site.target):
        return None
    if site.operator.code == "PADV2":
        filler = site.tensor(2)
        if filler is None or filler.data is None:
            return None
        value = int(filler.array().ravel()[0])
    else:
        value = site.target.first_zero_point
    if amounts.data is None or channels_of(source) != channels_of(site.target):
        bounds = bounds.hull().over(channels_of(site.target))
    border = np.full(channels_of(site.target), value, np.int64)
    return bounds.joined(Bounds(border, border))


def concatenated(site: BoundedSite) -> Bounds | None:
    """Put the bounds side by side, or join them along another axis."""
    tensors, target = site.inputs, site.target
    parts = [site.known.get(tensor.index) for tensor in tensors]
    activation = site.operator.options.get("fused_activation_function", "NONE")
    if None in parts or activation != "NONE" or not are_alike(*tensors, target):
        return None
    bounds = [part for part in parts if part is not None]
    rank = len(target.shape)
    if int(site.operator.options.get("axis", 0)) % rank == rank - 1:
        return Bounds(
            np.concatenate([part.low for part in bounds]),
            np.concatenate([part.high for part in bounds]),
        )
    joined = bounds[0]
    for part in bounds[1:]:
        joined = joined.joined(part)
    return joined
