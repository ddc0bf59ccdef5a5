"""Matrix products whose scales Vela multiplies in single precision."""

import numpy as np
import pytest

from ethosgen.aot import table_of
from ethosgen.backend.ethosu.offload import CompileTarget, find_errata
from ethosgen.backend.ethosu.offload.errata_products import _sums_at_bounds
from ethosgen.backend.ethosu.offload.rounding import differ, factor_of
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.networks import NetworkBuilder, Spec

ONE, OTHER, OF_BOTH = 0.024790890514850616, 0.0195566825568676, 0.36449846625328064
"""Scales of MLPerf Tiny's autoencoder; a sum of -88,337 is between two results."""
TARGET = CompileTarget("ethos-u55-128", table_of=table_of)


def product(
    depth: int, *, is_constant: bool = False, is_shared: bool = False, dtype: str = "int8"
) -> dict[str, int]:
    """Return the number of operators that each erratum keeps on the CPU."""
    net = NetworkBuilder("product", seed=2)
    x = net.input((1, depth), dtype, ONE, 0 if dtype == "int16" else -128)
    if is_constant:
        y = net.constant(np.full((3, depth), 127, np.int8), "int8", OTHER)
    else:
        y = net.input((3, depth), "int8", OTHER, 0)
    dense = net.operator("FULLY_CONNECTED", [x, y, -1], [Spec((1, 3), dtype, OF_BOTH, 0)])[0]
    outputs = (dense, net.relu(y)) if is_shared else (dense,)
    kept = find_errata(parse_network(net.build(*outputs), "product"), TARGET).values()
    errata = [why.erratum for why in kept if why.erratum]
    return {name: errata.count(name) for name in errata}


def test_a_product_stays_only_where_a_sum_can_reach_the_difference() -> None:
    """-88,337 takes three products of 255 and 128, and fewer sums are never between results."""
    assert product(2) == {}
    assert product(3) == {"fully-connected-single": 1}


def test_constant_weights_are_multiplied_in_double_unless_others_read_them() -> None:
    assert product(8, is_constant=True) == {}
    assert product(8, is_constant=True, is_shared=True) == {"fully-connected-single": 1}
    assert product(2, is_constant=True, is_shared=True) == {}


def test_sums_at_bounds_decide_as_all_sums_do() -> None:
    random, reach, different = np.random.default_rng(0), 60_000, 0
    every = np.arange(-reach, reach + 1)
    for _ in range(60):
        x_scale, other = (np.float32(scale) for scale in random.uniform(0.001, 0.1, 2))
        over = float(x_scale) * float(other) * 10 ** random.uniform(-0.5, 3.5)
        factors = (
            factor_of(float(x_scale) * float(other) / over),
            factor_of(float(x_scale * other) / over),
        )
        wanted = differ(every, *factors, 256)
        assert differ(_sums_at_bounds(factors[0], 256, reach), *factors, 256) == wanted
        different += wanted
    assert 0 < different < 60


@pytest.mark.parametrize("scale", [0.05, OF_BOTH])
def test_products_of_16_bits_take_16_bits_of_the_factor(scale: float) -> None:
    x_scale, other = np.float32(ONE), np.float32(OTHER)
    over = float(np.float32(scale))
    upper = {
        factor_of(product / over)[0] + (1 << 15) >> 16
        for product in (float(x_scale) * float(other), float(x_scale * other))
    }
    assert len(upper) == 1
    net = NetworkBuilder("wide", seed=2)
    x, y = net.input((1, 3, 8), "int16", ONE, 0), net.input((1, 8, 3), "int16", OTHER, 0)
    network = parse_network(net.build(net.apply("BATCH_MATMUL", x, y, scale=scale)), "wide")
    assert not find_errata(network, TARGET)
