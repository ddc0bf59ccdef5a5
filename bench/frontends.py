"""Measures the front ends: `python -m bench.frontends [ONNX] [--render]` writes docs/frontends.md.

A front end adds a `Suite` to SUITES: a function that yields the figures of its operators, one that
yields those of whole networks. Figures are kept in docs/frontends.json, so that each suite can be
measured where its runtime is installed.
"""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.markdown import table
from tests import ROOT

RESULTS = ROOT / "docs" / "frontends.json"
PAGE = ROOT / "docs" / "frontends.md"

Figures = dict[str, Any]
Measure = Callable[[], Iterator[Figures]]


@dataclass(frozen=True)
class Suite:
    """What is measured of one front end; `about` is a paragraph for the page."""

    title: str
    runtime: str
    about: str
    operators: Measure
    networks: Measure


def figures(trial: Any, setting: str, known: str = "") -> Figures:
    """Return a trial of `tests.support.onnx_trials` as JSON."""
    fidelity = trial.fidelity
    return {
        "name": trial.name,
        "setting": setting,
        "elements": trial.elements,
        "mismatches": trial.npu + trial.cpu,
        "oracle": trial.oracle,
        "equal": fidelity.equal,
        "by_one": fidelity.by_one,
        "most": round(fidelity.most_steps, 1),
        "on_npu": trial.on_npu,
        "on_cpu": sorted({text.split(":")[0] for text in trial.on_cpu}),
        "known": known,
        "rows": fidelity.rows,
        "same_largest": fidelity.same_largest + fidelity.close_largest,
    }


def _onnx_operators() -> Iterator[Figures]:
    from tests.support.onnx_operators import ROWS
    from tests.support.onnx_trials import KNOWN, row_trial, settings_of

    for name in ROWS:
        for setting in settings_of(name):
            with tempfile.TemporaryDirectory() as folder:
                trial = row_trial(name, setting, Path(folder))
            yield figures(trial, setting, KNOWN.get((name, setting), (0, ""))[1])


def _onnx_networks() -> Iterator[Figures]:
    from tests.support.onnx_files import NETWORKS
    from tests.support.onnx_trials import KNOWN, network_trial

    for name in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            trial = network_trial(name, Path(folder))
        yield figures(trial, "int8", KNOWN.get((name, "int8"), (0, ""))[1])


SUITES: list[Suite] = [
    Suite(
        "ONNX",
        "ONNX Runtime",
        "Networks in QDQ form, quantized by onnxruntime's quantize_static. Weights are int8 per "
        "channel unless the row says otherwise; several shapes a row. ONNX Runtime runs without "
        "graph optimizations: they round once more or less than the file says.",
        _onnx_operators,
        _onnx_networks,
    ),
]

_HEAD = ["operator", "type", "elements", "mismatches", "equal", "one step", "most", "on the NPU"]


def page(results: Mapping[str, Any]) -> str:
    """Return docs/frontends.md."""
    lines = [
        "# Front ends",
        "",
        "Two verdicts for each operator and network. Exactness: elements that differ between the "
        "plan on the NPU model (Ethos-U55-128) or the CPU alone and the oracle, TensorFlow Lite "
        "Micro or, where it lacks an operator, LiteRT; it must be 0. Fidelity: elements equal to "
        "those of the format's own runtime, which computes the quantized network in float, those "
        "that differ by one step of the output, and the largest difference in steps. The last "
        "column counts operators on the NPU. `python -m bench.frontends` measures it.",
    ]
    for suite in SUITES:
        found = results.get(suite.title)
        if found:
            lines += ["", f"## {suite.title}", "", suite.about, "", *_tables(found)]
    return "\n".join(lines) + "\n"


def _tables(found: Mapping[str, Any]) -> list[str]:
    causes = sorted(
        {f"{one['name']} in {one['setting']}: {one['known']}."
         for part in found.values() for one in part if one["known"] and one["most"] >= 1.5}
    )  # fmt: skip
    lines = [table(_HEAD, [_cells(one) for one in found["operators"]])]
    head = ["network", *_HEAD[1:], "same largest", "on the CPU"]
    rows = [
        [*_cells(one), f"{one['same_largest']} of {one['rows']}", ", ".join(one["on_cpu"])]
        for one in found["networks"]
    ]
    lines += ["", "### Whole networks", "", table(head, rows)]
    if causes:
        lines += ["", "Differences above one step, and their causes:", ""]
        lines += [f"- {cause}" for cause in causes]
    return lines


def _cells(one: Figures) -> list[str]:
    share = one["equal"] / one["elements"]
    return [
        one["name"],
        one["setting"],
        f"{one['elements']:,}",
        str(one["mismatches"]),
        f"{share:.1%}",
        f"{one['by_one'] / one['elements']:.1%}",
        f"{one['most']:g}",
        str(one["on_npu"]),
    ]


def measured(suite: Suite) -> dict[str, list[Figures]]:
    """Measure a suite, telling each row on stderr."""
    made: dict[str, list[Figures]] = {"operators": [], "networks": []}
    for part, measure in (("networks", suite.networks), ("operators", suite.operators)):
        for one in measure():
            sys.stderr.write(f"{suite.title} {one['name']} {one['setting']}\n")
            made[part].append(one)
    return made


def main() -> None:
    """Measure, and write the page."""
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(prog="python -m bench.frontends")
    parser.add_argument("suites", nargs="*", help="the front ends to measure; all by default")
    parser.add_argument("--render", action="store_true", help="write the page from the JSON file")
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for suite in SUITES:
        if not arguments.render and suite.title in (arguments.suites or [suite.title]):
            results[suite.title] = measured(suite)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
