"""The bench's command line; see the package's docstring."""

import argparse
import sys
from typing import Any

from rich.console import Console

from bench import footprint, tables, together
from bench.measure import DEMO, MODELS, PARTS, measure, measure_part
from bench.shapes import spot
from tests.support.pages import console, load


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure ethosgen and check its limits."
    )
    parser.add_argument("--render", action="store_true", help="write the tables from bench.json")
    parser.add_argument("--only", choices=PARTS, help="measure this part of bench.json")
    arguments = parser.parse_args()
    try:
        results = load(tables.RESULTS) if arguments.render or arguments.only else measure()
        if arguments.only:
            results = measure_part(results, arguments.only)
    except RuntimeError as error:
        Console(stderr=True, soft_wrap=True).print(str(error), markup=False)
        return 2
    console.print(tables.page(results), markup=False)
    if arguments.render or MODELS.is_dir():
        tables.write(results)
        console.print(f"written: {tables.RESULTS}, {tables.PAGE}, {tables.README}")
    else:
        console.print(f"not written: {MODELS} does not exist, so these are only the demo's figures")
    missed = tables.misses(results)
    for sentence in missed:
        console.print(f"MISSED  {sentence}")
    fits = arguments.render or arguments.only or _show_footprints(results)
    return 1 if missed or not fits else 0


def _show_footprints(results: dict[str, Any]) -> bool:
    """Print the figures that no table has: Zephyr's footprint, several networks, single layers."""

    def say(text: str) -> None:
        console.print(text, markup=False)

    kws = next((m for m in sorted(MODELS.glob("kws*.tflite"))), DEMO)
    several = [*sorted(MODELS.glob("kws*.tflite")), *sorted(MODELS.glob("hello*.tflite")), DEMO]
    zephyr = footprint.show(kws, say)
    fits = together.show(several, results["models"], say) and zephyr
    return spot.show(say) and fits


sys.exit(main())
