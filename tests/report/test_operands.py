"""What an operator is known by: its attributes, and its tensors with their quantization."""

import pytest

from ethosgen.report.operands import attributes_of, operands_of
from tests.support.reports import DIGITS, observe, report_of

GRAPH = observe(DIGITS).network.graphs[0]


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        (
            0,
            {"kernel": "3x3", "stride": "1x1", "padding": "SAME", "activation": "RELU"},
        ),
        (3, {"stride": "2x2", "window": "2x2", "padding": "VALID"}),
        (5, {"activation": "RELU"}),
        (7, {}),
        (9, {"beta": "1"}),
    ],
)
def test_attributes(operator: int, attributes: dict[str, str]) -> None:
    assert attributes_of(GRAPH, GRAPH.operators[operator]) == attributes


def test_operands_have_their_scales() -> None:
    image, weights, bias, output = operands_of(GRAPH, GRAPH.operators[0])
    assert (image.role, image.scales, image.zero_point) == ("input", 1, -128)
    assert image.least_scale == image.most_scale == pytest.approx(1 / 255, rel=1e-6)
    scales = GRAPH.tensors[GRAPH.operators[0].inputs[1]].quantization
    assert scales is not None and len(scales.scale) == 16
    assert (weights.role, weights.scales, weights.zero_point) == ("weights", 16, 0)
    assert weights.least_scale == pytest.approx(min(scales.scale), rel=1e-6)
    assert weights.most_scale == pytest.approx(max(scales.scale), rel=1e-6)
    assert (bias.role, bias.dtype) == ("bias", "int32")
    assert (output.role, output.shape) == ("output", (1, 8, 8, 16))


def test_utilisation_is_products_by_cycles_and_units() -> None:
    layer = report_of(DIGITS).layers[4]
    assert layer.cycles and layer.utilisation is not None
    assert layer.utilisation == pytest.approx(147_456 / layer.cycles / 128, rel=1e-3)
    assert report_of(DIGITS).layers[9].utilisation is None
