"""A sweep has passed if all has a result, something was measured, and nothing differs."""

import json
from dataclasses import replace

from ethosgen.values.accuracy import Agreement, Detection, SampleVerdict
from ethosgen.values.configurations import ComparisonReport
from ethosgen.values.labelled import LabelledResult
from ethosgen_sweep.report import SweepCounts, SweepReport, Tally
from tests.support.costs import LABELLED, make_labelled, make_result

DONE = SweepCounts(1, 1, shards=Tally(3, 1, 2))


def report(*accuracy: LabelledResult, counts: SweepCounts = DONE) -> SweepReport:
    return SweepReport(ComparisonReport((make_result(),), {}), counts, accuracy)


def test_what_passes() -> None:
    refused = make_labelled(None, refusal="no")
    differing = replace(LABELLED, agreements=(Agreement("simulate", "tflm", 3, 1),))
    assert report().passed and report(make_labelled()).passed
    assert report(make_labelled(), refused).passed
    assert not report(refused).passed
    assert not report(make_labelled(), make_labelled(differing)).passed
    failed = replace(DONE, shards=Tally(3, 1, 1, 1))
    assert not report(make_labelled(), counts=failed).passed


def test_counts_are_of_points_and_of_shards() -> None:
    counts = SweepCounts(5, 1, 2, 1, Tally(7, 3))
    assert (counts.points, counts.missing, counts.shards.missing) == (5, 2, 4)
    assert counts.all_missing == 6
    told = json.loads(json.dumps(report(counts=counts).as_json()))
    assert (told["points"], told["kept"], told["missing"]) == (5, 1, 2)
    assert told["shards"] == {"total": 7, "kept": 3, "computed": 0, "failed": 0, "missing": 4}


def test_json_has_all_figures_and_a_row_the_most_important() -> None:
    labelled = make_labelled()
    (told,) = json.loads(json.dumps(report(labelled).as_json()))["accuracy"]
    assert (told["data"], told["npu"], told["on"]) == ("pets", "ethos-u55-128", "simulate")
    assert told["classification"] == LABELLED.as_json()["classification"]
    assert told["passed"] is True and "work" not in told
    row = labelled.as_row()
    assert (row["samples"], row["right"], row["accuracy"]) == (3, 2, 2 / 3)
    assert (row["top"], row["top_right"], row["top_accuracy"]) == (2, 3, 1.0)
    assert (row["compared_with"], row["differing"], row["auc"]) == ("tflm", 0, None)
    assert [sample["answered_class"] for sample in labelled.sample_rows()] == ["cat", "dog", "dog"]


def test_a_detector_has_scores_instead_of_answers() -> None:
    detection = Detection(2, 1, 0.5, 1.0, float("inf"))
    verdicts = SampleVerdict(0, 0, None, 1.5), SampleVerdict(1, 1, None, 1.0)
    labelled = make_labelled(
        replace(
            LABELLED, classification=None, detection=detection, verdicts=verdicts, agreements=()
        )
    )
    row = labelled.as_row()
    assert (row["auc"], row["mean_score_of_positives"], row["accuracy"]) == (0.5, 1.0, None)
    assert row["differing"] is None
    assert row["mean_score_of_negatives"] == float("inf")
    assert [(two["score"], two["right"]) for two in labelled.sample_rows()] == [
        (1.5, None),
        (1.0, None),
    ]
    assert json.dumps(labelled.as_json(), allow_nan=False)
