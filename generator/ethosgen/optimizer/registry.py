"""The rewrites, in the order in which they are tried."""

from ethosgen.optimizer.rewrites import Rewrite

REWRITES: list[Rewrite] = []
