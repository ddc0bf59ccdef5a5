"""Optimizes random networks and compares both versions: python -m tests.optimizer [COUNT] [START].

Exits with status 1 if an output differs, or an oracle refuses a changed network.
"""

import random
import sys
from collections import Counter

from rich.console import Console

from tests.optimizer.soak import soak

console = Console(highlight=False, soft_wrap=True, markup=False)


def main() -> None:
    """Run COUNT networks from seed START, by default 1,000 from a seed that is drawn."""
    count, start = (int(word) for word in [*sys.argv[1:], *("1000", "-1")[len(sys.argv) - 1 :]])
    first = random.randrange(1 << 30) if start < 0 else start
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
