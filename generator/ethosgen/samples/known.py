"""The known input of a self-test: the firmware generates most of it, so it needs no flash.

`generated` is the function of ethosgen_self_test.h, rewritten here.
"""

from typing import Any

import numpy as np

from ethosgen.samples.drawing import random_samples
from ethosgen.samples.spans import Span, input_spans
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays

MOST_RUNS = 100
"""Limit on the inferences of a network that has outputs only after several."""
SEED = 1 << 21
"""Seed of the inputs that are stored; the check's is 1 << 20."""

GENERATED = {"int8": "8", "uint8": "8", "int16": "16", "uint16": "16", "float32": "float"}
"""The types that can be generated, and which function of ethosgen_self_test.h does."""

_FIRST_FACTOR, _SECOND_FACTOR = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)
_FLOAT_UNITS = np.float32(16384)


def are_generated(network: Network) -> list[bool]:
    """Return for each input whether the firmware generates it.

    Others have values that the network's operators bound, or a type that can be a size or an index.
    """
    spans = input_spans(network)
    return [_is_generated(t, span) for t, span in zip(network.inputs, spans, strict=True)]


def _is_generated(tensor: Tensor, span: Span) -> bool:
    return tensor.dtype in GENERATED and not span.is_bounded and not tensor.is_packed


def known_samples(network: Network) -> list[Arrays]:
    """Return the inputs of the inferences until the network has an output: one, for most."""
    runs = min(network.period, MOST_RUNS)
    chosen = are_generated(network)
    drawn = random_samples(network, runs, SEED)
    samples: list[Arrays] = []
    first = 0
    for sample in drawn:
        arrays = dict(sample)
        for tensor, is_generated in zip(network.inputs, chosen, strict=True):
            if is_generated:
                arrays[tensor.name] = generated(tensor, first)
                first += tensor.elements
        samples.append(arrays)
    return samples


def generated(tensor: Tensor, first: int) -> np.ndarray[Any, Any]:
    """Return the elements of a tensor; `first` is its first element's number."""
    with np.errstate(over="ignore"):
        x = np.arange(first, first + tensor.elements, dtype=np.uint64).astype(np.uint32)
        x = x * _FIRST_FACTOR
        x = (x ^ (x >> np.uint32(15))) * _SECOND_FACTOR
        x = x ^ (x >> np.uint32(13))
    if np.dtype(tensor.dtype).itemsize == 1:
        values = (x >> np.uint32(24)).astype(np.uint8).view(tensor.dtype)
    else:
        values = (x >> np.uint32(16)).astype(np.uint16)
        if tensor.dtype == "float32":
            values = values.view(np.int16).astype(np.float32) / _FLOAT_UNITS
        else:
            values = values.view(tensor.dtype)
    return np.asarray(values).reshape(tensor.shape)
