"""Compiles partitions, each content once."""

from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from ethosgen_relax.executor import Executor
from ethosgen_relax.question import content_of

_PLANS: dict[tuple[str, float, str, bool], Plan] = {}
"""Plans of this process, by executor, steps, content, and whether they were checked."""


def plan_of(network: Network, executor: Executor, check: bool) -> Plan:
    """Compile a network, or return its plan if it was compiled before.

    `check` compares it with the oracle on this machine. UnsupportedError if the plan cannot be made
    exact.
    """
    key = (executor.name, executor.steps, content_of(network), check)
    if key not in _PLANS:
        _PLANS[key] = executor.plan(network, check)
    return _PLANS[key]
