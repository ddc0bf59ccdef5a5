"""The corpus's command line; see the package's docstring."""

import argparse
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.corpus import cache, coverage, fields, page, results
from tests.corpus.damage import damage_keys
from tests.corpus.projects import Outcome, run_keys_as_projects
from tests.corpus.registry import GENERATORS, ROWS, products_of
from tests.corpus.settings import NPUS
from tests.corpus.shrink import describe, shrink
from tests.corpus.trial import Key, Trial, case_of, run_keys
from tests.support.pages import console, load

BATCH = 10
CASES = 20
FEW = 2
SEEDS = 10_000_000
"""The number of seeds from which a table draws its first."""

Figures = results.Figures
Row = tuple[str, str]


def main() -> None:
    """Run the given command; exit with status 1 on a difference without a known reason."""
    cache.use()
    arguments = _arguments()
    products = [arguments.product] if arguments.product else [*NPUS]
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
        case "coverage" if arguments.product == "u85":
            wanted = coverage.keys(arguments.cases if arguments.cases != CASES else FEW, "u85")
            fields.PAGE.write_text(fields.page(fields.count(wanted), len(wanted)))
            unexpected = []
        case "coverage":
            wanted = coverage.keys(arguments.cases if arguments.cases != CASES else FEW)
            coverage.PAGE.write_text(coverage.page(coverage.modes_of(wanted), len(wanted)))
            unexpected = []
        case "damage":
            unexpected = _damage(arguments, products)
        case "render":
            page.PAGE.write_text(page.page(load(results.RESULTS)))
            unexpected = []
        case _:
            unexpected = _run(arguments, products)
    for text in unexpected:
        console.print(f"unexpected: {text}", style="red", markup=False)
    sys.exit(1 if unexpected else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument(
        "command", choices=["table", "run", "one", "shrink", "render", "coverage", "damage"]
    )
    parser.add_argument("operator", nargs="?", help="one or several, comma-separated; default: all")
    parser.add_argument("dtype", nargs="?")
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--cases", type=int, default=CASES, help="networks for each row")
    parser.add_argument("--start", type=int, help="the first seed; default: 0; for table, random")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--product", choices=[*NPUS])
    parser.add_argument("--raw", action="store_true", help="run: leave out the column of projects")
    return parser.parse_args()


def _run(arguments: argparse.Namespace, products: Sequence[str]) -> list[str]:
    """Run rows; `table` draws different networks each time and writes the rows to the page."""
    is_table = arguments.command == "table"
    starts = _starts_of_rows(arguments)
    for start in sorted(set(starts.values())):
        console.print(f"seeds from {start}: --start {start} draws the same networks again")
    wanted = {
        (name, dtype): [Key(name, dtype, start + i) for i in range(arguments.cases)]
        for (name, dtype), start in starts.items()
    }
    unexpected: list[str] = []
    for (name, dtype), trials, projects in run(wanted, products, arguments):
        row = results.summarize(name, dtype, starts[name, dtype], trials, projects)
        _show(row)
        unexpected += results.unexpected(row)
        if is_table:  # after each row, so that an interrupted run loses none
            page.PAGE.write_text(page.page(results.save([row], ROWS)))
    if unexpected:
        console.print(
            "add the unexpected networks to tests/corpus/witnesses.py, and find their causes"
        )
    return unexpected


def _starts_of_rows(arguments: argparse.Namespace) -> dict[Row, int]:
    """Return each row's first seed; for a table of one product that of the page's networks."""
    start, old = arguments.start, {}
    if start is None:
        start = 0
        if arguments.command == "table":
            start = secrets.randbelow(SEEDS)
            if arguments.product:
                old = {(row["operator"], row["dtype"]): row["start"] for row in results.read()}
    return {row: old.get(row, start) for row in _wanted(arguments)}


def _damage(arguments: argparse.Namespace, products: Sequence[str]) -> list[str]:
    """Put wrong outputs into all networks with a known difference; return those that still pass."""
    start = arguments.start or 0
    keys = [Key(*row, start + i) for row in _wanted(arguments) for i in range(arguments.cases)]
    with ProcessPoolExecutor(arguments.jobs, initializer=cache.use) as pool:
        parts = [pool.submit(damage_keys, keys[i : i + BATCH], products) for i in _starts(keys)]
        answers = [part.result() for part in parts]
    console.print(f"{sum(count for count, _ in answers)} networks with a known difference")
    return [text for _, texts in answers for text in texts]


def _wanted(arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield the rows that the arguments select."""
    for name in arguments.operator.split(",") if arguments.operator else GENERATORS:
        for dtype in arguments.dtype.split(",") if arguments.dtype else GENERATORS[name][1]:
            yield name, dtype


def run(
    rows: Mapping[Row, Sequence[Key]], products: Sequence[str], arguments: argparse.Namespace
) -> Iterator[tuple[Row, list[Trial], list[Outcome]]]:
    """Run rows in several processes, each with its own oracles; yield them in order."""
    run_part = _run_raw if arguments.raw and arguments.command == "run" else _run_both
    if arguments.jobs == 1:
        for row, keys in rows.items():
            yield row, *run_part(keys, _taking(row, products))
        return
    with ProcessPoolExecutor(arguments.jobs, initializer=cache.use) as pool:
        waiting = {
            row: [
                pool.submit(run_part, keys[i : i + BATCH], _taking(row, products))
                for i in _starts(keys)
            ]
            for row, keys in rows.items()
        }
        for row, parts in waiting.items():
            both = [part.result() for part in parts]
            yield row, [t for trials, _ in both for t in trials], [p for _, ps in both for p in ps]


def _taking(row: Row, products: Sequence[str]) -> list[str]:
    return [product for product in products if product in products_of(*row)]


def _run_raw(keys: Sequence[Key], products: Sequence[str]) -> tuple[list[Trial], list[Outcome]]:
    """Run networks as Vela compiles them."""
    return run_keys(keys, products), []


def _run_both(keys: Sequence[Key], products: Sequence[str]) -> tuple[list[Trial], list[Outcome]]:
    """Run networks as Vela compiles them, and as ethosgen projects them."""
    return run_keys(keys, products), run_keys_as_projects(keys, products)


def _starts(keys: Sequence[Key]) -> range:
    return range(0, len(keys), BATCH)


def _show(row: Figures) -> None:
    text = f"{row['operator']:28} {row['dtype']:6}"
    for product, figures in row["products"].items():
        text += f" {product} {figures['networks']:4}"
        if figures["faults"] or figures["crashes"]:
            text += f" ({figures['faults']} faults, {figures['crashes']} crashes)"
        for oracle, counts in (*figures["oracles"].items(), ("project", figures["projects"])):
            text += f" {oracle} {counts['mismatches'] if counts['networks'] else '-':>7}"
    known = sorted({name for p in row["products"].values() for name in p["known"]})
    console.print(text, *known, markup=False)
    for unexpected in results.unexpected(row)[:4]:
        console.print(f"    {unexpected}", style="red", markup=False)


if __name__ == "__main__":
    main()
