"""Prints where a network's cycles are on a processor: by function, and its hottest blocks.

    .venv/bin/python -m bench.cycles NETWORK                      # all on the Cortex-M55
    .venv/bin/python -m bench.cycles PROJECT --blocks 20          # a project, which is built
    .venv/bin/python -m bench.cycles PROJECT --compiler clang-19
    .venv/bin/python -m bench.cycles --layer "6x6x192" --type int8 --core cortex-m33

A network is compiled with `--npu none` for corstone300, run on QEMU with random inputs, and its
second inference counted. Needs Debian's llvm-19 beside QEMU. ethosgen/cycles/models.py has the
assumptions.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.compilers import built
from bench.layers import Firmware, Layer, board_of, firmwares
from bench.products import products
from bench.shapes import ours
from bench.shapes.all import TYPES, cases
from ethosgen.cycles.code import read_code
from ethosgen.cycles.costs import BlockCost, CodeCost
from ethosgen.cycles.models import model_of
from ethosgen.cycles.timing import BlockTimer
from ethosgen.project import open_project
from ethosgen.values.errors import EthosgenError
from tests.support.pages import console, table

SHOWN = 8


def main() -> int:
    """Measure and print."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="ethosgen-cycles-") as name:
        folder = Path(name)
        try:
            for firmware in _firmwares(arguments, folder):
                _show(firmware, arguments, folder)
        except (EthosgenError, RuntimeError) as error:
            sys.stderr.write(f"{error}\n")
            return 2
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cycles", description=__doc__.split("\n")[0] if __doc__ else None
    )
    parser.add_argument("path", nargs="?", type=Path, help="a network's file, or a project")
    parser.add_argument("--layer", help="layers of bench.shapes whose names contain this")
    parser.add_argument("--type", choices=TYPES, default=TYPES[0], help="their type")
    parser.add_argument("--core", choices=(*ours.CORES, *ours.OTHER_CORES), default=ours.CORES[0])
    parser.add_argument("--compiler", metavar="CLANG", help="compile a project by it, not by GCC")
    parser.add_argument("--blocks", type=int, default=SHOWN, help="the hottest blocks to show")
    arguments = parser.parse_args()
    if (arguments.path is None) == (arguments.layer is None):
        parser.error("name a network, a project, or a layer by --layer")
    if arguments.compiler and not (arguments.path and arguments.path.is_dir()):
        parser.error("--compiler is for a project")
    return arguments


def _firmwares(arguments: argparse.Namespace, folder: Path) -> Iterator[Firmware]:
    if arguments.path is not None and arguments.path.is_dir():
        compiled = built(arguments.path, arguments.compiler)
        info = open_project(arguments.path)
        yield Firmware([Layer(arguments.path / info.network.source, "")], compiled, info)
        return
    if arguments.path is not None:
        layers = [Layer(arguments.path, "")]
    else:
        some = [case for case in cases(arguments.type) if arguments.layer in case.name]
        layers = ours.write(some, folder)
    board = ours.BOARD if arguments.core == ours.CORES[0] else board_of(folder, arguments.core)
    yield from firmwares(layers, board, "--npu", "none")


def _show(firmware: Firmware, arguments: argparse.Namespace, folder: Path) -> None:
    model = model_of(firmware.core)
    timer, code = BlockTimer(model), read_code(firmware.built.elf, model)
    for counted in ours.run_counted(firmware, folder):
        cost = ours.checked_cost(counted.count, code, timer)
        for text in _page(counted, cost, timer.model.title, arguments.blocks):
            console.print(text, markup=False)


def _page(counted: ours.Counted, cost: CodeCost, title: str, shown: int) -> Iterator[str]:
    network, count = counted.network, counted.count
    macs = products(network.graph, network.graph.operators)
    each = f", {cost.cycles / macs:.3f} for a product" if macs else ""
    yield f"{network.name}: {cost.cycles:,.0f} cycles by {title}{each}"
    yield (
        f"{count.instructions:,} instructions, {count.loaded_bytes:,} bytes loaded "
        f"({count.constant_bytes:,} of them constants), {count.stored_bytes:,} stored\n"
    )
    rows = [
        [
            function.name,
            f"{function.cycles:,.0f}",
            f"{function.cycles / cost.cycles:.1%}",
            f"{function.instructions:,}",
            f"{function.cycles / function.instructions:.2f}",
        ]
        for function in cost.functions()
        if function.cycles >= cost.cycles / 1000
    ]
    yield table(["function", "cycles", "share", "instructions", "cycles each"], rows)
    yield ""
    for block in cost.hottest(shown):
        yield "\n".join((*_block(block, cost), ""))


def _block(block: BlockCost, cost: CodeCost) -> Iterator[str]:
    yield (
        f"{block.function}, {block.block[0]:#x}: {block.times:,} times "
        f"{block.cycles / block.times:.2f} cycles, {block.cycles / cost.cycles:.1%}"
    )
    yield from (f"    {line.text}" for line in block.lines)


if __name__ == "__main__":
    sys.exit(main())
