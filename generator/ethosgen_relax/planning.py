"""Compiles partitions, each content once."""

from ethosgen.flow import PlanSettings, make_plan
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen_relax.question import content_of

_PLANS: dict[tuple[str, str, bool], Plan] = {}
"""Plans of this process, by NPU, content, and whether they were checked."""


def plan_of(network: Network, accelerator: Accelerator, check: bool) -> Plan:
    """Compile a network, or return its plan if it was compiled before.

    `check` compares it with the oracle on the NPU model. UnsupportedError if the plan cannot be
    made exact.
    """
    key = (accelerator.name, content_of(network), check)
    if key not in _PLANS:
        settings = PlanSettings(accelerator, OffloadOptions(check=check))
        _PLANS[key] = make_plan(network, settings, Watch())
    return _PLANS[key]
