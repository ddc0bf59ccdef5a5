"""The roofline: no layer is above the peak, and figures follow from the timeline's."""

import pytest

from tests.support.reports import report_of


@pytest.mark.parametrize(
    ("npu", "macs"), [("ethos-u55-32", 32), ("ethos-u65-512", 512), ("ethos-u85-1024", 1024)]
)
def test_points_follow_from_the_timeline(npu: str, macs: int) -> None:
    report = report_of(npu=npu)
    roofline = report.roofline
    assert roofline is not None and roofline.peak_macs == macs
    assert {point.operator for point in roofline.points} == {0, 1, 2, 4, 8}
    for point in roofline.points:
        assert point.macs_per_cycle <= macs and point.roof <= macs
        moved = sum(
            sum(event.read.values()) + sum(event.written.values())
            for event in report.timeline
            if event.operator == point.operator and event.lane in ("npu", "dma")
        )
        assert point.bytes == moved
        assert point.intensity == pytest.approx(point.macs / moved, rel=1e-3)
