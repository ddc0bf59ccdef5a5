"""What the page says first: the longest layers, the places, what is not on the NPU, the peak."""

import pytest

from ethosgen.report.highlights import largest_at_peak, left_out, longest_layers, places
from ethosgen.values.accelerator import NO_NPU
from tests import ROOT
from tests.support.reports import CUT, report_of

DEMO = ROOT / "demo"


def test_the_longest_layers_come_first() -> None:
    report = report_of(cpu_ops=CUT)
    found = longest_layers(report)
    assert len(found) == 4
    shares = [layer.share or 0 for layer in found]
    assert shares == sorted((x.share or 0 for x in report.layers), reverse=True)[:4]


def test_each_operator_with_code_is_in_one_place() -> None:
    report = report_of(cpu_ops=CUT)
    assert dict(places(report)) == {"npu": len(report.layers) - len(CUT), "cpu": len(CUT)}
    assert dict(places(report_of(npu=NO_NPU))) == {"cpu": len(report.layers) - 1}  # no RESHAPE


def test_reasons_against_the_npu_come_by_cost_with_their_operators() -> None:
    report = report_of(DEMO / "kws_front_end.tflite")
    groups = left_out(report)
    assert len(groups) > 1
    assert [one.share for one in groups] == sorted((one.share for one in groups), reverse=True)
    for group in groups:
        assert group.layers
        assert {layer.on for layer in group.layers} == {"cpu"}
        assert {layer.reason for layer in group.layers} == {group.reason}
    assert not left_out(report_of(DEMO / "kws_front_end.tflite", NO_NPU))  # there is none


def test_the_largest_blocks_are_those_of_the_peak() -> None:
    (arena,) = report_of().memory.areas
    found = largest_at_peak(arena)
    assert all(one.first <= arena.peak_slot <= one.last for one in found)
    assert sum(one.bytes for one in found) == pytest.approx(arena.peak_bytes, rel=0.2)
