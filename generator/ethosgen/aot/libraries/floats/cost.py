"""The cycles of the float kernels, as counted on QEMU's mps3-an547, with Helium and without it.

Without Helium they are those of a Cortex-M33's floating-point unit.
"""

from dataclasses import dataclass

from ethosgen.values.multiples import pieces


@dataclass(frozen=True)
class Figures:
    """The instructions of one form of the kernels for rows times weights.

    For a tile of 4 rows: a fixed number, and more for 4 channels and for a product of each of
    these. The same for a single row. Those for each float copied to a strip.
    """

    tile: tuple[float, float, float]
    row: tuple[float, float, float]
    copied: float


HELIUM = Figures((68, 57, 11.5), (15, 18, 3.75), 0.8)
IN_C = Figures((50, 210, 35.5), (40, 75, 10.0), 2.5)

CALL = 45
STRIP = 60
"""For each strip, and for each of its rows half as much."""


def rows(by: Figures, count: int, depth: int, channels: int) -> float:
    """Return the estimate for rows times weights."""
    blocks, (tiles, rest) = pieces(channels, 4), divmod(count, 4)
    if rest > 1 and tiles:
        tiles, rest = tiles + 1, 0

    def run(figures: tuple[float, float, float]) -> float:
        once, block, product = figures
        return once + blocks * (block + product * depth)

    return CALL + tiles * run(by.tile) + rest * run(by.row)


def strips(
    by: Figures, outputs: list[int], lines: int, line: int, matrix: tuple[int, int]
) -> float:
    """Return the estimate for a column of outputs.

    `outputs` are those of each strip; the strips have `lines` rows of `line` floats in all.
    """
    depth, channels = matrix
    products = sum(STRIP + rows(by, count, depth, channels) for count in outputs)
    return STRIP + products + lines * (STRIP / 2 + by.copied * line)
