"""Layers with state: SVDF of int8 with a state of int16."""

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from ethosgen.aot.arithmetic.quantization import (
    Multiplier,
    limits,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.recurrent import Svdf, read_svdf
from ethosgen.aot.packed import order, packed
from ethosgen.aot.packed.order import Array
from ethosgen.values.network import Operator, Tensor

SVDF = frozenset({"ethosgen_svdf.c", "ethosgen_sums.h"})


@packed("SVDF", for_helium=True)
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a row of features by one call."""
    layer = read_svdf(op, tensors)
    types = [t.dtype for t in (layer.features, layer.time, layer.state, layer.bias)]
    constants = (layer.features, layer.time, layer.bias)
    if (
        types != ["int8", "int16", "int16", "int32"]
        or zero_point_of(layer.state)
        or any(tensor.data is None for tensor in constants)
    ):
        return None
    batch = layer.source.shape[0]
    nest = Nest()
    x = nest.read("input", layer.source)
    weights = layer.features.array()
    biases = order.folded_biases(weights, zero_point_of(layer.source))
    tables = [
        nest.table("weights", order.matrix_weights(weights)),
        nest.table("biases", order.padded(biases, order.MATRIX_CHANNELS)),
        nest.table("time_weights", layer.time.array()),
        nest.table("unit_biases", order.padded(layer.bias.array(), order.MATRIX_CHANNELS)),
        nest.table("shape", _svdf_numbers(layer)),
    ]
    y = nest.write("output", layer.target)
    state = nest.variable("state", layer.state)
    with nest.loop("n", batch) as n:
        places = [tirx.address_of(view[n, 0]) for view in (y, x, state)]
        nest.call("ethosgen_svdf_s8", *places, *(table.data for table in tables))
    return nest.kernel(SVDF)


def _svdf_numbers(layer: Svdf) -> Array:
    """Return a struct ethosgen_svdf."""
    held = scale_of(layer.state)
    into = quantize_multiplier(scale_of(layer.source) * scale_of(layer.features) / held)
    out = quantize_multiplier(held * scale_of(layer.time) / scale_of(layer.target))
    numbers = (
        *(layer.source.shape[1], layer.target.shape[1], layer.rank, layer.memory),
        *(*_multiplier_numbers(into), *_multiplier_numbers(out)),
        *(zero_point_of(layer.target), *limits("int8")),
    )
    return np.array(numbers, np.int32)


def _multiplier_numbers(multiplier: Multiplier) -> tuple[int, int, int]:
    """Return a struct ethosgen_multiplier."""
    return multiplier.mantissa, max(multiplier.shift, 0), min(multiplier.shift, 0)
