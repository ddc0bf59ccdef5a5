"""Bounds of the sums and outputs of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, Ints
from ethosgen.optimizer.intervals.scaling import Factors, fits, scaled, scaled_int64
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.optimizer.intervals.windows import MOST_PLACES, Window, window_of
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Tensor
from ethosgen.values.rescaling import activation_range, scale_of, zero_point_of

_WEIGHTS = {"int8": "int8", "uint8": "uint8", "int16": "int8"}
LAYERS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"})


@dataclass(frozen=True)
class LayerFacts:
    """A quantized layer with constant weights of 8 bits.

    `weights` are without their zero point, with the axes (taps, input channels, output channels);
    a depthwise layer has one input channel for each output. `window` is None for a dense layer.
    `reads` has the input's channel that each input channel of `weights`, or in a depthwise layer
    each output channel, reads.
    """

    source: Tensor
    target: Tensor
    weights: Ints
    bias: Ints
    reads: Ints
    window: Window | None
    is_depthwise: bool = False
    has_wide_sums: bool = False
    """Whether sums are int64: in an int16 layer, unless its bias is int32."""

    @property
    def point(self) -> int:
        """The input's zero point, the value of padding."""
        return zero_point_of(self.source)


def layer_of(site: BoundedSite) -> LayerFacts | None:
    """Return the facts about a layer, None if it is of another kind."""
    source, weights, bias = site.tensor(0), site.tensor(1), site.tensor(2)
    if source is None or weights is None or not _are_usual(source, weights, bias, site.target):
        return None
    arrange = {"CONV_2D": _convolution, "DEPTHWISE_CONV_2D": _depthwise}
    values = _centred(weights, site.operator.code)
    if values is None:
        return None
    arranged = arrange.get(site.operator.code, _dense)(site, source, values)
    if arranged is None:
        return None
    by_taps, reads, window = arranged
    outputs = by_taps.shape[2]
    sums = np.zeros(outputs, np.int64) if bias is None else bias.array().astype(np.int64).ravel()
    if sums.size != outputs or site.target.shape[-1] != outputs:
        return None
    is_depthwise = site.operator.code == "DEPTHWISE_CONV_2D"
    is_wide = source.dtype == "int16" and (bias is None or bias.dtype == "int64")
    return LayerFacts(source, site.target, by_taps, sums, reads, window, is_depthwise, is_wide)


def _are_usual(source: Tensor, weights: Tensor, bias: Tensor | None, target: Tensor) -> bool:
    """Return whether types are those of a quantized layer, and weights and bias constants."""
    if target.dtype != source.dtype or weights.dtype != _WEIGHTS.get(source.dtype):
        return False
    sums = ("int32", "int64") if source.dtype == "int16" else ("int32",)
    has_sums = bias is None or (bias.data is not None and bias.dtype in sums)
    return has_sums and weights.data is not None and bool(source.shape)


_Arranged = tuple[Ints, Ints, Window | None]


def _centred(weights: Tensor, code: str) -> Ints | None:
    """Return weights without their zero point; the oracles ignore it in int8 convolutions."""
    quantization = weights.quantization
    if quantization is None or not weights.elements:
        return None
    values = weights.array().astype(np.int64)
    if not any(quantization.zero_point):
        return values
    if weights.dtype == "uint8" and quantization.is_per_tensor:
        return values - weights.first_zero_point
    return values if weights.dtype == "int8" and code != "FULLY_CONNECTED" else None


def _convolution(site: BoundedSite, source: Tensor, values: Ints) -> _Arranged | None:
    if values.ndim != 4 or len(source.shape) != 4 or values.shape[3] != source.shape[3]:
        return None  # a grouped convolution, too
    outputs, rows, columns, depth = values.shape
    by_taps = values.reshape(outputs, rows * columns, depth).transpose(1, 2, 0)
    window = window_of(site.operator.options, source.shape, site.target.shape, (rows, columns))
    return by_taps, np.arange(depth), window


