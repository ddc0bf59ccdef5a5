"""Exact by default: operators that differ from the oracle on the NPU stay on the CPU.

The table of errata lists known differences. To find unknown ones, a plan runs on this machine, with
its partitions on the NPU model, on a few samples before it becomes a project. If outputs differ,
the plan is corrected (`ethosgen.verdict.mending`). A plan that differs with every operator on the
CPU is refused.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ethosgen.backend import compiler_of
from ethosgen.oracle import DEFAULT, MIXED, SECOND, own_oracle
from ethosgen.oracle.answers import Answer
from ethosgen.oracle.interpreters import awaited
from ethosgen.samples.drawing import default_samples, draw_samples
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import FREE
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Check, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.accesses import require_within
from ethosgen.verdict.errata import known_errata
from ethosgen.verdict.judgement import golden_answer
from ethosgen.verdict.mending import MOST_WORK, Driven, Mending, Unanswered
from ethosgen.verdict.planner import Planner

SAMPLES = 5
"""Number of samples of the check: one from each of the first distributions."""
MOST_SAMPLES = 100
"""Maximum number of samples for a network that has outputs only after several inferences."""
SEED = 1 << 20
"""Seed of the check's samples; a user's seeds start at 0."""

Ask = Callable[[Network, Sequence[Arrays], str | None], Answer | str]
"""Runs the named oracle, or the one that decides; returns the reason if it has no answer."""


def ask_oracles(
    network: Network, samples: Sequence[Arrays], oracle: str | None = None
) -> Answer | str:
    """Run the named oracle, or the one that decides."""
    try:
        golden = golden_answer(network, samples, oracle)
    except InputError as error:
        return str(error)
    if not any(golden.outputs):
        drawn = counted(len(samples), "sample")
        return f"each of {drawn} ended where a CIRCULAR_BUFFER waits for inputs"
    return golden


def exact_plan(
    network: Network,
    planner: Planner,
    options: OffloadOptions,
    watch: Watch,
    ask: Ask = ask_oracles,
) -> Plan:
    """Return a plan whose outputs equal the oracle's, as far as errata and the check can tell.

    UnsupportedError if an operator is exact neither on the NPU nor on the CPU. If the options trust
    the compiler, only the plan's accesses are checked.
    """
    compiling = _compiling(planner.accelerator)
    if options.trust_compiler:
        with watch.phase("offload", compiling):
            plan = planner.plan(network, FREE)
        require_within(plan)
        return plan
    golden = _asked(network, planner.accelerator, options, watch, ask)
    with watch.phase("offload", compiling):
        allocation = known_errata(network, planner, options.oracle or _deciding(golden, network))
        plan = planner.plan(network, allocation)
    mending, driven = Mending(network, planner, golden, options), Driven()
    if isinstance(golden, Answer) and plan.partitions:
        with watch.phase("check", "driving each operator to its ends"):
            driven = mending.drive_to_ends(plan)
        if driven.differing:
            allocation |= mending.kept_at_ends(plan, driven.differing)
            plan = planner.plan(network, allocation)
    with watch.phase("check", "checking the plan on this machine"):
        plan, check = mending.mended(plan, allocation)
    if isinstance(golden, Unanswered):
        check = Check(None, skipped=golden.why) if options.check else None
    elif check is not None:
        check = replace(check, driven=driven.operators, cases=(*driven.cases, *check.cases))
    return replace(plan, check=_with_accesses(check, plan))


def _with_accesses(check: Check | None, plan: Plan) -> Check | None:
    """Return the check; it records whether the NPU's accesses were checked."""
    if check is None or plan.accelerator is None or not plan.partitions:
        return check
    return replace(check, has_checked_accesses=plan.accelerator.has_simulator)


def _asked(
    network: Network,
    accelerator: Accelerator | None,
    options: OffloadOptions,
    watch: Watch,
    ask: Ask,
) -> Answer | Unanswered:
    """Return the oracle's answer for the check's samples, or why there is none."""
    if not options.check:
        return Unanswered("you asked for --no-check")
    if accelerator is not None and not accelerator.has_simulator:
        return Unanswered(f"there is no functional model of {accelerator.name}")
    with watch.phase("check", "asking the oracle"):
        return _answered_meanwhile(network, ask, options.oracle, accelerator is None)


def draw(network: Network) -> list[Arrays]:
    """Draw the check's samples: enough for SAMPLES of them to have outputs."""
    most = min(SAMPLES * network.period, MOST_SAMPLES)
    return draw_samples(network, default_samples(network, most, MOST_WORK), SEED)


def _answered_meanwhile(
    network: Network, ask: Ask, oracle: str | None, needs_tvm: bool
) -> Answer | Unanswered:
    """Run the oracle in a separate process while operators, and perhaps TVM, are imported here."""
    from ethosgen.aot import load, load_operators

    with ThreadPoolExecutor(1) as pool:
        answers = [pool.submit(_answered, network, ask, oracle)]
        (golden,) = awaited(answers, meanwhile=load if needs_tvm else load_operators)
    return golden


def _answered(network: Network, ask: Ask, oracle: str | None) -> Answer | Unanswered:
    """Draw samples and run the oracle; omit samples that it refuses."""
    samples = draw(network)
    golden = ask(network, samples, oracle)
    if isinstance(golden, Answer):
        return golden
    unanswered = Unanswered(golden, samples)
    if network.has_state:
        return unanswered
    first = ask(network, samples[:1], oracle)
    if isinstance(first, str):
        return unanswered
    taken, outputs = samples[:1], [*first.outputs]
    for sample in samples[1:]:
        single = ask(network, [sample], oracle)
        if isinstance(single, Answer) and single.oracle == first.oracle:
            taken.append(sample)
            outputs += single.outputs
    return replace(first, question=replace(first.question, samples=taken), outputs=outputs)


def _deciding(golden: Answer | Unanswered, network: Network) -> str:
    """Return the oracle that decides: the one that answered, or by TFLite Micro's operators."""
    from ethosgen.aot import decided_by_litert

    own = own_oracle(network)
    if own:
        return own.name
    if isinstance(golden, Answer):
        return DEFAULT.name if golden.oracle is MIXED else golden.oracle.name
    return (SECOND if any(map(decided_by_litert, network.graphs)) else DEFAULT).name


def _compiling(accelerator: Accelerator | None) -> str:
    if accelerator is None:
        return "planning for the CPU"
    return f"compiling for {accelerator.name} ({compiler_of(accelerator).compiler})"
