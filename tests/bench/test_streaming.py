"""The tables of bands: in docs/streaming.md and on the page of public networks."""

import pytest

from bench import streaming
from bench.public import MANY, Published
from tests.support.networks import NetworkBuilder
from tests.support.pages import load

RESULTS = load(streaming.RESULTS)


def test_the_tables_are_those_of_the_figures() -> None:
    text = streaming.DOCS.read_text()
    assert set(streaming.DOCS_TABLES) <= RESULTS.keys()
    assert streaming.docs_page(text, RESULTS) == text
    assert streaming.networks_page(RESULTS["networks"]) == streaming.PAGE.read_text()


def test_a_limit_is_beside_what_it_costs() -> None:
    row = {"limit": 40_000, "on_cpu": 4, "operators": 31, "arena_bytes": 38_912}
    table = streaming.head_table([row | {"milliseconds": 25.0, "alone_milliseconds": 53.0}])
    assert table.splitlines()[-1] == "| 40,000 | 4 of 31 | 38,912 | 25 | 53 |"
    whole = {"limit": "none", "arena_bytes": 100, "instructions": 1_000}
    less = {"limit": "the least", "arena_bytes": 50, "instructions": 1_100}
    assert streaming.large_table([whole, less]).endswith("| the least | 50 | 1,100 | 1.100 |")


@pytest.mark.parametrize(("dtype", "is_kept"), [("int8", True), ("float32", False)])
def test_only_networks_of_integers_are_measured(dtype: str, is_kept: bool) -> None:
    net = NetworkBuilder("small", seed=1)
    plain = {"scale": None} if dtype == "float32" else {}
    x = net.input((1, 8), dtype=dtype, **plain) if plain else net.input((1, 8))
    data = net.build(net.fully_connected(x, 4) if is_kept else net.relu(x))
    network = Published("a package", "folder/small.tflite", data)
    assert bool(streaming.whole_integers([network])) == is_kept
    assert not streaming.whole_integers([network] * (MANY + 1))
