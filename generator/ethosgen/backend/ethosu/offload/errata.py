"""Errata: operators that the NPU, with the current compiler, computes differently from the oracle.

Operators that meet an erratum stay on the CPU. erratum.py defines errata, errata_table.py and
tosa_errata.py have the entries.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ethosgen.backend.ethosu.offload.errata_table import ERRATA, STREAM_ERRATA
from ethosgen.backend.ethosu.offload.erratum import TFLM, VELA, Erratum, is_open, vela_version
from ethosgen.backend.ethosu.offload.site import OperatorSite, Table
from ethosgen.backend.ethosu.offload.tosa_errata import TOSA_ERRATA
from ethosgen.oracle import ORACLES
from ethosgen.values.allocation import Allocation, Kept, OperatorIndex
from ethosgen.values.explanation import REASON, Explanation
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import IoStyle

TableOf = Callable[[Operator, Graph], Table | None]
"""Returns the CPU's lookup table of an 8-bit operator, None if it has none."""


_STAYS = (
    "the operator stays on the CPU, which costs time but no exactness; --trust-compiler offloads "
    "it nevertheless, and then outputs may differ"
)


def _no_table(_operator: Operator, _graph: Graph) -> None:
    """Return None: the default if the CPU's lookup tables are unknown."""
    return None


@dataclass(frozen=True)
class CompileTarget:
    """The target that a network is compiled for; see site.ErrataTarget."""

    npu: str
    io: IoStyle = IoStyle.ARENA
    table_of: TableOf = _no_table


def find_errata(
    network: Network, target: CompileTarget, oracle: str = TFLM
) -> Allocation[OperatorIndex]:
    """Return the operators that must stay on the CPU so that all outputs equal an oracle's."""
    installed = vela_version()
    known = TOSA_ERRATA if network.is_tosa else ERRATA
    open_ones = [e for e in known if oracle in e.against and is_open(e, installed)]
    reasons: dict[OperatorIndex, Kept] = {}
    for operator in network.graph.operators:
        if not operator.outputs or not operator.inputs:
            continue
        site = OperatorSite(network.graph, operator, target)
        erratum = next((e for e in open_ones if e.concerns(site)), None)
        if erratum is not None:
            reasons[OperatorIndex(operator.index)] = erratum.reason(oracle)
    return Allocation(reasons)


def explanations() -> list[Explanation]:
    """Return an explanation of each erratum, in the order of the table."""
    return [
        Explanation(erratum.name, REASON, _meaning(erratum), _STAYS, erratum.source)
        for erratum in (*ERRATA, *TOSA_ERRATA, *STREAM_ERRATA)
    ]


def _meaning(erratum: Erratum) -> str:
    """State who deviates, from what, and how."""
    if erratum.owner == VELA:
        fixed = f" before {erratum.fixed}" if erratum.fixed else ""
        return f"Vela{fixed} compiles the operator to something else: {erratum.sentence}"
    others = " and ".join(ORACLES[name].title for name in erratum.against)
    return f"the NPU computes the operator differently from {others}: {erratum.sentence}"
