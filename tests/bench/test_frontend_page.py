"""The page of front ends: rendered from figures, and true about those of the committed bench."""

import json
from typing import Any

import pytest

from bench.frontend_page import has_fewer, page
from bench.frontend_suites import SUITES
from bench.frontends import RESULTS

FIDELITY = {"equal": 150, "by_one": 48, "most": 2.0, "rows": 20, "same_largest": 19}
ROW = {
    "name": "Conv",
    "setting": "int8",
    "elements": 200,
    "mismatches": 0,
    "known": "",
    "on_npu": 7,
    "operators": 9,
    "on_cpu": ["QUANTIZE"],
    "share": 0.875,
}
TWIN = {"twin": {"on_npu": 5, "operators": 5, "on_cpu": [], "share": 1.0}}


def rendered(suite: str, *networks: dict[str, Any], operators: Any = ()) -> str:
    return page({suite: {"operators": list(operators), "networks": list(networks)}})


def cells(text: str, start: str) -> list[list[str]]:
    """Return the lines of tables whose first cell is `start`."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines if line[0].strip() == start]


def test_an_operator_has_a_row_of_its_figures() -> None:
    text = rendered("ONNX", operators=[ROW | FIDELITY])
    assert cells(text, "operator") == [
        ["operator", "type", "outputs", "mismatches", "equal", "one step", "most", "on the NPU"]
    ]
    assert cells(text, "Conv") == [["Conv", "int8", "200", "0", "75.0%", "24.0%", "2", "7 of 9"]]
    assert "## TOSA" not in text


def test_a_figure_that_no_row_has_is_no_column() -> None:
    text = rendered("TOSA", operators=[ROW | {"setting": "", "on_u85": 8}])
    assert cells(text, "operator") == [
        ["operator", "outputs", "mismatches", "on the NPU", "on a U85-256"]
    ]
    assert cells(text, "Conv") == [["Conv", "200", "0", "7 of 9", "8 of 9"]]


def test_a_program_without_an_oracle_says_so_and_what_is_refused_is_listed() -> None:
    program = {"name": "conv", "setting": "int8", "elements": 10, "mismatches": None, "known": "",
               "operations": 3, "partitions": 2, "on_cpu": ["CAST"], "share": 1.0}  # fmt: skip
    refused = {"name": "relu6", "setting": "int8", "refused": "nobody takes it"}
    text = rendered("ExecuTorch", program | TWIN, operators=[program, refused])
    assert ["conv", "int8", "10", "not compared", "3"] in cells(text, "conv")
    assert "- relu6: nobody takes it." in text
    assert not cells(text, "relu6")
    assert ["conv", "ExecuTorch int8", "2 delegates", "100.0%", "5 of 5", "100.0%"] in cells(
        text, "conv"
    )


def test_causes_are_told_of_differences_above_one_step_alone() -> None:
    far = ROW | FIDELITY | {"name": "Far", "known": "a table"}
    near = ROW | FIDELITY | {"name": "Near", "known": "a sum", "most": 1.0}
    text = rendered("ONNX", operators=[far, far | {"setting": "int16"}, near])
    assert "- Far in int16; Far in int8: a table." in text
    assert "a sum" not in text


def test_networks_are_beside_their_twins_with_the_reason_for_fewer() -> None:
    network = ROW | FIDELITY | TWIN | {"name": "LSTM"}
    text = rendered("ONNX", network | {"on_cpu": ["QUANTIZE", "TANH"]}, network)
    places = ["LSTM", "ONNX int8", "7 of 9", "87.5%", "5 of 5", "100.0%"]
    shown = [row[6:] for row in cells(text, "LSTM") if row[:6] == places]
    assert shown == [
        [SUITES[0].fewer["LSTM", "int8"]],
        [],
    ]  # the second has its ends on the CPU alone


def test_an_optimized_runtime_is_compared_with_us_and_with_itself() -> None:
    own = FIDELITY | {"elements": 200, "equal": 100}
    both = {"optimized": FIDELITY | {"elements": 200}, "optimized_own": own}
    text = rendered("ONNX", ROW | FIDELITY | both)
    assert any(row[1:] == ["75.0%", "24.0%", "2", "19 of 20", "50.0%", "24.0%", "2", "19 of 20"]
               for row in cells(text, "Conv"))  # fmt: skip


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(RESULTS.read_text())
    return figures


def test_every_suite_is_measured(committed: dict[str, Any]) -> None:
    assert list(committed) == [suite.title for suite in SUITES]
    for suite in committed.values():
        assert len(suite["operators"]) > len(suite["networks"]) > 1


def test_whole_networks_are_as_much_on_the_npu_or_say_why_not(committed: dict[str, Any]) -> None:
    for suite in SUITES:
        for network in committed[suite.title]["networks"]:
            assert network["share"] >= network["twin"]["share"] or has_fewer(network), network[
                "name"
            ]
            assert (network["name"], network["setting"]) in suite.fewer or not has_fewer(network), (
                network["name"]
            )


def test_the_largest_output_is_the_same_in_all_samples(committed: dict[str, Any]) -> None:
    networks = [
        network
        for suite in committed.values()
        for network in suite["networks"]
        if "rows" in network
    ]
    assert networks
    assert all(network["same_largest"] == network["rows"] > 0 for network in networks)
