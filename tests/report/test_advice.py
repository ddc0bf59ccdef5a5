"""Each piece of advice: when it is given, with which gain, and when not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ethosgen.report.advice import AdviceFacts, advise
from ethosgen.report.content import ReportLayer

FACTS = AdviceFacts("ethosgen verify net.tflite --board b --npu u", "ethos-u55-128")


def layer(
    operator: int, code: str, share: float | None, on: str = "npu", **more: Any
) -> ReportLayer:
    fields: dict[str, Any] = {
        "output": f"t{operator}",
        "shape": (1, 4),
        "dtype": "int8",
        "partition": "",
        "reason": "",
        "erratum": "",
        "inputs": (operator - 1,) if operator else (),
        "merged_into": None,
        "macs": 0,
        "cycles": 10,
        "cpu": None,
        "constant_bytes": 0,
        "encoded_bytes": None,
    }
    return ReportLayer(operator=operator, code=code, share=share, on=on, **{**fields, **more})


EVEN = [layer(i, "CONV_2D", 0.25) for i in range(4)]


def codes(layers: Sequence[ReportLayer], **facts: Any) -> list[str]:
    return [piece.code for piece in advise(layers, replace(FACTS, **facts))]


def test_a_network_without_faults_gets_no_advice() -> None:
    assert codes(EVEN) == [] and codes([]) == []


def test_a_channels_first_input_costs_its_transpose() -> None:
    layers = [layer(0, "TRANSPOSE", 0.2), layer(1, "CONV_2D", 0.4), layer(2, "CONV_2D", 0.4)]
    (piece,) = advise(layers, replace(FACTS, channels_first=("image",)))
    assert piece.share == 0.2 and piece.command.endswith("--input-layout nhwc")
    assert "'image'" in piece.text and "20 %" in piece.text
    assert codes([layer(0, "TRANSPOSE", 0.01), *EVEN[1:]], channels_first=("image",)) == []


def test_conversions_at_float_ends_are_named() -> None:
    layers = [
        layer(0, "QUANTIZE", 0.1, "cpu", reason="floats"),
        *(layer(i, "CONV_2D", 0.2) for i in (1, 2, 3)),
        layer(4, "DEQUANTIZE", 0.05, "cpu", reason="floats"),
    ]
    pieces = {piece.code: piece for piece in advise(layers, FACTS)}
    assert pieces["float-ends"].share == pytest.approx(0.15)
    inner = [layers[1], layer(2, "QUANTIZE", 0.5), *layers[3:4]]
    assert "float-ends" not in codes(inner)


def test_a_float_network_is_to_be_quantized_and_not_told_what_its_cpu_does() -> None:
    layers = [layer(0, "CONV_2D", 0.4, "cpu", reason="it computes floats"), *EVEN[1:]]
    assert codes(layers, quantize_with="ethosgen quantize net.tflite") == ["float"]


def test_operators_off_the_npu_are_grouped_by_reason_the_costliest_first() -> None:
    layers = [
        layer(0, "CONV_2D", 0.3),
        layer(1, "GATHER", 0.1, "cpu", reason="Vela has no GATHER of int16"),
        layer(2, "TANH", 0.2, "cpu", reason="an erratum"),
        layer(3, "TANH", 0.2, "cpu", reason="an erratum"),
        layer(4, "SOFTMAX", None, "cpu", reason="its time is unknown"),
    ]
    first, second = advise(layers, FACTS)
    assert first.share == pytest.approx(0.4) and "2 operators" in first.text
    assert "TANH: 40 % of the time, since an erratum" in first.text
    assert "1 operator that" in second.text
    assert codes(layers, npu="none") == []


def test_layers_that_the_cpu_runs_faster_are_counted_with_their_gain() -> None:
    (piece,) = advise(EVEN, replace(FACTS, cpu_shares={0: 0.05, 1: 0.5, 2: 0.2}))
    assert piece.share == pytest.approx(0.25) and "2 operators" in piece.text
    assert piece.command.endswith("--offload auto")


def test_a_layer_that_takes_most_of_the_time_is_named() -> None:
    layers = [layer(0, "CONV_2D", 0.7), *(layer(i, "CONV_2D", 0.1) for i in (1, 2, 3))]
    (piece,) = advise(layers, FACTS)
    assert "CONV_2D 't0' (1x4): it alone takes 70 %" in piece.text
    assert codes([layer(0, "CONV_2D", 1.0)]) == []


def test_a_nearly_full_flash_is_named_unless_the_weights_are_apart() -> None:
    assert codes(EVEN, flash=0.9) == ["flash"]
    assert codes(EVEN, flash=0.9, can_be_apart=False) == []
    assert codes(EVEN, flash=0.5) == []
