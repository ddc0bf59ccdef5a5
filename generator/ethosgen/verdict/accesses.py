"""Checks that a plan accesses only its own memory."""

from ethosgen.backend import simulation_of
from ethosgen.values.errors import NpuFault, UnsupportedError
from ethosgen.values.plan import Plan


def access_fault(plan: Plan) -> str:
    """Return the first access outside a plan's memories, "" if there is none, or no NPU model."""
    if not plan.partitions or plan.accelerator is None or not plan.accelerator.has_simulator:
        return ""
    try:
        simulation_of(plan.accelerator).runner(plan).check_accesses()
    except NpuFault as fault:
        return str(fault)
    return ""


def require_within(plan: Plan) -> None:
    """Raise UnsupportedError if a plan accesses memory outside its own."""
    fault = access_fault(plan)
    if fault:
        raise UnsupportedError(
            f"the command stream of '{plan.network.name}' accesses memory that is not its own "
            f"({fault}); nothing was written; pass the network before {plan.compiler}, without "
            "--trust-compiler"
        )
