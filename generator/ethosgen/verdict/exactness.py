"""Exact by default: operators that differ from the oracle on the NPU stay on the CPU.

The table of errata lists known differences. To find unknown ones, a plan runs on this machine, its
partitions on the NPU model, with a few samples before it becomes a project; if outputs differ, the
operators that cause it are found by bisection, as when a compiler refuses a network. A plan that
differs with every operator on the CPU is refused.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ethosgen.backend import backend_of, is_compiled
from ethosgen.backend.protocol import Task, Wrapped
from ethosgen.oracle import DEFAULT, MIXED, ORACLES, SECOND, own_oracle
from ethosgen.oracle.interpreters import awaited
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError, NpuFault, RefusalError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import Check, IoStyle, Kept, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.values.workload import default_samples, has_state, period
from ethosgen.verdict.cases import keep_case
from ethosgen.verdict.ends import differing_at_ends
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import Reference, decisive_outputs

SAMPLES = 5
"""Number of samples of the check: one from each of the first distributions."""
MOST_SAMPLES = 100
"""Most samples of the check for a network that has outputs only after several inferences."""
MOST_WORK = 2_000_000_000
"""Limit on the multiplications of the check's samples; a larger network gets fewer samples."""
SEED = 1 << 20
"""Seed of the check's samples; a user's seeds start at 0."""

UNKNOWN = "found-by-check"
"""The name of an erratum that does not have one yet."""

SEARCH_S = 60.0
"""Time limit in seconds for the search for operators that differ."""

Planner = Callable[[Network, Mapping[int, Kept]], Plan]
"""Compiles a network with operators kept on the CPU, by index."""


@dataclass(frozen=True)
class Golden:
    """An oracle's outputs for samples; `oracle` is its short name."""

    oracle: str
    outputs: Sequence[Arrays]


Ask = Callable[[Network, Sequence[Arrays], str | None], Golden | str]
"""Runs the named oracle, else the one that decides; returns the reason if there is no answer."""


def ask_oracles(
    network: Network, samples: Sequence[Arrays], oracle: str | None = None
) -> Golden | str:
    """Run the named oracle, else the one that decides."""
    try:
        golden = Golden(*decisive_outputs(network, samples, oracle))
    except InputError as error:
        return str(error)
    if not any(golden.outputs):
        drawn = counted(len(samples), "sample")
        return f"each of {drawn} ended where a CIRCULAR_BUFFER waits for inputs"
    return golden


def exact_plan(
    network: Network,
    accelerator: Accelerator | None,
    io: IoStyle,
    planner: Planner,
    options: OffloadOptions,
    watch: Watch,
    ask: Ask = ask_oracles,
    wrapped: Sequence[Wrapped] = (),
) -> Plan:
    """Return a plan whose outputs equal the oracle's, as far as errata and the check can tell.

    UnsupportedError if an operator is exact neither on the NPU nor on the CPU.
    """
    if options.trust_compiler or is_compiled(network):
        with watch.stage("offload", _planning(accelerator)):
            plan = planner(network, {})
        return _required_within(plan)
    golden: Golden | str = "you asked for --no-check"
    samples: Sequence[Arrays] = ()
    if options.check and accelerator is not None and not accelerator.has_simulator:
        golden = f"there is no functional model of {accelerator.name}"
    elif options.check:
        with watch.stage("check", "asking the oracle"):
            samples, golden = _answered_meanwhile(network, ask, options.oracle)
    with watch.stage("offload", _planning(accelerator)):
        asked = options.oracle or _oracle(golden, network)
        kept = known_errata(network, accelerator, io, asked) if accelerator else {}
        plan = planner(network, kept)
    driven, cases = 0, []
    if isinstance(golden, Golden) and plan.partitions:
        make = _planning_alone(planner, accelerator, io)
        with watch.stage("check", "driving each operator to its ends"):
            driven, differing = differing_at_ends(network, plan, make, options.oracle, MOST_WORK)
            found = (keep_case(network, i, samples, make, options.oracle) for i in differing)
            cases = [str(case) for case in found if case is not None]
        if differing:
            _require_agreement(network, plan, differing, options)
            kept = {**kept, **_kept_at_ends(network, differing)}
            plan = planner(network, kept)
    with watch.stage("check", "checking the plan on this machine"):
        answer = None if isinstance(golden, str) else golden
        plan = _Check(network, planner, samples, answer, options).mended(plan, kept)
        if plan.check is not None:
            cases += plan.check.cases
            plan = replace(plan, check=replace(plan.check, driven=driven, cases=tuple(cases)))
    if isinstance(golden, str):
        plan = replace(plan, check=Check(None, skipped=golden) if options.check else None)
    return _with_accesses(plan)


