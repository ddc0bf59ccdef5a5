"""Oracles: they compute the golden outputs, independently of the compiler.

ORACLES is the only list of them. DEFAULT decides, unless it cannot run a network or the user names
another; SECOND gives the second opinion. TOSA decides about networks of TOSA's operators, without a
second opinion; only `own_oracle` states this.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ethosgen import plugins
from ethosgen.oracle import litert, pieces, tflm, tosa
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import ToolError
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Check


class RunSamples(Protocol):
    """Computes golden outputs."""

    def __call__(
        self,
        network: Network,
        samples: Sequence[Arrays],
        within_s: float | None = None,
        steps: int = 0,
    ) -> list[Arrays]:
        """Run samples in order; return the outputs by tensor name.

        A network's state is initial before the first sample, and again after each `steps` samples.

        Raises InputError for inputs that do not fit the network, UnsupportedError for a network
        that the oracle cannot run, and LateError if it takes longer than `within_s`.
        """


@dataclass(frozen=True)
class Oracle:
    """Computes golden outputs.

    `name` is for the command line and JSON, `title` for people; `packages` are the distributions
    that have its versions. Float outputs may differ by `tolerance`, relative to the largest
    magnitude in their tensor, if the network uses functions of the C library (expf, tanhf).
    """

    name: str
    title: str
    packages: tuple[str, ...]
    run: RunSamples
    tolerance: float = 1e-5  # TFLite's own kernel tests use the same (ArrayFloatNear)
    find_version: Callable[[], str] | None = None
    """Finds the version of packages that another environment has."""

    @property
    def version(self) -> str:
        """Return the installed version, "none" of a package without a wheel for this system.

        ToolError for another package that is missing.
        """
        if self.find_version:
            return self.find_version()
        return " and ".join(map(self._version_of, self.packages))

    def _version_of(self, package: str) -> str:
        from importlib.metadata import PackageNotFoundError, version  # it imports email's packages

        try:
            return version(package)
        except PackageNotFoundError:
            if package in without_wheel():
                return "none"
            raise ToolError(
                f"{self.title} is an oracle, and its package {package} is not installed; "
                "install it as 'ethosgen doctor' says"
            ) from None


TFLM = Oracle(tflm.NAME, "TensorFlow Lite Micro", (tflm.PACKAGE,), tflm.golden_outputs)
LITERT = Oracle(litert.NAME, "LiteRT", ("ai-edge-litert",), litert.litert_outputs)
"""LiteRT's reference kernels: the default ones differ from TensorFlow Lite Micro's nearly
everywhere."""
MIXED = Oracle(
    "mixed", f"{TFLM.title} and {LITERT.title}", TFLM.packages + LITERT.packages, pieces.run
)
"""Both: each operator by the one that has it, TensorFlow Lite Micro if both have."""

TOSA = Oracle(
    tosa.NAME,
    "TOSA's reference model",
    (tosa.PACKAGE,),
    tosa.reference_outputs,
    find_version=tosa.version,
)

ORACLES: Mapping[str, Oracle] = plugins.Registry(
    plugins.ORACLES, {oracle.name: oracle for oracle in (TFLM, LITERT, MIXED, TOSA)}
)
DEFAULT, SECOND = TFLM, LITERT


def without_wheel() -> frozenset[str]:
    """Return the oracles' packages without a wheel for this system; the other oracles decide."""
    return frozenset() if tflm.has_wheel() else frozenset({tflm.PACKAGE})


def title_of(name: str) -> str:
    """Return an oracle's full name, or a name that only another ethosgen knows."""
    return ORACLES[name].title if name in ORACLES else name


def check_text(check: Check, npu: str, steps: float) -> str:
    """Return "60 outputs of 5 samples on the NPU model equal TensorFlow Lite Micro's".

    `npu` and `steps` are those of the plan that was checked.
    """
    of = f"{counted(check.elements, 'output')} of {counted(check.samples, 'sample')}"
    place = "this machine" if npu == NO_NPU else "the NPU model"
    near = f"are within {steps_text(steps)} of" if steps else "equal"
    return f"{of} on {place} {near} {title_of(check.oracle or '')}'s"


def choices() -> tuple[str, ...]:
    """Return the oracles that a user may name: the two that run any network, and plug-ins'."""
    own = (TFLM, LITERT, MIXED, TOSA)
    more = plugins.beside(plugins.ORACLES, {oracle.name: oracle for oracle in own})
    return (DEFAULT.name, SECOND.name, *more)


def own_oracle(network: Network) -> Oracle | None:
    """Return the only oracle that can run a network, None if DEFAULT and SECOND can."""
    return TOSA if network.is_tosa else None
