"""Measures the front ends: `python -m bench.frontends [ONNX]` writes evidence/frontends.md.

Figures are kept in evidence/frontends.json, so that each suite of `frontend_suites` can be measured
where its runtime is installed.
"""

import argparse
import logging
import sys
from collections.abc import Sequence

from bench.frontend_page import page
from bench.frontend_suites import SUITES, Figures, Suite
from tests.support.pages import EVIDENCE, load, store

RESULTS, PAGE = EVIDENCE / "frontends.json", EVIDENCE / "frontends.md"
PARTS = ("networks", "operators")


def measured(suite: Suite, parts: Sequence[str] = PARTS) -> dict[str, list[Figures]]:
    """Measure parts of a suite, telling each row on stderr."""
    figures: dict[str, list[Figures]] = {}
    for part in parts:
        figures[part] = []
        for row in {"networks": suite.networks, "operators": suite.operators}[part]():
            sys.stderr.write(f"{suite.title} {row['name']} {row['setting']}\n")
            figures[part].append(row)
    return figures


def main() -> None:
    """Measure, and write the page."""
    logging.disable(logging.WARNING)
    titles = [suite.title for suite in SUITES]
    parser = argparse.ArgumentParser(prog="python -m bench.frontends")
    parser.add_argument("suites", nargs="*", help=f"what to measure of {', '.join(titles)}; all")
    parser.add_argument("--only", choices=PARTS, help="measure these alone, keep the others")
    parser.add_argument("--render", action="store_true", help="write the page from the JSON file")
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(titles)
    if unknown:
        parser.error(f"no suite is named {', '.join(sorted(unknown))}; there are {titles}")
    for suite in SUITES:
        if not arguments.render and suite.title in (arguments.suites or titles):
            figures = measured(suite, (arguments.only,) if arguments.only else PARTS)
            results = load(RESULTS, {})
            results[suite.title] = results.get(suite.title, {}) | figures
            results = {title: results[title] for title in titles if title in results}
            store(RESULTS, results)
    PAGE.write_text(page(load(RESULTS)))


if __name__ == "__main__":
    main()