def _planning_alone(
    planner: Planner, accelerator: Accelerator | None, io: IoStyle
) -> Callable[[Network], Plan]:
    """Return what plans operators alone, without those that errata keep on the CPU."""

    def make(part: Network) -> Plan:
        return planner(part, errata_of(part, accelerator, io) if accelerator else {})

    return make


def _kept_at_ends(network: Network, differing: Mapping[int, str]) -> dict[int, Kept]:
    """Return the operators to keep that differ alone; those without code here are not kept."""
    from ethosgen.aot import can_run

    graph = network.graph
    return {
        i: Kept(
            "alone, with inputs at the ends of their range, an accelerator computes it differently "
            f"({said})",
            UNKNOWN,
            True,
        )
        for i, said in differing.items()
        if can_run(graph.operators[i], graph)
    }


def _require_agreement(
    network: Network, plan: Plan, differing: Mapping[int, str], options: OffloadOptions
) -> None:
    """Raise UnsupportedError if a user's accelerator computes an operator wrongly.

    `differing` says how much operators differ. Those on the NPU may stay on the CPU instead, as may
    those of declared differences, which can add up to more than the user allows.
    """
    if options.allow_fallback:
        return
    for partition in plan.partitions:
        index = next((i for i in partition.operators if i in differing), None)
        if index is None or partition.on_npu or partition.steps:
            continue
        operator = network.graph.operators[index]
        raise UnsupportedError(
            f"the accelerator '{partition.backend}' computes operator {index + 1} of "
            f"'{network.name}', {operator.code} with output '{_output(operator, network.graph)}', "
            f"wrongly: {differing[index]}; nothing was written; 'ethosgen accelerators check' tries"
            " each of its operations, --allow-fallback leaves such operators to the CPU"
        )


def _with_accesses(plan: Plan) -> Plan:
    """Return the plan; its check records whether the NPU's accesses were checked."""
    if plan.check is None or plan.accelerator is None or not plan.partitions:
        return plan
    is_checked = plan.accelerator.has_simulator
    return replace(plan, check=replace(plan.check, has_checked_accesses=is_checked))


def _required_within(plan: Plan) -> Plan:
    """Return the plan; UnsupportedError if it accesses memory that is not its own."""
    fault = _access_fault(plan)
    if fault:
        raise UnsupportedError(
            f"the command stream of '{plan.network.name}' accesses memory that is not its own "
            f"({fault}); nothing was written; pass the network before {plan.compiler}, without "
            "--trust-compiler"
        )
    return plan


def _access_fault(plan: Plan) -> str:
    """Return the first access outside a plan's memories, "" if there is none or no NPU model."""
    if not plan.partitions or plan.accelerator is None or not plan.accelerator.has_simulator:
        return ""
    try:
        backend_of(plan.accelerator).runner(plan).check_accesses()
    except NpuFault as fault:
        return str(fault)
    return ""


def draw(network: Network) -> list[Arrays]:
    """Draw the check's samples: enough for SAMPLES of them to have outputs."""
    most = min(SAMPLES * period(network), MOST_SAMPLES)
    return draw_samples(network, default_samples(network, most, MOST_WORK), SEED)


def _answered_meanwhile(
    network: Network, ask: Ask, oracle: str | None
) -> tuple[list[Arrays], Golden | str]:
    """Run the oracle in a separate process while TVM loads here, which takes as long."""
    from ethosgen.aot import load

    with ThreadPoolExecutor(1) as pool:
        (answer,) = awaited([pool.submit(_answered, network, ask, oracle)], meanwhile=load)
    return answer


