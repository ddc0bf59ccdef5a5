"""The cost of several networks in one firmware, compared with the cost of each alone."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.command import report


def measure(models: Sequence[Path]) -> dict[str, Any]:
    """Run `ethosgen verify A B … --json` and return its object; RuntimeError if there is none."""
    return report("verify", *models, "--board", "corstone300")


def lines(answer: Mapping[str, Any], alone: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the figures as text; `alone` has the bench's figures for the same networks."""
    library = answer["library_bytes"]["code"] + answer["library_bytes"]["constants"]
    libraries = [network["library_flash_bytes"] for network in alone]
    arenas = [network["arena_bytes"] for network in alone]
    names = ", ".join(network["model"] for network in answer["networks"])
    verdict = "" if library < 2 * max(libraries) else "   MISSED"
    return [
        f"Together in one firmware, {names}:",
        f"  outputs that differ  {answer['mismatches']}",
        f"  library {library:>7,} B   (under {2 * max(libraries):,}, twice one; alone "
        f"{' + '.join(f'{size:,}' for size in libraries)}){verdict}",
        f"  arena   {answer['shared_bytes']['arena']:>7,} B   (alone "
        f"{' + '.join(f'{size:,}' for size in arenas)})",
    ]


def show(
    models: Sequence[Path], figures: Sequence[Mapping[str, Any]], say: Callable[[str], None]
) -> bool:
    """Measure and print; return True if no output differs and the library is small enough."""
    alone = {network["name"]: network for network in figures}
    chosen = [model for model in models if model.stem in alone]
    if len(chosen) < 2:
        say("several networks together were not measured: there is only one")
        return True
    told = lines(measure(chosen), [alone[model.stem] for model in chosen])
    for line in told:
        say(line)
    return not any("MISSED" in line for line in told) and told[1].endswith(" 0")
