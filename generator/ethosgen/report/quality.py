"""Accuracy and quantization error, from the JSON that `ethosgen accuracy` and `quantize` print."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethosgen.values.errors import InputError


@dataclass(frozen=True)
class AccuracyFigure:
    """A figure of the network on labelled data, at most 1: a share of right answers, or an AUC."""

    title: str
    value: float
    samples: int


@dataclass(frozen=True)
class LayerNoise:
    """A float layer's error by quantization; ratios are None if nothing differs.

    `error` is relative to the layer's values, `lost_db` is the layer's own loss.
    """

    name: str
    operator: str
    dtype: str
    error: float | None
    sqnr_db: float | None
    lost_db: float | None


@dataclass(frozen=True)
class MeasuredQuality:
    """Measurements by other commands; `sqnr_db` is the worst output's."""

    accuracy: tuple[AccuracyFigure, ...] = ()
    layers: tuple[LayerNoise, ...] = ()
    sqnr_db: float | None = None
    measured_samples: int = 0


def read_quality(paths: Sequence[Path], names: Sequence[str]) -> MeasuredQuality | None:
    """Read files of --json of `accuracy` and `quantize`; None without any.

    `names` are those of the network and its file. InputError if a file is about another one.
    """
    quality = MeasuredQuality()
    for path in paths:
        answer = _read(path)
        subject = Path(str(answer.get("output" if "layers" in answer else "network"))).name
        if subject not in names and Path(subject).stem not in names:
            raise InputError(
                f"'{path}' is about '{subject}', not about '{names[0]}'; measure this network"
            )
        try:
            quality = _with(quality, answer)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"'{path}' is not an answer of accuracy or quantize; write one with --json"
            ) from None
    return quality if paths else None


def _read(path: Path) -> Mapping[str, Any]:
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read '{path}' as JSON: {error}") from None
    is_ours = isinstance(answer, dict) and ("agreements" in answer or "sqnr_db" in answer)
    if not is_ours:
        raise InputError(
            f"'{path}' is not an answer of accuracy or quantize; write one with --json"
        )
    return dict(answer)


def _with(quality: MeasuredQuality, answer: Mapping[str, Any]) -> MeasuredQuality:
    if "agreements" in answer:
        return replace(quality, accuracy=(*quality.accuracy, *_accuracy(answer)))
    both = answer["accuracy"]
    figures = [
        AccuracyFigure(f"right, {title}", float(both[key]), int(both["samples"]))
        for key, title in (("before", "of the float network"), ("after", "after quantization"))
        if both
    ]
    keys = ("name", "operator", "dtype", "error", "sqnr_db", "lost_db")
    return replace(
        quality,
        accuracy=(*quality.accuracy, *figures),
        layers=tuple(LayerNoise(*(layer[key] for key in keys)) for layer in answer["layers"]),
        sqnr_db=answer["sqnr_db"],
        measured_samples=int(answer["measured_samples"]),
    )


def _accuracy(answer: Mapping[str, Any]) -> Iterator[AccuracyFigure]:
    samples = int(answer["samples"])
    if classes := answer["classification"]:
        for k, best in classes["top"].items():
            title = "right answers" if k == "1" else f"right among the best {k}"
            yield AccuracyFigure(title, float(best["accuracy"]), samples)
    if (detection := answer["detection"]) and detection["auc"] is not None:
        yield AccuracyFigure("area under the ROC curve", float(detection["auc"]), samples)
