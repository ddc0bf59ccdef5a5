"""The table of what the optimizer saves."""

from bench import optimizer


def test_a_figure_that_changes_has_both_values() -> None:
    before = dict.fromkeys(optimizer.COLUMNS.values(), 100) | {"npu_cycles": None}
    after = before | {"weights_bytes": 14}
    head, (row,) = optimizer.rows([{"name": "vww", "before": before, "after": after}])
    assert head[:3] == ["network", "multiplications", "weights B"]
    assert row[:4] == ["vww", "100", "100 to 14 (-86%)", "100"]
    assert row[head.index("NPU: cycles")] == "-"


def test_bands_stand_beside_whole_tensors() -> None:
    after = {"arena_bytes": 55_296, "instructions": 1_000}
    bands = {"arena_bytes": 33_216, "instructions": 1_075}
    figures = [{"name": "vww", "after": after, "bands": bands}, {"name": "old", "after": after}]
    _, rows = optimizer.band_rows(figures)
    assert rows == [["vww", "55,296", "33,216", "1.075"]]
