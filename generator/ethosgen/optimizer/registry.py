"""The rewrites, in the order in which they are tried."""

from ethosgen.optimizer.dead.channels import DEAD_CHANNELS
from ethosgen.optimizer.rewrites import Rewrite

REWRITES: list[Rewrite] = [DEAD_CHANNELS]
