"""Accuracy and quantization error on the page, from what other commands print."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.report.page import render_page
from ethosgen.report.quality import AccuracyFigure, LayerNoise, read_quality
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.coverage import CodeCoverage, Statement
from ethosgen.values.errors import InputError
from tests.support.reports import report_of

KEYS = ("name", "operator", "dtype", "error", "sqnr_db", "lost_db")
LAYERS = [
    dict(zip(KEYS, values, strict=True))
    for values in (
        ("a", "Conv", "int8", 0.01, 40.0, 1.5),
        ("b", "Relu", "int8", 0, None, 0.0),
    )
]
QUANTIZED = {
    "output": "somewhere/net.onnx", "layers": LAYERS, "sqnr_db": 35.5, "measured_samples": 8,
    "accuracy": {"samples": 20, "before": 0.95, "after": 0.9},
}  # fmt: skip
TOP = {"1": {"right": 9, "accuracy": 0.9}, "5": {"right": 10, "accuracy": 1.0}}
ACCURATE = {
    "network": "net", "samples": 10, "agreements": [], "detection": None,
    "classification": {"top": TOP, "classes": [], "confusion": []},
}  # fmt: skip


def written(folder: Path, name: str, answer: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(answer))
    return path


def test_both_answers_are_read_and_shown(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "q.json", QUANTIZED),
        written(tmp_path, "a.json", ACCURATE),
    ]
    quality = read_quality(paths, ("net.onnx", "net"))
    assert quality is not None
    assert quality.accuracy == (
        AccuracyFigure("right, of the float network", 0.95, 20),
        AccuracyFigure("right, after quantization", 0.9, 20),
        AccuracyFigure("right answers", 0.9, 10),
        AccuracyFigure("right among the best 5", 1.0, 10),
    )
    assert quality.layers[1] == LayerNoise("b", "Relu", "int8", 0, None, 0.0)
    text = render_page(replace(report_of(), quality=quality))
    assert "Quantization error by layer" in text and ">90.0%<" in text
    assert 'data-path="/quality/layers/0/sqnr_db" data-style="number">40<' in text


def test_a_report_without_them_has_no_section() -> None:
    assert read_quality([], ("net",)) is None
    assert 'id="quality"' not in render_page(report_of())
    assert 'id="coverage"' not in render_page(report_of())


def test_the_coverage_is_shown_with_its_branches() -> None:
    statements = (
        Statement("a.c", "f", 10, 5, (5, 0)),
        Statement("a.c", "f", 12, 0, (0, 0)),
        Statement("b.h", "g", 3, 1),
    )
    text = render_page(replace(report_of(), coverage=CodeCoverage(statements, {})))
    section = text[text.index('<section id="coverage"') : text.index('<section id="sizes"')]
    assert 'data-path="/coverage/taken" data-style="number">1<' in section
    row = re.findall(r'<td class="number">(\d+)</td>', section[section.index(">a.c<") :])
    assert row[:4] == ["2", "1", "4", "1"]
    assert re.findall(r"<code>(.*)</code>", section) == ["a.c f(): 12", "a.c f(): 10"]


def test_the_keys_are_those_that_accuracy_prints() -> None:
    keys = {"network", "samples", "agreements", "detection", "classification"}
    fields = set(AccuracyReport.__dataclass_fields__)
    assert keys <= fields


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"network": "other", "agreements": []}, "is about 'other', not about 'net.onnx'"),
        ({"network": "net", "agreements": []}, "is not an answer of accuracy or quantize"),
        ([1], "is not an answer of accuracy or quantize"),
    ],
)
def test_what_does_not_fit_is_refused(answer: object, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=reason):
        read_quality([written(tmp_path, "x.json", answer)], ("net.onnx", "net"))


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(InputError, match="cannot read"):
        read_quality([tmp_path / "x.json"], ("net",))
