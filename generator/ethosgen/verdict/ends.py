"""Runs each operator of a plan alone, at the ends of its inputs' ranges.

A few samples of a whole network rarely drive its inner operators to the values at which a sum wraps
or a product saturates. All operators on accelerators are compiled side by side, which needs one
compilation and one run of the oracle. This proves nothing about operators that the compiler fuses.
"""

import logging
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethosgen.oracle.excerpt import Bouquet, gather
from ethosgen.samples.ends import drive_to_ends
from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.errors import EthosgenError, InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Network
from ethosgen.values.outcome import equal_elements
from ethosgen.values.plan import Plan
from ethosgen.verdict.trial import Make, Trial, try_out, try_out_beside_oracle

_log = logging.getLogger(__name__)


def differing_at_ends(
    network: Network, plan: Plan, make: Make, oracle: str | None, most_work: int
) -> tuple[int, Mapping[OperatorIndex, str]]:
    """Return the number of operators tried, and the difference of each that differs, by index.

    `make` omits the operators that errata keep on the CPU. `most_work` limits the multiplications
    of all samples.
    """
    offloaded = sorted(i for partition in plan.partitions for i in partition.operators)
    tested = [i for i in offloaded if _has_known_ends(network, i)]
    ends = _Ends(make, oracle, most_work)
    together = ends.tried(network, tested)
    if together is not None:
        return together
    # An operator that the oracle lacks, or that faults, must not hide operators with other codes.
    groups: dict[str, list[int]] = {}
    for index in tested:
        groups.setdefault(network.graph.operators[index].code, []).append(index)
    if len(groups) == 1:
        return 0, {}  # the same trial again
    trials = [ends.tried(network, group) or (0, {}) for group in groups.values()]
    return sum(count for count, _ in trials), dict(
        ChainMap(*(differing for _, differing in trials))
    )


def _has_known_ends(network: Network, index: int) -> bool:
    """Return whether the ends of an operator's inputs are known.

    Values of 32 bits or more from other operators, as in TOSA, rarely reach the ends of their type.
    """
    tensors = network.graph.tensors
    read = [tensors[i] for i in network.graph.operators[index].inputs if i != ABSENT]
    inner = [t for t in read if t.data is None and t.index not in network.graph.inputs]
    return not any(t.dtype in ("int32", "int64") for t in inner)


@dataclass(frozen=True)
class _Ends:
    """Tries operators at the ends of their inputs; `most_work` limits the multiplications."""

    make: Make
    oracle: str | None
    most_work: int

    def tried(
        self, network: Network, operators: Sequence[int]
    ) -> tuple[int, dict[OperatorIndex, str]] | None:
        """Return the number of operators tried together, and those that differ, or None."""
        bouquet = gather(network, operators)
        if bouquet is None:
            return 0, {}
        try:
            return len(bouquet.origins), self._differing(bouquet)
        except (EthosgenError, InputError) as error:
            _log.info("the operators of '%s' were not tried alone: %s", network.name, error)
            return None

    def _differing(self, bouquet: Bouquet) -> dict[OperatorIndex, str]:
        """Return the operators that also differ alone, each with its difference."""
        differing: dict[OperatorIndex, str] = {}
        for index in self._suspects(bouquet):
            how_much = self._difference(bouquet.alone[index])
            if how_much:
                differing[index] = how_much
        return differing

    def _suspects(self, bouquet: Bouquet) -> list[OperatorIndex]:
        """Return the operators on accelerators with other outputs than the oracle's."""
        samples = drive_to_ends(bouquet.network, self.most_work)
        trial = try_out_beside_oracle(bouquet.network, samples, self.make, self.oracle)
        if trial.fault is not None:
            raise trial.fault
        on_cpu = {bouquet.origins[cpu.operator] for cpu in trial.plan.cpu_operators}
        names = {
            name
            for ours, theirs in zip(trial.outputs, trial.golden.outputs, strict=True)
            for name, array in theirs.items()
            if not equal_elements(ours[name], array).all()
        }
        return sorted({bouquet.origin_of[name] for name in names} - on_cpu)

    def _difference(self, alone: Network) -> str:
        """Return how much an operator differs alone, "" if only where C++ leaves it undefined."""
        compared = self._trial(alone).comparison
        if not compared.mismatches:
            return ""
        outputs = f"{compared.mismatches} of {counted(compared.elements, 'output')}"
        return f"{outputs}, by at most {compared.max_abs_diff:g}"

    def _trial(self, network: Network) -> Trial:
        samples = drive_to_ends(network, self.most_work)
        return try_out(network, samples, self.make, self.oracle)
