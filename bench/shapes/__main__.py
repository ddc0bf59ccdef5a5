"""The command line; see the package's docstring."""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.command import Figures
from bench.shapes import data, ours, page, spot
from bench.shapes.all import TYPES, cases
from bench.shapes.data import COLUMNS
from tests.support.pages import tell


def main() -> int:
    """Measure, merge or render; write the results."""
    arguments = _arguments()
    if arguments.networks:
        export(arguments.networks, arguments.seed)
        return 0
    if arguments.spot:
        return 0 if spot.show(print) else 1
    results = data.load()
    for path in arguments.theirs:
        data.add_theirs(results, json.loads(path.read_text()))
    if arguments.seed is not None:
        sys.stderr.write(f"drawn afresh by --seed {arguments.seed}\n")
        data.draw_afresh(results, arguments.seed)
    if not arguments.render and not arguments.theirs:
        measure(results, arguments.core, arguments.type, arguments.only, arguments.seed)
    data.store(results)
    page.write(results)
    return tell(
        [
            f"{row.name}, {core}: {figure.mismatches} of {figure.elements} differ"
            for row in data.rows(results)
            for core in ours.CORES
            if (figure := row.figure(core, data.OURS))
            and (figure.mismatches or not figure.elements)
        ]
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.shapes")
    parser.add_argument(
        "--core", nargs="+", choices=(*ours.CORES, *ours.OTHER_CORES), default=ours.CORES
    )
    parser.add_argument("--type", nargs="+", choices=TYPES, default=TYPES)
    parser.add_argument("--only", default="", help="measure the cases whose names contain this")
    parser.add_argument(
        "--spot", action="store_true", help="compare a layer of each family with its stored figures"
    )
    parser.add_argument("--render", action="store_true", help="write the page from the JSON file")
    parser.add_argument(
        "--fresh",
        dest="seed",
        action="store_const",
        const=random.randrange(1, 1 << 16),
        help="measure layers that are drawn afresh, in place of those of the last draw",
    )
    parser.add_argument("--seed", type=int, help="the same, to repeat a draw or to go on with it")
    parser.add_argument("--networks", type=Path, help="write the layers and their inputs there")
    parser.add_argument(
        "--theirs", type=Path, nargs="+", default=[], help="take over another firmware's figures"
    )
    return parser.parse_args()


def measure(
    results: Figures,
    cores: Sequence[str],
    types: Sequence[str],
    only: str = "",
    seed: int | None = None,
) -> None:
    """Measure our kernels; the results are stored after each type."""
    for core in cores:
        for dtype in types:
            some = [case for case in cases(dtype, seed=seed) if only in case.name]
            sys.stderr.write(f"{core}, {dtype}: {len(some)} layers\n")
            for case, figures in zip(some, ours.measure(some, core), strict=True):
                data.add_ours(results, case, core, figures)
            data.store(results)


def export(folder: Path, seed: int | None = None) -> None:
    """Write each case as NUMBER.tflite, its samples as NUMBER.bin, and index.json.

    A sample is the bytes of its inputs, one after another; the samples follow each other. Another
    firmware runs them in order, counts the last one, and writes for `--theirs`: `core`, `whose`
    (cmsis-nn or reference), `how` (a sentence: versions, flags), `empty` (the figures of a network
    that does nothing), `code` (by operator the bytes that the linker takes for it) and `cases`,
    by name the columns of `index.json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    some = cases(seed=seed)
    for layer in ours.write(some, folder):
        network = layer.network
        inputs = [
            sample[tensor.name].tobytes()
            for sample in ours.samples_of(network)
            for tensor in network.inputs
        ]
        layer.path.with_suffix(".bin").write_bytes(b"".join(inputs))
    index = {"columns": COLUMNS, "samples": ours.SAMPLES, "cases": [case.name for case in some]}
    (folder / "index.json").write_text(json.dumps(index, indent=1))


if __name__ == "__main__":
    sys.exit(main())
