"""The tables of accuracy of `ethosgen sweep`."""

from dataclasses import replace

from ethosgen.values.accuracy import Agreement, Detection
from ethosgen.values.labelled import LabelledResult
from ethosgen_sweep.labelled_table import labelled_lines
from tests.support.costs import LABELLED, make_labelled


def lines(*results: LabelledResult) -> list[str]:
    return list(labelled_lines(results))


def test_a_row_for_each_network_and_npu() -> None:
    title, head, first, second, *rest = lines(make_labelled(), make_labelled(npu="none"))
    assert title == "accuracy on pets"
    assert head.split() == [
        *("network", "NPU", "samples", "accuracy", "right", "top", "2", "in", "top", "2"),
        *("simulate", "and", "tflm"),
    ]
    figures = ["3", "66.67%", "2", "100.00%", "3", "3", "equal"]
    assert first.split() == ["net", "ethos-u55-128", *figures]
    assert second.split()[:2] == ["net", "none"]
    assert "of its network and NPU." in rest
    assert lines() == []


def test_differences_refusals_and_what_is_unchecked() -> None:
    differing = replace(LABELLED, agreements=(Agreement("simulate", "tflm", 3, 1),))
    shown = lines(
        make_labelled(differing),
        make_labelled(None, "ethos-u85-256", refusal="no room"),
        make_labelled(None, "none", refusal="a worker died", may_pass=True),
    )
    assert shown[2].endswith("1 of 3 samples differ")
    assert "  refused: net, ethos-u85-256: no room" in shown
    assert "  failed: net, none: a worker died" in shown
    assert not any("Unchecked" in line for line in shown)
    alone = replace(LABELLED, agreements=(), check_with="tflm", taken="p - 128 as int8", silent=2)
    shown = lines(make_labelled(alone, on=("simulate",)))
    assert 'Unchecked: on = ["simulate", "tflm"] in the study compares' in shown[-1]
    assert "  taken as p - 128 as int8" in shown and "waiting" in shown[1]


def test_a_detector_has_its_auc() -> None:
    detection = Detection(3, 1, 0.5, 1.0, 2.0)
    labelled = make_labelled(replace(LABELLED, classification=None, detection=detection))
    assert [line.split()[3] for line in lines(labelled)[1:3]] == ["AUC", "0.5000"]
    unknown = replace(
        labelled,
        report=replace(LABELLED, classification=None, detection=replace(detection, auc=None)),
    )
    assert lines(unknown)[2].split()[3] == "-"