def _depthwise(site: BoundedSite, source: Tensor, values: Ints) -> _Arranged | None:
    if values.ndim != 4 or len(source.shape) != 4 or values.shape[0] != 1:
        return None
    _, rows, columns, outputs = values.shape
    if not source.shape[3] or outputs % source.shape[3]:
        return None
    window = window_of(site.operator.options, source.shape, site.target.shape, (rows, columns))
    reads = np.arange(outputs) // (outputs // source.shape[3])
    return values.reshape(rows * columns, 1, outputs), reads, window


def _dense(site: BoundedSite, source: Tensor, values: Ints) -> _Arranged | None:
    plain = site.operator.options.get("weights_format", "DEFAULT") == "DEFAULT"
    if values.ndim != 2 or not plain or values.shape[1] % source.shape[-1]:
        return None
    return values.T[None], np.arange(values.shape[1]) % source.shape[-1], None


def sums_of(layer: LayerFacts, source: Bounds) -> Bounds | None:
    """Return the bounds of each output channel's sums, None if they may leave their type."""
    low, high = ((end - layer.point)[layer.reads] for end in (source.low, source.high))
    ends = [
        layer.weights * (end[None, None, :] if layer.is_depthwise else end[None, :, None])
        for end in (low, high)
    ]
    least, most = (pick(*ends).sum(axis=1) for pick in (np.minimum, np.maximum))
    places = _places(layer.window, len(least))
    sums = Bounds(
        layer.bias + _extreme(least, places, np.minimum),
        layer.bias + _extreme(most, places, np.maximum),
    )
    return sums if layer.has_wide_sums or fits(sums) else None


def _places(window: Window | None, taps: int) -> list[Ints] | None:
    """Return the taps of each kind of place, None for too many kinds."""
    if window is None:
        return [np.arange(taps)]
    kinds = list(window.places())
    if len(kinds) > MOST_PLACES:
        return None
    columns = window.columns.taps
    return [np.array([r * columns + c for r in rs for c in cs], np.int64) for rs, cs in kinds]


def _extreme(by_taps: Ints, places: Iterable[Ints] | None, pick: Any) -> Ints:
    """Return the extreme sum over taps of any place; each tap may be left out for unknown ones."""
    if places is None:
        total: Ints = pick(by_taps, 0).sum(axis=0)
        return total
    extreme: Ints = pick.reduce([by_taps[taps].sum(axis=0) for taps in places])
    return extreme


def factors_of(site: BoundedSite, layer: LayerFacts) -> list[Factors]:
    """Return the factors from sums to outputs: in doubles, and with a product of singles."""
    weights = site.graph.tensors[site.operator.inputs[1]].quantization
    assert weights is not None
    source, target = scale_of(layer.source), scale_of(layer.target)
    scales = np.array(weights.scale, np.float64)
    factors = [source * scales / target]
    if len(scales) == 1:
        single = np.float32(source) * scales.astype(np.float32)
        factors.append(single.astype(np.float64) / target)
    return factors


def _scaled(layer: LayerFacts, sums: Bounds, factors: Factors) -> Bounds | None:
    """Return the bounds of sums times factors, under all roundings that the layer may use.

    An int16 layer with a bias of int32 has int32 sums in LiteRT, int64 in TensorFlow Lite Micro.
    """
    in_int64 = scaled_int64(sums, factors) if layer.source.dtype == "int16" else None
    if layer.has_wide_sums:
        return in_int64
    others = scaled(sums, factors)
    return others if in_int64 is None or others is None else in_int64.joined(others)


def layer_bounds(site: BoundedSite) -> Bounds | None:
    """Return the bounds of a layer's outputs, None if nothing is known of them."""
    layer, source = layer_of(site), site.bounds(0)
    sums = sums_of(layer, source) if layer and source else None
    if layer is None or sums is None:
        return None
    rescaled: Bounds | None = None
    for factors in factors_of(site, layer):
        if factors.size not in (1, sums.low.size) or not (factors > 0).all():
            return None
        try:
            ends = _scaled(layer, sums, factors)
        except UnsupportedError:
            return None
        if ends is None:
            return None
        rescaled = ends if rescaled is None else rescaled.joined(ends)
    if rescaled is None:
        return None
    point = zero_point_of(layer.target)
    moved = Bounds(rescaled.low + point, rescaled.high + point)
    return moved.clamped(*activation_range(site.operator, layer.target))
