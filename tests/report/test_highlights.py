"""What the page says first: the longest layers, the places, what is not on the NPU, the peak."""

from dataclasses import replace

import pytest

from ethosgen.report.highlights import (
    busy_part,
    headroom,
    largest_at_peak,
    left_out,
    longest_layers,
    places,
)
from ethosgen.report.page import render_page
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.headline import Occupancy
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


def test_headroom_is_what_the_board_has_left() -> None:
    report = report_of()
    assert headroom(report) == []
    used = replace(report.headline, ram=Occupancy(600, 1000), flash=Occupancy(2500, 2000))
    on_board = replace(report.setting, board="corstone300")
    costs = replace(report.costs, seconds=0.00034)
    text = render_page(replace(report, headline=used, setting=on_board, costs=costs))
    assert "Headroom on corstone300" in text and "bytes are in use, 400 are free." in text
    assert "bytes are in use, 0 are free." in text
    assert "if nothing else runs: at most 2,900" in text


def test_the_busy_part_is_of_all_the_npus_cycles() -> None:
    report = report_of()
    macs = sum(layer.macs for layer in report.layers if layer.on == "npu")
    assert report.costs.npu_cycles
    assert busy_part(report) == pytest.approx(macs / report.costs.npu_cycles / 128)
    assert busy_part(report_of(npu=NO_NPU)) is None
