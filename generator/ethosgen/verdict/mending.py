"""Finds operators that differ on accelerators, and plans that keep them on the CPU.

Each operator runs alone at the ends of its inputs, and the whole plan on the check's samples. If
outputs differ, bisection finds the operators that cause it, as when a compiler refuses a network.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ethosgen.oracle import DEFAULT, MIXED, SECOND
from ethosgen.oracle.answers import Answer
from ethosgen.values.allocation import FREE, Allocation, Kept, OperatorIndex
from ethosgen.values.errors import NpuFault, RefusalError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, LeftOut, compare
from ethosgen.values.plan import Check, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.accesses import access_fault
from ethosgen.verdict.cases import keep_case
from ethosgen.verdict.driven import remembered
from ethosgen.verdict.ends import differing_at_ends
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.planner import Planner
from ethosgen.verdict.trial import Make

MOST_WORK = 2_000_000_000
"""Limit on the multiplications of the check's samples; a larger network gets fewer samples."""

UNKNOWN = "found-by-check"
"""The name of an erratum that has no name yet."""

SEARCH_S = 60.0
"""Time limit in seconds for the search for operators that differ."""


@dataclass(frozen=True)
class Unanswered:
    """Why there are no golden outputs, and the samples that the oracles ran."""

    why: str
    samples: Sequence[Arrays] = ()


@dataclass(frozen=True)
class Driven:
    """The number of operators that ran alone, the differences, and their cases."""

    operators: int = 0
    differing: Mapping[OperatorIndex, str] = field(default_factory=dict)
    cases: tuple[str, ...] = ()


