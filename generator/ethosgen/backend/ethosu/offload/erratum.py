"""One erratum: a condition on an operator and its neighbours, and the user's message."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from ethosgen.backend.ethosu.offload.errata_conditions import Condition
from ethosgen.backend.ethosu.offload.site import OperatorSite
from ethosgen.oracle import ORACLES, litert, tflm
from ethosgen.values.allocation import Kept

TFLM, LITERT = tflm.NAME, litert.NAME
VELA = "Vela"


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

    def concerns(self, site: OperatorSite) -> bool:
        """Return whether the erratum concerns an operator."""
        try:
            return self.applies(site)
        except (LookupError, ZeroDivisionError):
            # Parameters that are not constant, too short, or 0: Vela rejects such operators anyway.
            return False

    def reason(self, oracle: str) -> Kept:
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
