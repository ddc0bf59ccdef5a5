"""The optimizer: fewer products and weights, with every bit of the outputs unchanged.

It works on the network as read, before anything is planned. REWRITES is the only list of its
rewrites.
"""

from ethosgen.optimizer.optimizer import Optimized, optimize

__all__ = ["Optimized", "optimize"]
