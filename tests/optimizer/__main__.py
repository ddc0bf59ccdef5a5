"""Optimizes random networks and compares both versions: python -m tests.optimizer [COUNT] [SEED].

Exits with status 1 if an output differs, or an oracle refuses a changed network.
"""

import argparse
import random
import sys
from collections import Counter

from rich.console import Console

from tests.optimizer.soak import soak

console = Console(highlight=False, soft_wrap=True, markup=False)


def main() -> None:
    """Run networks, by default 1,000 from a seed that is drawn."""
    parser = argparse.ArgumentParser(prog="python -m tests.optimizer")
    parser.add_argument("count", nargs="?", type=int, default=1000, help="number of networks")
    parser.add_argument("seed", nargs="?", type=int, help="seed of the first [default: drawn]")
    arguments = parser.parse_args()
    count = arguments.count
    first = random.randrange(1 << 30) if arguments.seed is None else arguments.seed
    console.print(f"{count} networks from seed {first}")
    counts: Counter[str] = Counter()
    for seed in range(first, first + count):
        result = soak(seed)
        counts[result.partition(":")[0]] += 1
        if result.startswith("BAD"):
            console.print(f"{seed} {result}")
    console.print(", ".join(f"{number:,} {result}" for result, number in counts.most_common()))
    sys.exit(any(result.startswith("BAD") for result in counts))


if __name__ == "__main__":
    main()