def _answered(network: Network, ask: Ask, oracle: str | None) -> tuple[list[Arrays], Golden | str]:
    """Draw samples and run the oracle; omit samples that it refuses."""
    samples = draw(network)
    said = ask(network, samples, oracle)
    if isinstance(said, Golden) or has_state(network):
        return samples, said
    first = ask(network, samples[:1], oracle)
    if isinstance(first, str):
        return samples, said
    taken, outputs = samples[:1], [*first.outputs]
    for sample in samples[1:]:
        one = ask(network, [sample], oracle)
        if isinstance(one, Golden) and one.oracle == first.oracle:
            taken.append(sample)
            outputs += one.outputs
    return taken, Golden(first.oracle, outputs)


def known_errata(
    network: Network, accelerator: Accelerator, io: IoStyle, oracle: str
) -> dict[int, Kept]:
    """Return the operators that errata keep on the CPU.

    UnsupportedError if the CPU has no code for one of them.
    """
    from ethosgen import aot

    backend, graph = backend_of(accelerator), network.graph
    kept = errata_of(network, accelerator, io, oracle)
    for index, why in kept.items():
        operator = graph.operators[index]
        if not aot.can_run(operator, graph):
            raise UnsupportedError(
                f"operator {index + 1} of {len(graph.operators)} of '{network.name}', "
                f"{operator.code} with output '{_output(operator, graph)}', can run nowhere: "
                f"{why.reason}, and the CPU has no code for it; use --trust-compiler to accept "
                f"{backend.compiler}'s result"
            )
    return kept


def errata_of(
    network: Network, accelerator: Accelerator, io: IoStyle, oracle: str = DEFAULT.name
) -> dict[int, Kept]:
    """Return the operators that errata concern."""
    from ethosgen import aot

    backend, graph = backend_of(accelerator), network.graph
    task = Task(network, accelerator, io, aot)
    kept = backend.errata(task, oracle)
    lacking = aot.decided_by_litert(graph) if oracle == DEFAULT.name else []
    if lacking:  # in a bisection each operator has its own
        theirs = backend.errata(task, SECOND.name)
        kept |= {i: theirs[i] for i in lacking if i in theirs}
    return kept


def _oracle(golden: Golden | str, network: Network) -> str:
    """Return the oracle that decides: the one that answered, or by TFLite Micro's operators."""
    from ethosgen.aot import decided_by_litert

    own = own_oracle(network)
    if own:
        return own.name
    if isinstance(golden, Golden):
        return DEFAULT.name if golden.oracle == MIXED.name else golden.oracle
    return (SECOND if any(map(decided_by_litert, network.graphs)) else DEFAULT).name


def _planning(accelerator: Accelerator | None) -> str:
    if accelerator is None:
        return "planning for the CPU"
    return f"compiling for {accelerator.name} ({backend_of(accelerator).compiler})"


def _output(operator: Operator, graph: Graph) -> str:
    return graph.tensors[operator.outputs[0]].name if operator.outputs else ""


def _compared(golden: Reference) -> Check:
    """Count the compared and the undefined elements."""
    outputs, left_out = golden.outputs, golden.left_out
    found = compare(golden.oracle, outputs, outputs, left_out=left_out)
    samples = sum(
        left_out is None or not left_out.holds_all(i, one) for i, one in enumerate(outputs)
    )
    return Check(
        golden.oracle,
        samples,
        found.elements,
        left_out=found.left_out,
        left_out_why=found.left_out_why,
    )


