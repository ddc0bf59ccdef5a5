"""The corpus's command line; see the package's docstring."""

import argparse
import collections
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from corpus.registry import GENERATORS
from corpus.settings import PRODUCTS
from corpus.trial import Key, Trial, run_keys

BATCH = 20


def main() -> None:
    """Run the command that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m corpus", description=__doc__)
    parser.add_argument("command", choices=["run", "one"])
    parser.add_argument("operator", nargs="?")
    parser.add_argument("dtype", nargs="?")
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--product", choices=[*PRODUCTS])
    arguments = parser.parse_args()
    products = [arguments.product] if arguments.product else [*PRODUCTS]
    if arguments.command == "one":
        one(Key(arguments.operator, arguments.dtype, arguments.seed), products)
        return
    names = arguments.operator.split(",") if arguments.operator not in (None, "all") else GENERATORS
    for name in names:
        for dtype in arguments.dtype.split(",") if arguments.dtype else GENERATORS[name][1]:
            keys = [Key(name, dtype, arguments.start + i) for i in range(arguments.cases)]
            report(name, dtype, [*run(keys, products, arguments.jobs)])


def run(keys: Sequence[Key], products: Sequence[str], jobs: int) -> Iterator[Trial]:
    """Run cases on several processes."""
    batches = [keys[i : i + BATCH] for i in range(0, len(keys), BATCH)]
    if jobs == 1 or len(batches) == 1:
        for batch in batches:
            yield from run_keys(batch, products)
        return
    with ProcessPoolExecutor(jobs) as pool:
        for trials in pool.map(run_keys, batches, [products] * len(batches)):
            yield from trials


def report(name: str, dtype: str, trials: Sequence[Trial]) -> None:
    counts = collections.Counter(t.where for t in trials)
    text = []
    for oracle in ("tflm", "litert"):
        found = [t for t in trials if oracle in t.oracles]
        bad = [
            t
            for t in found
            if not isinstance(t.oracles[oracle], str) and t.oracles[oracle].mismatches
        ]
        no = [t for t in found if isinstance(t.oracles[oracle], str)]
        worst = max((t.oracles[oracle].largest for t in bad), default=0)
        text.append(
            f"{oracle} {len(bad)}bad/{len(found) - len(no)} max {worst}"
            + (f" none {len(no)}: {no[0].oracles[oracle][:110]!r}" if no else "")
        )
    print(f"{name:24} {dtype:6} {dict(counts)} {' | '.join(text)}", flush=True)
    seen = collections.Counter()
    for t in trials:
        for o, d in t.oracles.items():
            if not isinstance(d, str) and d.mismatches:
                seen[o] += 1
                if seen[o] <= 3:
                    print(f"   {o} {t.key.seed} {t.setting}: {d}")
        if t.where in ("fault", "crash", "refused", "cpu"):
            seen[t.where, t.why[:60]] += 1
            if seen[t.where, t.why[:60]] == 1:
                print(f"   {t.where} {t.key.seed} {t.setting}: {t.why[-400:]}")


def one(key: Key, products: Sequence[str]) -> None:
    for t in run_keys([key], products):
        print(t)


if __name__ == "__main__":
    main()
