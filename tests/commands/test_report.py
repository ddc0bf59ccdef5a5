import json
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.wording import report_text
from ethosgen.values.allocation import ResidualIndex
from ethosgen.values.configurations import SramChoice, Tried
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import CpuOperator, PlanSummary
from ethosgen.values.report import Report
from ethosgen.values.schedule import Schedule
from tests.support.costs import make_cost
from tests.support.networks import NetworkBuilder, Spec


def report(**changes: Any) -> Report:
    fields: dict[str, Any] = {
        "network": "net",
        "board": "corstone300",
        "on": "qemu",
        "plan": PlanSummary("ethos-u55-128", 1, 4, (), 2048, 1000),
        "samples": 1,
        "golden": OutputComparison("tflm", 0, 10, 0.0),
        "second": OutputComparison("litert", 3, 10, 2.0),
        "ended": True,
    }
    return Report(**{**fields, **changes})


def test_only_the_first_oracle_decides() -> None:
    assert report().passed
    assert not report(golden=OutputComparison("tflm", 1, 10, 1.0)).passed


def test_what_a_limit_of_the_sram_chose_is_told() -> None:
    tried = Tried(Schedule(arena_bytes=4000), make_cost(2000, 4096, start_cycles=0))
    content = report(sram_choice=SramChoice("net", 5120, tried))
    assert "  limit     net in 5.0 KiB: performance ≤ 3.9 KiB: 4.0 KiB of SRAM" in report_text(
        content
    )
    assert content.as_json()["sram_choice"] == {
        "limit_bytes": 5120,
        "chosen": {
            **{"strategy": "performance", "arena_limit_bytes": 4000, "sram_bytes": 4096},
            **{"cycles": 2000, "milliseconds": 2.0},
        },
        "smaller": None,
        "larger": None,
    }
    assert report().as_json()["sram_choice"] is None


def test_silence_and_emptiness_are_failures() -> None:
    assert not report(ended=False).passed
    assert not report(golden=OutputComparison("tflm", 0, 0, 0.0)).passed


def test_without_a_golden_answer_nothing_passes_and_nothing_is_hidden() -> None:
    compiled = report(golden=None, second=None)
    assert not compiled.passed
    assert compiled.verdict == "NOT COMPARED"
    assert report(golden=None, ended=False).verdict == "FAIL"
    assert (report().verdict, report(ended=False).verdict) == ("PASS", "FAIL")
    answer = compiled.as_json()
    assert (answer["passed"], answer["verdict"]) == (False, "NOT COMPARED")
    assert answer["mismatches"] is None and answer["max_abs_diff"] is None
    assert answer["oracles"] == {}


def test_a_run_in_which_all_samples_waited_says_why_nothing_was_compared() -> None:
    told = report_text(report(golden=OutputComparison("tflm", 0, 0, 0.0), second=None))
    assert "nothing was compared" in told and "--samples" in told
    assert "nothing was compared" not in report_text(report())


def test_json_carries_both_comparisons() -> None:
    answer = json.loads(json.dumps(report().as_json()))
    assert answer["mismatches"] == 0
    litert = {"mismatches": 3, "close": 0, "elements": 10, "max_abs_diff": 2}
    litert |= {"left_out": 0, "left_out_why": None, "allowed_steps": 0.0}
    assert answer["oracles"]["litert"] == litert
    assert answer["npu"]["partitions"] == 1


def test_a_difference_without_a_number_is_null() -> None:
    answer = report(golden=OutputComparison("tflm", 10, 10, float("inf"))).as_json()
    assert answer["max_abs_diff"] is None


def test_a_float_network_is_told_how_to_quantize(tmp_path: Path) -> None:
    net = NetworkBuilder("dense")
    x = net.input((1, 4), "float32", None)
    weights = net.constant(np.ones((3, 4)), "float32")
    (y,) = net.operator("FULLY_CONNECTED", [x, weights], [Spec((1, 3), "float32")])
    (tmp_path / "dense.tflite").write_bytes(net.build(y))
    said = CliRunner().invoke(cli, ["simulate", str(tmp_path / "dense.tflite")]).stdout
    assert "ethosgen quantize dense.tflite --data SAMPLES.npz -o dense_int8.tflite" in said


def test_equal_reasons_are_told_once_with_the_operators_counted() -> None:
    operators = [
        CpuOperator(ResidualIndex(0), "CONV_2D", "a", "the NPU does not compute in float32"),
        CpuOperator(ResidualIndex(1), "CONV_2D", "b", "the NPU does not compute in float32"),
        CpuOperator(ResidualIndex(2), "ADD", "c", "the NPU does not compute in float32"),
        CpuOperator(ResidualIndex(3), "SIN", "d", "the NPU has no such operation"),
    ]
    text = report_text(report(plan=PlanSummary("ethos-u55-128", 1, 4, tuple(operators), 0, 0)))
    assert "  3 operators (2 x CONV_2D, ADD): the NPU does not compute in float32" in text
    assert "  SIN (d): the NPU has no such operation" in text
