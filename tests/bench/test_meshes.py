"""The page of networks on small elements: from stored figures, within their bounds."""

from bench import large_networks, meshes
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.pages import load


def test_the_page_shows_the_stored_figures() -> None:
    assert meshes.PAGE.read_text() == meshes.page(load(meshes.FIGURES))


def test_no_simulation_exceeds_its_bound() -> None:
    share = meshes.COLUMNS.index("of the bound")
    rows = load(meshes.FIGURES).values()
    assert rows
    assert all(float(cells[share]) <= 1 for cells in rows)


def test_the_networks_have_the_published_sizes() -> None:
    network = parse_network(large_networks.resnet_50(), "resnet")
    layers = [op for op in network.graph.operators if op.code in ("CONV_2D", "FULLY_CONNECTED")]
    weights = sum(network.graph.tensors[op.inputs[1]].elements for op in layers)
    assert (len(layers), weights) == (54, 25_502_912)
    small = parse_network(large_networks.transformer(layers=1, tokens=8), "transformer")
    dense = [op for op in small.graph.operators if op.code == "FULLY_CONNECTED"]
    assert sum(small.graph.tensors[op.inputs[1]].elements for op in dense) == 12 * 384 * 384
