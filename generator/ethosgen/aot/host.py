"""The residual graph on this machine: partitions through a callback, CPU operators through LLVM."""

from collections.abc import Callable

from ethosgen.outcome import Arrays
from ethosgen.plan import OffloadPlan, Partition


def evaluate(
    plan: OffloadPlan, inputs: Arrays, invoke: Callable[[Partition, Arrays], Arrays]
) -> Arrays:
    """Run a plan; see `ethosgen.aot.evaluate`."""
    raise NotImplementedError
