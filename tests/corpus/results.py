"""The results of a run of the corpus, as plain values for a JSON file."""

import collections
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests import ROOT
from tests.corpus.projects import CRASH, DIFFERS, FAULT, REFUSED, Outcome
from tests.corpus.trial import ORACLES, Difference, Trial

RESULTS = ROOT / "evidence" / "exactness.json"

PACKAGES = ("ethos-u-vela", "tflite-micro", "ai-edge-litert")

Figures = dict[str, Any]


def summarize(
    operator: str,
    dtype: str,
    start: int,
    trials: Sequence[Trial],
    projects: Sequence[Outcome] = (),
) -> Figures:
    """Return one row: a summary of each product's trials, and of the same networks as projects.

    `start` is the first seed. "unexpected" of a product lists what no known reason explains.
    """
    products = sorted({t.setting.accelerator.product for t in trials})
    return {
        "operator": operator,
        "dtype": dtype,
        "start": start,
        "products": {
            product: _of_product(
                [t for t in trials if t.setting.accelerator.product == product],
                [p for p in projects if p.setting.accelerator.product == product],
            )
            for product in products
        },
    }


def _of_product(trials: Sequence[Trial], projects: Sequence[Outcome]) -> Figures:
    unexpected = [
        *(text for trial in trials for text in trial.unexpected),
        *(
            f"{project.name} as a project: {text}"
            for project in projects
            for text in _wrong(project)
        ),
    ]
    return _product(trials) | {"projects": _projects(projects), "unexpected": unexpected}


def unexpected(row: Figures) -> list[str]:
    """Return the differences in a row without a known reason, for all products."""
    return [text for product in row["products"].values() for text in product["unexpected"]]


def _wrong(project: Outcome) -> Iterator[str]:
    """Yield a project's failure; a refusal or a missing oracle is not one."""
    if project.how in (DIFFERS, FAULT, CRASH):
        what = f"{project.how}: {project.why or project.comparison}"
        yield f"{what} on {project.setting}"


def _projects(projects: Sequence[Outcome]) -> Figures:
    compared = [p.comparison for p in projects if p.comparison is not None]
    return {
        "networks": len(compared),
        "elements": sum(c.elements for c in compared),
        "mismatches": sum(c.mismatches for c in compared),
        "largest": max((c.max_abs_diff for c in compared), default=0),
        "refused": sum(p.how == REFUSED for p in projects),
        "faults": sum(p.how in (FAULT, CRASH) for p in projects),
        "errata": sorted({name for p in projects for name in p.errata}),
    }


def _product(trials: Sequence[Trial]) -> Figures:
    left = collections.Counter(_shortly(t) for t in trials if t.where in ("cpu", "refused"))
    return {
        "networks": sum(t.where == "npu" for t in trials),
        "faults": sum(t.where == "fault" for t in trials),
        "crashes": sum(t.where == "crash" for t in trials),
        "not_on_npu": dict(left.most_common()),
        "oracles": {oracle: _oracle(oracle, trials) for oracle in ORACLES},
        "known": sorted({name for t in trials for names in t.known.values() for name in names}),
    }


def _shortly(trial: Trial) -> str:
    """Return the reason why a network did not run on the NPU, without case-specific parts."""
    text = trial.why.replace(f"'{trial.key}'", "the network")
    return text.split(" (Vela requires")[0].split(" IFM:")[0][:160]


def _oracle(oracle: str, trials: Iterable[Trial]) -> Figures:
    answers = [t.oracles[oracle] for t in trials if oracle in t.oracles]
    differences = [answer for answer in answers if isinstance(answer, Difference)]
    silent = [answer for answer in answers if isinstance(answer, str)]
    return {
        "networks": len(differences),
        "elements": sum(d.elements for d in differences),
        "mismatches": sum(d.mismatches for d in differences),
        "wrong_networks": sum(d.mismatches > 0 for d in differences),
        "largest": max((d.largest for d in differences), default=0),
        "silent": len(silent),
        "why_silent": silent[0][:120] if silent else "",
    }


def save(
    rows: Sequence[Figures], order: Sequence[tuple[str, str]], path: Path = RESULTS
) -> Figures:
    """Write rows, keep the file's other rows that are in `order`, and return all of them.

    If a row has the same networks as before, its figures for other products stay.
    """
    known = {(row["operator"], row["dtype"]): row for row in read(path)}
    for row in rows:
        name = row["operator"], row["dtype"]
        known[name] = _joined(known[name], row) if name in known else row
    results: Figures = {
        "versions": {package: version(package) for package in PACKAGES},
        "rows": [known[name] for name in order if name in known],
    }
    lines = ",\n".join(json.dumps(row) for row in results["rows"])  # a row a line, for the diff
    head = json.dumps(results["versions"])
    path.write_text(f'{{"versions": {head},\n"rows": [\n{lines}\n]}}\n')
    return results


def read(path: Path = RESULTS) -> list[Figures]:
    """Return the rows of a file, none if there is no file."""
    rows: list[Figures] = json.loads(path.read_text())["rows"] if path.exists() else []
    return rows


def _joined(old: Figures, new: Figures) -> Figures:
    if old["start"] != new["start"]:
        return new
    products = old["products"] | new["products"]
    return new | {"products": {name: products[name] for name in sorted(products)}}
