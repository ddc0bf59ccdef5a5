"""What the page says first: the longest layers, the places, what is not on the NPU, the peak."""

import pytest

from ethosgen.report.highlights import largest_at_peak, left_out, longest_layers, places
from ethosgen.values.accelerator import NO_NPU
from tests import ROOT
from tests.support.reports import CUT, report_of

DEMO = ROOT / "demo"


def test_the_longest_layers_come_first() -> None:
    report = report_of(cpu_ops=CUT)
    longest = longest_layers(report)
    assert len(longest) == 4
    shares = [layer.share or 0 for layer in longest]
    assert shares == sorted((x.share or 0 for x in report.layers), reverse=True)[:4]


def test_each_operator_with_code_is_in_one_place() -> None:
    report = report_of(cpu_ops=CUT)
    assert dict(places(report)) == {"npu": len(report.layers) - len(CUT), "cpu": len(CUT)}
    assert dict(places(report_of(npu=NO_NPU))) == {"cpu": len(report.layers) - 1}  # no RESHAPE


def test_reasons_against_the_npu_come_by_cost_with_their_operators() -> None:
    report = report_of(DEMO / "kws_front_end.tflite")
    groups = left_out(report)
    assert len(groups) > 1
    assert [group.share for group in groups] == sorted(
        (group.share for group in groups), reverse=True
    )
    for group in groups:
        assert group.layers
        assert {layer.on for layer in group.layers} == {"cpu"}
        assert {layer.reason for layer in group.layers} == {group.reason}
    assert not left_out(report_of(DEMO / "kws_front_end.tflite", NO_NPU))  # there is none


def test_the_largest_blocks_are_those_of_the_peak() -> None:
    (arena,) = report_of().memory.areas
    largest = largest_at_peak(arena)
    assert all(block.first <= arena.peak_slot <= block.last for block in largest)
    assert sum(block.bytes for block in largest) == pytest.approx(arena.peak_bytes, rel=0.2)
