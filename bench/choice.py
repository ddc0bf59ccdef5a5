"""Measures who is the fastest on QEMU: our kernels, an accelerator, or the choice between them.

    CMSIS_NN_PATH=… .venv/bin/python -m bench.choice     # writes evidence/choice.json and .md
    .venv/bin/python -m bench.choice --only matrix-engine       # these runs, the others are kept
    .venv/bin/python -m bench.choice --only layers              # the errors of estimates
    .venv/bin/python -m bench.choice --render                   # only the page

The networks are those of the bench, all in one firmware for each run. Exit status 1 if a choice is
slower than one of its alternatives, or an output differs.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import estimates
from bench.choice_page import LAYERS, NPU, PAGE, RESULTS, TABLES, misses, page
from bench.command import Figures, report
from bench.layers import board_without_helium
from bench.measure import networks
from tests.support.eager_accelerator import eager_copy
from tests.support.pages import load, store, tell

SAMPLES = 2


@dataclass(frozen=True)
class Run:
    """One firmware with all networks; `key` names it in the results."""

    key: str
    accelerator: str = ""
    npu: str = "none"
    offload: str = "all"
    has_helium: bool = True
    is_eager: bool = False

    def options(self, place: Path) -> list[object]:
        """Return the options of `ethosgen verify`."""
        board = "corstone300" if self.has_helium else board_without_helium(place)
        used = eager_copy(self.accelerator, place) if self.is_eager else self.accelerator
        chosen = ["--accelerator", used] if self.accelerator else []
        return ["--board", board, "--npu", self.npu, "--offload", self.offload, *chosen]


def runs() -> list[Run]:
    """Return all runs that the tables compare."""
    cmsis, engine = "cmsis-nn", "matrix-engine"
    return [
        Run("cpu"),
        Run("cmsis-nn", cmsis, is_eager=True),
        Run("cmsis-nn auto", cmsis, offload="auto"),
        Run("m33", has_helium=False),
        Run("m33 cmsis-nn", cmsis, has_helium=False, is_eager=True),
        Run("m33 cmsis-nn auto", cmsis, offload="auto", has_helium=False),
        Run("matrix-engine", engine),
        Run("matrix-engine auto", engine, offload="auto"),
        Run("npu", npu=NPU),
        Run("npu auto", npu=NPU, offload="auto"),
        Run("npu cmsis-nn", cmsis, npu=NPU, is_eager=True),
        Run("npu cmsis-nn auto", cmsis, npu=NPU, offload="auto"),
        Run("npu matrix-engine", engine, npu=NPU),
        Run("npu matrix-engine auto", engine, npu=NPU, offload="auto"),
    ]


def measure(run: Run, models: Sequence[Path]) -> dict[str, Figures]:
    """Run one firmware; return the figures of each network."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-choice-") as folder:
        answer = report("verify", *models, "--samples", SAMPLES, *run.options(Path(folder)))
    return {network["model"]: figures(network) for network in answer["networks"]}


def figures(answer: Mapping[str, Any]) -> Figures:
    """Return the cycles of one inference: counted instructions, and devices' as estimated."""
    own = {accelerator["name"] for accelerator in answer["accelerators"]}
    taken = [(placing["on"], _offer(placing)) for placing in answer["operators"]]
    device = sum(offer["cycles"] or 0 for on, offer in taken if on in own - {"cmsis-nn"})
    compared = answer["oracles"]["tflm"]
    return {
        "instructions": answer["cpu_instructions"],
        "npu_cycles": answer["npu_cycles_estimate"] or 0,
        "device_cycles": device,
        "operators": {name: sum(on == name for on, _ in taken) for name, _ in taken},
        "mismatches": compared["mismatches"],
        "elements": compared["elements"],
    }


def _offer(placing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the offer of the one that has an operator."""
    none: Mapping[str, Any] = {"cycles": None}
    return next((offer for offer in placing["offers"] if offer["backend"] == placing["on"]), none)


def _chosen(only: Iterable[str]) -> list[Run]:
    wanted = set(only)
    return [run for run in runs() if not wanted or run.key in wanted or run.accelerator in wanted]


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.choice")
    parser.add_argument("--only", nargs="+", default=[], help="accelerators, or keys of runs")
    parser.add_argument("--render", action="store_true", help="write the page from the JSON file")
    arguments = parser.parse_args()
    results = load(RESULTS, {"runs": {}})
    for run in [] if arguments.render else _chosen(arguments.only):
        sys.stderr.write(f"{run.key}\n")
        results["runs"][run.key] = measure(run, networks())
        store(RESULTS, results)
    if not arguments.render and (not arguments.only or LAYERS in arguments.only):
        results[LAYERS] = list(estimates.measure())
    store(RESULTS, results)
    PAGE.write_text(page(results))
    return tell(misses(results, TABLES))


if __name__ == "__main__":
    sys.exit(main())
