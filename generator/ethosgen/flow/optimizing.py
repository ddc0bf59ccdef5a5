"""The optimizer's place in the flow: between reading a network and planning it."""

from ethosgen.backend import is_compiled
from ethosgen.optimizer import Optimized, optimize
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch


def optimized_for(network: Network, options: OffloadOptions, watch: Watch) -> Optimized | None:
    """Return the network to plan instead of the one that was read, None to plan that one.

    What others compiled is used unchanged.
    """
    if not options.optimize or is_compiled(network):
        return None
    with watch.phase("optimize", "looking for what cannot change the outputs"):
        return optimize(network)