class _Check:
    """Compares plans of a network with the golden outputs, and finds operators that differ.

    Without golden outputs it only checks that a plan stays within its memories.
    """

    def __init__(
        self,
        network: Network,
        planner: Planner,
        samples: Sequence[Arrays],
        golden: Golden | None,
        options: OffloadOptions,
    ) -> None:
        self._network = network
        self._planner = planner
        self._samples = samples
        self._golden = None
        if golden is not None:
            self._golden = Reference(network, samples, golden.oracle, golden.outputs)
        self._options = options
        self._end = time.monotonic() + SEARCH_S

    def mended(self, plan: Plan, kept: Mapping[int, Kept]) -> Plan:
        """Return the plan if it passes, else one that does; UnsupportedError if there is none."""
        if not plan.partitions and self._golden is None:
            return plan
        said, cases = self._against(plan), []
        left_out = self._golden and self._golden.left_out
        if self._golden and left_out and not _compared(self._golden).elements:
            skipped = Check(None, skipped=f"{left_out.why}, in every sample")
            self._golden = None
            return replace(self.mended(plan, kept), check=skipped)
        decided = self._golden.oracle if self._golden else ""
        if said and not plan.partitions and decided in (SECOND.name, MIXED.name):
            # Our code for the CPU follows the default oracle: another one's answer refuses nothing.
            return replace(plan, check=Check(None, skipped=f"{said}, with the CPU's code alone"))
        if said:
            culprits = self._culprits(plan, kept, said)
            _require_agreement(self._network, plan, dict.fromkeys(culprits, said), self._options)
            plan = self._planner(self._network, {**kept, **culprits})
            cases = [self._case(index) for index in culprits]
        if self._golden is None:
            return plan
        kept_cases = tuple(str(case) for case in cases if case is not None)
        return replace(plan, check=replace(_compared(self._golden), cases=kept_cases))

    def _case(self, index: int) -> Path | None:
        """Store the smallest network that shows the difference."""
        return keep_case(
            self._network,
            index,
            self._samples,
            lambda part: self._planner(part, {}),
            self._options.oracle,
        )

    def _against(self, plan: Plan) -> str:
        """Return the fault of a plan, "" if it has none."""
        if self._golden is None:
            return _access_fault(plan)
        try:
            outputs = simulate_samples(plan, self._samples, Watch())
        except NpuFault as fault:
            return str(fault)
        found = self._golden.against(outputs, plan.steps)
        if not found.mismatches:
            return ""
        return (
            f"{found.mismatches} of {counted(found.elements, 'output')} differ from "
            f"{ORACLES[self._golden.oracle].title}'s, by at most {found.max_abs_diff:g}"
        )

    def _culprits(self, plan: Plan, kept: Mapping[int, Kept], said: str) -> dict[int, Kept]:
        """Return additional operators to keep so that nothing differs."""
        from ethosgen.aot import can_run

        graph = self._network.graph
        offloaded = sorted(i for p in plan.partitions for i in p.operators)
        able = [i for i in offloaded if can_run(graph.operators[i], graph)]
        found_that = "the check found that the NPU computes it differently"
        if plan.wrapped:
            found_that = "the check found that its accelerator computes it differently"
        why = Kept(f"{found_that}: {said}", UNKNOWN, True)
        found: dict[int, Kept] = {}
        while not self._passes({**kept, **found}):
            if not self._passes({**dict.fromkeys(able, why), **kept, **found}):
                even = "even with every operator on the CPU that has code there"
                if not plan.partitions:
                    even = "with every operator on the CPU"
                raise UnsupportedError(
                    f"'{self._network.name}' cannot be made exact: {said}, {even}; nothing was "
                    f"written; {self._advice()}"
                )
            found[self._first(able, {**kept, **found}, why)] = why
        return found

    def _advice(self) -> str:
        if self._golden is None:  # without the check it is refused too
            return "use --npu none to run all on the CPU"
        return "use --no-check to write it anyway, and 'ethosgen verify' to see what differs"

    def _first(self, able: Sequence[int], kept: Mapping[int, Kept], why: Kept) -> int:
        """Return the last operator of the shortest prefix that must be kept besides `kept`."""
        low, high = 0, len(able)  # it differs with the first `low` kept, and not with `high`
        while high - low > 1:
            middle = (low + high) // 2
            if self._passes({**dict.fromkeys(able[:middle], why), **kept}):
                high = middle
            else:
                low = middle
        return able[high - 1]

    def _passes(self, kept: Mapping[int, Kept]) -> bool:
        if time.monotonic() > self._end:
            raise UnsupportedError(
                f"the operator that differs in '{self._network.name}' was not found in "
                f"{SEARCH_S:g} s; use --npu none to run all on the CPU, or --no-check to accept it"
            )
        try:
            return not self._against(self._planner(self._network, kept))
        except RefusalError:
            return False