class Mending:
    """Compares plans of a network with the golden outputs, and finds operators that differ.

    Without golden outputs it only checks that a plan stays within its memories.
    """

    def __init__(
        self,
        network: Network,
        planner: Planner,
        golden: Answer | Unanswered,
        options: OffloadOptions,
    ) -> None:
        self._network = network
        self._planner = planner
        self._golden = golden if isinstance(golden, Answer) else None
        self._samples = golden.question.samples if isinstance(golden, Answer) else golden.samples
        self._options = options
        self._left_out: LeftOut | None = None
        self._end = time.monotonic() + SEARCH_S

    def drive_to_ends(self, plan: Plan) -> Driven:
        """Run each operator of a plan alone, at the ends of its inputs, unless that is known."""
        trial = remembered(self._network, plan)
        if (known := trial.count) is not None:
            return Driven(known)

        def plan_alone(part: Network) -> Plan:
            return self._planner.plan(part, self._planner.errata(part, DEFAULT.name))

        count, differing = differing_at_ends(
            self._network, plan, plan_alone, self._options.oracle, MOST_WORK
        )
        if count and not differing:
            trial.keep(count)
        return Driven(count, differing, self._stored(differing, plan_alone))

    def kept_at_ends(
        self, plan: Plan, differing: Mapping[OperatorIndex, str]
    ) -> dict[OperatorIndex, Kept]:
        """Return the operators that differ alone and that the CPU has code for."""
        self._require_agreement(plan, differing)
        alone = "alone, with inputs at the ends of their range, an accelerator computes it"
        return {
            index: Kept(f"{alone} differently ({differing[index]})", UNKNOWN, True)
            for index in self._with_code(differing)
        }

    def mended(
        self, plan: Plan, allocation: Allocation[OperatorIndex]
    ) -> tuple[Plan, Check | None]:
        """Return the plan if it passes, otherwise one that does, and the comparison.

        UnsupportedError if there is none.
        """
        if not plan.partitions and self._golden is None:
            return plan, None
        fault = self._fault_of(plan)
        golden, left_out = self._golden, self._left_out
        if golden and left_out and not _count(golden, left_out).elements:
            self._golden = None
            plan, _ = self.mended(plan, allocation)
            return plan, Check(None, skipped=f"{left_out.why}, in every sample")
        if fault and not plan.partitions and golden and golden.oracle in (SECOND, MIXED):
            # Our code for the CPU follows the default oracle: another one's answer refuses nothing.
            return plan, Check(None, skipped=f"{fault}, with the CPU's code alone")
        cases: tuple[str, ...] = ()
        if fault:
            culprits = self._culprits(plan, allocation, fault)
            self._require_agreement(plan, dict.fromkeys(culprits, fault))
            plan = self._planner.plan(self._network, allocation | culprits)
            cases = self._stored(culprits, lambda part: self._planner.plan(part, FREE))
        if golden is None:
            return plan, None
        return plan, replace(_count(golden, self._left_out), cases=cases)

    def _require_agreement(self, plan: Plan, differing: Mapping[OperatorIndex, str]) -> None:
        """Raise UnsupportedError if a user's accelerator computes an operator wrongly.

        `differing` has the operators' differences. Operators on the NPU may move to the CPU
        instead, and so may those with declared differences, which can add up to more than the user
        allows.
        """
        if self._options.allow_fallback:
            return
        graph = self._network.graph
        for partition in plan.partitions:
            index = next((i for i in partition.operators if i in differing), None)
            if index is None or partition.on_npu or partition.steps:
                continue
            operator = graph.operators[index]
            raise UnsupportedError(
                f"the accelerator '{partition.backend}' computes operator {index + 1} of "
                f"'{self._network.name}', {operator.code} with output "
                f"'{graph.output_name(operator)}', incorrectly: {differing[index]}; nothing was "
                "written; 'ethosgen accelerators check' tries each of its operations, "
                "--allow-fallback leaves such operators to the CPU"
            )

    def _stored(self, operators: Iterable[OperatorIndex], make: Make) -> tuple[str, ...]:
        """Store the smallest network that shows each difference; return the folders."""
        if self._planner.accelerator is None:
            return ()
        cases = [
            keep_case(self._network, index, self._samples, make, self._options.oracle)
            for index in operators
        ]
        return tuple(str(case) for case in cases if case is not None)

    def _with_code(self, operators: Iterable[OperatorIndex]) -> list[OperatorIndex]:
        """Return the operators that have code on the CPU."""
        graph, planner = self._network.graph, self._planner
        return [i for i in operators if planner.has_code(graph.operators[i], graph)]

    def _fault_of(self, plan: Plan) -> str:
        """Return the fault of a plan, "" if it has none."""
        if self._golden is None:
            return access_fault(plan)
        try:
            outputs = simulate_samples(plan, self._samples, Watch())
        except NpuFault as fault:
            return str(fault)
        compared = self._golden.against(outputs, plan.steps)
        if compared.mismatches or compared.left_out:
            self._left_out = self._golden.left_out
        if not compared.mismatches:
            return ""
        return (
            f"{compared.mismatches} of {counted(compared.elements, 'output')} differ from "
            f"{self._golden.oracle.title}'s, by at most {compared.max_abs_diff:g}"
        )

    def _culprits(
        self, plan: Plan, allocation: Allocation[OperatorIndex], fault: str
    ) -> dict[OperatorIndex, Kept]:
        """Return additional operators to keep so that nothing differs."""
        able = self._with_code(sorted(i for p in plan.partitions for i in p.operators))
        whose = "its accelerator" if plan.wrapped else "the NPU"
        why = Kept(f"the check found that {whose} computes it differently: {fault}", UNKNOWN, True)
        culprits: dict[OperatorIndex, Kept] = {}
        while not self._passes(allocation | culprits):
            if not self._passes(FREE | dict.fromkeys(able, why) | allocation | culprits):
                even = "even with every operator on the CPU that has code there"
                if not plan.partitions:
                    even = "with every operator on the CPU"
                raise UnsupportedError(
                    f"'{self._network.name}' cannot be made exact: {fault}, {even}; nothing was "
                    f"written; {self._advice()}"
                )
            culprits[self._first(able, allocation | culprits, why)] = why
        return culprits

    def _advice(self) -> str:
        if self._golden is None:  # without the check it is refused, too
            return "use --npu none to run all on the CPU"
        return "use --no-check to write it anyway, and 'ethosgen verify' to see what differs"

    def _first(
        self,
        able: Sequence[OperatorIndex],
        allocation: Allocation[OperatorIndex],
        why: Kept,
    ) -> OperatorIndex:
        """Return the last operator of the shortest prefix that must stay besides the allocation."""
        low, high = 0, len(able)  # it differs without the first `low`, and not with `high`
        while high - low > 1:
            middle = (low + high) // 2
            if self._passes(FREE | dict.fromkeys(able[:middle], why) | allocation):
                high = middle
            else:
                low = middle
        return able[high - 1]

    def _passes(self, allocation: Allocation[OperatorIndex]) -> bool:
        if time.monotonic() > self._end:
            raise UnsupportedError(
                f"the operator that differs in '{self._network.name}' was not found in "
                f"{SEARCH_S:g} s; use --npu none to run all on the CPU, or --no-check to accept it"
            )
        try:
            return not self._fault_of(self._planner.plan(self._network, allocation))
        except RefusalError:
            return False


def _count(golden: Answer, left_out: LeftOut | None) -> Check:
    """Count the compared and the undefined elements."""
    outputs, oracle = list(golden.outputs), golden.oracle.name
    compared = compare(oracle, outputs, outputs, left_out=left_out)
    samples = sum(
        left_out is None or not left_out.holds_all(index, sample)
        for index, sample in enumerate(outputs)
    )
    return Check(
        oracle,
        samples,
        compared.elements,
        left_out=compared.left_out,
        left_out_why=compared.left_out_why,
    )
