"""The corpus's command line; see the package's docstring."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console

from corpus import cache, coverage, page, results
from corpus.registry import GENERATORS, ROWS
from corpus.settings import PRODUCTS
from corpus.shrink import describe, shrink
from corpus.trial import Key, Trial, case_of, run_keys

BATCH = 15
CASES = 20
FEW = 2

console = Console(highlight=False, soft_wrap=True)

Figures = results.Figures


def main() -> None:
    """Run the command that was asked for; status 1 if something differs without a known reason."""
    cache.use()
    arguments = _arguments()
    products = [arguments.product] if arguments.product else [*PRODUCTS]
    match arguments.command:
        case "one":
            key = Key(arguments.operator, arguments.dtype, arguments.seed)
            console.print(describe(case_of(key).data))
            trials = run_keys([key], products)
            for trial in trials:
                console.print(trial)
            unexpected = [text for trial in trials for text in trial.unexpected]
        case "shrink":
            unexpected = shrink(arguments.operator, arguments.dtype, products[0], arguments.cases)
        case "coverage":
            wanted = coverage.keys(arguments.cases if arguments.cases != CASES else FEW)
            coverage.PAGE.write_text(coverage.page(coverage.modes_of(wanted), len(wanted)))
            unexpected = []
        case "render":
            page.PAGE.write_text(page.page(json.loads(results.RESULTS.read_text())))
            unexpected = []
        case _:
            unexpected = _run(arguments, products)
    for text in unexpected:
        console.print(f"unexpected: {text}", style="red", markup=False)
    sys.exit(1 if unexpected else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m corpus", description=__doc__)
    parser.add_argument("command", choices=["table", "run", "one", "shrink", "render", "coverage"])
    parser.add_argument("operator", nargs="?", help="one or several, with commas; default: all")
    parser.add_argument("dtype", nargs="?")
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--cases", type=int, default=CASES, help="networks for each row")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--product", choices=[*PRODUCTS])
    return parser.parse_args()


def _run(arguments: argparse.Namespace, products: Sequence[str]) -> list[str]:
    """Run rows; `table` writes them to the page, where others stay as they are."""
    rows = []
    for name, dtype in _wanted(arguments):
        keys = [Key(name, dtype, arguments.start + i) for i in range(arguments.cases)]
        row = results.summarize(name, dtype, [*run(keys, products, arguments.jobs)])
        _show(row)
        rows.append(row)
        if arguments.command == "table":  # each at once, so that what is ended early is not lost
            results.save([row], ROWS)
    unexpected = [text for row in rows for text in row["unexpected"]]
    if arguments.command == "table":
        saved = results.save(rows, ROWS)
        page.PAGE.write_text(page.page(saved))
    return unexpected


def _wanted(arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield the rows that were asked for."""
    for name in arguments.operator.split(",") if arguments.operator else GENERATORS:
        for dtype in arguments.dtype.split(",") if arguments.dtype else GENERATORS[name][1]:
            yield name, dtype


def run(keys: Sequence[Key], products: Sequence[str], jobs: int) -> Iterator[Trial]:
    """Run cases on several processes."""
    batches = [keys[i : i + BATCH] for i in range(0, len(keys), BATCH)]
    if jobs == 1 or len(batches) == 1:
        for batch in batches:
            yield from run_keys(batch, products)
        return
    with ProcessPoolExecutor(jobs, initializer=cache.use) as pool:
        for trials in pool.map(run_keys, batches, [products] * len(batches)):
            yield from trials


def _show(row: Figures) -> None:
    text = f"{row['operator']:28} {row['dtype']:6}"
    for product, figures in row["products"].items():
        text += f" {product} {figures['networks']:4}"
        if figures["faults"] or figures["crashes"]:
            text += f" ({figures['faults']} faults, {figures['crashes']} crashes)"
        for oracle, found in figures["oracles"].items():
            text += f" {oracle} {found['mismatches'] if found['networks'] else '-':>7}"
    known = sorted({name for p in row["products"].values() for name in p["known"]})
    console.print(text, *known, markup=False)
    for unexpected in row["unexpected"][:4]:
        console.print(f"    {unexpected}", style="red", markup=False)


if __name__ == "__main__":
    main()
