"""Errata: operators that the NPU, with the current compiler, computes differently from the oracle.

An erratum is a condition on an operator and its neighbours. Operators that meet one stay on the
CPU. The entries are in errata_table.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from ethosgen.backend.ethosu.offload.errata_conditions import Condition
from ethosgen.backend.ethosu.offload.site import Site, Table
from ethosgen.oracle import ORACLES, litert, tflm
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import IoStyle, Kept
from ethosgen.values.tosa import is_tosa

TFLM, LITERT = tflm.NAME, litert.NAME
VELA = "Vela"

TableOf = Callable[[Operator, Graph], Table | None]
"""Returns the CPU's lookup table of an 8-bit operator, None if it has none."""


def _no_table(_operator: Operator, _graph: Graph) -> None:
    """Return None: the default if the CPU's lookup tables are unknown."""
    return None


@dataclass(frozen=True)
class CompileTarget:
    """The target that a network is compiled for; see site.Setting."""

    npu: str
    io: IoStyle = IoStyle.ARENA
    table_of: TableOf = _no_table


@dataclass(frozen=True)
class Erratum:
    """One way in which an operator on the NPU differs from an oracle.

    `owner` is VELA, or the name of the oracle that deviates. `sentence` is for the user, `source`
    documents the cause. `against` lists the oracles from which the NPU differs. `fixed` is the
    first version of Vela without it, None if there is none yet.
    """

    name: str
    owner: str
    applies: Condition
    sentence: str
    source: str
    against: tuple[str, ...] = (TFLM, LITERT)
    fixed: str | None = None

    def concerns(self, site: Site) -> bool:
        """Return whether the erratum concerns an operator."""
        try:
            return self.applies(site)
        except (LookupError, ZeroDivisionError):
            # Parameters that are not constant, too short, or 0: Vela rejects such operators anyway.
            return False

    def kept(self, oracle: str) -> Kept:
        """Return the reason why an operator stays on the CPU."""
        blame = (
            f"Vela {vela_version()} compiles it to something else"
            if self.owner == VELA
            else f"the NPU computes it differently from {ORACLES[oracle].title}, which decides"
        )
        return Kept(f"{blame}: {self.sentence} (erratum {self.name})", self.name)


def vela_version() -> str:
    """Return the installed Vela's version, "" if there is none."""
    try:
        return version("ethos-u-vela")
    except PackageNotFoundError:
        return ""


def is_open(erratum: Erratum, installed: str) -> bool:
    """Return whether a version of Vela still has an erratum."""
    return erratum.fixed is None or _numbers(installed) < _numbers(erratum.fixed)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def find_errata(network: Network, target: CompileTarget, oracle: str = TFLM) -> dict[int, Kept]:
    """Return the operators that must stay on the CPU so that all outputs equal an oracle's."""
    from ethosgen.backend.ethosu.offload.errata_table import ERRATA
    from ethosgen.backend.ethosu.offload.tosa_errata import TOSA_ERRATA

    installed = vela_version()
    known = TOSA_ERRATA if is_tosa(network) else ERRATA
    open_ones = [e for e in known if oracle in e.against and is_open(e, installed)]
    found: dict[int, Kept] = {}
    for operator in network.graph.operators:
        if not operator.outputs or not operator.inputs:
            continue
        site = Site(network.graph, operator, target)
        erratum = next((e for e in open_ones if e.concerns(site)), None)
        if erratum is not None:
            found[operator.index] = erratum.kept(oracle)
    return found
