"""Tries an accelerator: random networks of each operation, against our kernels and the oracle."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ethosgen import aot
from ethosgen.backend.protocol import Chain, Wrapped
from ethosgen.host.sanitizers import sanitizers
from ethosgen.oracle import ORACLES
from ethosgen.samples.drawing import draw_samples
from ethosgen.studies.trial_builder import STYLES, TrialNetwork, UnsuitableSizeError
from ethosgen.studies.trial_networks import trial_codes, trial_network
from ethosgen.values.allocation import Allocation
from ethosgen.values.errors import AcceleratorFault, DeviceFault, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import FLOAT_STEP, Arrays, compare
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer, tolerance_of

ATTEMPTS = 600
"""The number of networks that are drawn to find some that predicates allow."""
NETWORKS, OF_A_STYLE = len(STYLES), 2
"""The networks of each variant of a chain: one of each style, or two if others are impossible."""
DRAWING_S = 20.0
"""The time in which a variant's networks are drawn."""
SAMPLES = 10
OURS = "the plain kernel"
CACHE_FAULT = (
    "it is right without a data cache: call ethosgen_device_flush for all that the device reads or "
    "writes before it starts, and for what it has written when it has ended"
)
"""A note on an accelerator's device."""
UNWATCHED = "it ran without sanitizers, which this machine's compiler does not have"


@dataclass(frozen=True)
class OutputDifference:
    """An output that differs: where, the values of the first element, and how many differ."""

    chain: str
    shapes: str
    against: str
    sample: int
    element: tuple[int, ...]
    wanted: float
    got: float
    differing: int
    elements: int

    def text(self) -> str:
        """Return the finding in words."""
        return (
            f"{self.chain}, {self.shapes}: {self.differing} of "
            f"{counted(self.elements, 'output')} differ from {self.against}; the first is "
            f"{list(self.element)} of sample {self.sample}: wanted {self.wanted:g}, got "
            f"{self.got:g}"
        )


@dataclass(frozen=True)
class Acceptance:
    """The outcome of one operation's trials; `notes` list the untried parts, with reasons.

    `steps` is the declared difference, and `differing` the number of elements that differ from the
    oracle's. `largest` is the largest difference in steps.
    """

    number: int
    chain: str
    call: str
    networks: int = 0
    samples: int = 0
    elements: int = 0
    compared: tuple[str, ...] = ()
    findings: tuple[OutputDifference, ...] = ()
    notes: tuple[str, ...] = ()
    is_possible: bool = True
    steps: float = 0.0
    differing: int = 0
    largest: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether something was compared and nothing differed by more than declared."""
        return self.elements > 0 and not self.findings


def check_accelerator(
    accelerator: Wrapped, seed: int, watch: Watch, is_watched: bool = True
) -> Iterator[Acceptance]:
    """Yield the result of each operation of an accelerator; `is_watched` means by sanitizers.

    InputError for C that does not compile, AcceleratorFault for functions that crash or hang.
    """
    for chain in accelerator.chains:
        title = " + ".join(chain.members)
        watch.say(f"trying {title}")

        def tried(has_cache: bool, chain: Chain = chain, title: str = title) -> Acceptance:
            alone = accelerator.only(chain.number, has_cache, is_watched)
            return _tried(alone.lowered_by(aot.c_function), chain, title, seed)

        try:
            result = tried(True)
        except AcceleratorFault as fault:
            if not accelerator.devices or not _passes(tried):
                raise
            raise AcceleratorFault(f"{fault}; {CACHE_FAULT}") from None
        if result.findings and accelerator.devices and _passes(tried):
            result = replace(result, notes=(*result.notes, CACHE_FAULT))
        if is_watched and result.elements and not sanitizers():
            result = replace(result, notes=(*result.notes, UNWATCHED))
        yield result


def _passes(tried: Callable[[bool], Acceptance]) -> bool:
    """Return whether trials pass without a data cache."""
    try:
        return tried(False).passed
    except (AcceleratorFault, DeviceFault):
        return False


def _tried(accelerator: Wrapped, chain: Chain, title: str, seed: int) -> Acceptance:
    empty = Acceptance(chain.number, title, chain.call, steps=chain.steps)
    if not accelerator.is_simulated:
        note = "its C does not run on this machine (host = false); verify a network on a board"
        return replace(empty, notes=(note,))
    unknown = [code for code in chain.codes if code not in trial_codes()]
    if unknown:
        note = f"there are no trials of {unknown[0]}; {_remedy(accelerator)}"
        return replace(empty, notes=(note,))
    trials: list[TrialNetwork] = []
    notes: list[str] = []
    for codes, dtype in itertools.product(_variants(chain), chain.dtypes):
        allowed, why = _allowed(accelerator, codes, dtype, (seed, chain.limits))
        trials += allowed
        if not allowed:
            of = f"{' + '.join(codes)} of {dtype}"
            notes.append(
                f"none of {counted(ATTEMPTS, 'network')} of {of} was taken: {why}; if that is as "
                f"it should be, {_remedy(accelerator)}"
            )
    if not trials:
        return replace(empty, notes=tuple(notes), is_possible=False)
    return _compared(accelerator, replace(empty, notes=tuple(notes)), trials, seed)


def _remedy(accelerator: Wrapped) -> str:
    return (
        "verify a network that has such operators: ethosgen verify MODEL.tflite --npu none "
        f"--accelerator {accelerator.name} --board corstone300"
    )


def _variants(chain: Chain) -> list[tuple[str, ...]]:
    """Return the chains with and without each optional member."""
    choices = [
        ((), (member[:-1],)) if member.endswith("?") else ((member,),) for member in chain.members
    ]
    return [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*choices)]


def _allowed(
    accelerator: Wrapped, codes: tuple[str, ...], dtype: str, drawn: tuple[int, tuple[int, ...]]
) -> tuple[list[TrialNetwork], str]:
    """Return trials that an accelerator takes, and the most frequent reason for refusals.

    `drawn` has the seed, and the numbers in the declaration.
    """
    trials: list[TrialNetwork] = []
    reasons: Counter[str] = Counter()
    seed, limits = drawn
    ends = time.monotonic() + DRAWING_S
    for number in range(ATTEMPTS):
        style = STYLES[number % len(STYLES)]
        trial = TrialNetwork(codes, dtype, style, seed + number, limits)
        most = 1 if number < ATTEMPTS // 2 else OF_A_STYLE
        if sum(other.style == style for other in trials) >= most:
            continue
        try:
            network = trial_network([trial])
        except UnsuitableSizeError:
            continue
        offers = accelerator.offers(plan_cpu_only(network, IoStyle.ARENA), Allocation())
        refusals = [offer.refusal for _, offer in sorted(offers.items()) if offer.refusal]
        if not refusals and len({offer.group for offer in offers.values()}) == 1:
            trials.append(trial)
        reasons.update(refusal for refusal in refusals if not refusal.startswith("it does not run"))
        if len(trials) == NETWORKS or (trials and time.monotonic() > ends):
            break
    return trials, reasons.most_common(1)[0][0] if reasons else "it is not one chain for it"


def _compared(
    accelerator: Wrapped, result: Acceptance, trials: Sequence[TrialNetwork], seed: int
) -> Acceptance:
    """Run all trials side by side, and compare each one's output."""
    network = trial_network(trials)
    plain = plan_cpu_only(network, IoStyle.ARENA)
    samples = draw_samples(network, SAMPLES, seed)
    got = simulate_samples(accelerator.compile(plain, Allocation()), samples, Watch())
    references, notes = [], list(result.notes)
    for who in (_by_kernels, _by_oracle):
        try:
            references.append(who(network, plain, samples))
        except UnsupportedError as error:
            notes.append(f"not compared with {_NAMES[who]}: {error}")
    findings = [
        finding
        for name, wanted, tolerance in references
        for place, trial in enumerate(trials)
        for finding in _differences(
            network, place, trial, name, (got, wanted), tolerance, result.steps
        )
    ]
    differing, largest = _measured(got, references[-1][1]) if references else (0, 0.0)
    return replace(
        result,
        differing=differing,
        largest=largest,
        networks=len(trials),
        samples=len(samples),
        elements=sum(array.size for outputs in got for array in outputs.values()),
        compared=tuple(name for name, *_ in references),
        findings=tuple(findings),
        notes=tuple(notes),
    )


def _measured(got: Sequence[Arrays], wanted: Sequence[Arrays]) -> tuple[int, float]:
    """Return the number of elements that differ, and the largest difference in steps."""
    differing, largest = 0, 0.0
    for ours, theirs in zip(got, wanted, strict=True):
        for name, right in theirs.items():
            mine = ours[name]
            same = (mine == right) | (np.isnan(mine) & np.isnan(right))
            with np.errstate(invalid="ignore"):
                far = np.abs(mine.astype(np.float64) - right.astype(np.float64))
            far = np.where(same, 0.0, np.nan_to_num(far, nan=np.inf, posinf=np.inf))
            if right.dtype.kind == "f":
                step = FLOAT_STEP * float(np.abs(right[np.isfinite(right)]).max(initial=0.0))
                far = far / (step or 1.0)
            differing += int(np.count_nonzero(far))
            largest = max(largest, float(far.max(initial=0.0)))
    return differing, largest


_Reference = tuple[str, list[Arrays], float]


def _by_kernels(network: Network, plan: Plan, samples: Sequence[Arrays]) -> _Reference:
    outputs = simulate_samples(plan, samples, Watch())
    return OURS, outputs, tolerance_of(network, next(iter(ORACLES)))


def _by_oracle(network: Network, _plan: Plan, samples: Sequence[Arrays]) -> _Reference:
    golden = golden_answer(network, samples)
    return golden.oracle.title, list(golden.outputs), golden.tolerance


_NAMES = {_by_kernels: OURS, _by_oracle: "the oracle"}


def _differences(
    network: Network,
    place: int,
    trial: TrialNetwork,
    against: str,
    outputs: tuple[list[Arrays], list[Arrays]],
    tolerance: float,
    steps: float,
) -> Iterator[OutputDifference]:
    """Yield the difference of one trial's output, if there is one."""
    graph = network.graph
    tensor = graph.output_tensors()[place]
    got, wanted = (_only(each, tensor.name) for each in outputs)
    comparison = compare("", got, wanted, tolerance, steps=steps)
    if not comparison.mismatches:
        return
    for number, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        ours, right = mine[tensor.name], theirs[tensor.name]
        places = np.argwhere(ours != right)
        if not places.size:
            continue
        element = tuple(int(i) for i in places[0])
        yield OutputDifference(
            " + ".join(trial.codes),
            _shapes(network, place, len(trial.codes)),
            against,
            number,
            element,
            float(right[element]),
            float(ours[element]),
            comparison.mismatches,
            comparison.elements,
        )
        return


def _only(outputs: Sequence[Arrays], name: str) -> list[Arrays]:
    return [{name: output[name]} for output in outputs]


def _shapes(network: Network, place: int, length: int) -> str:
    """Return the shapes of a trial's tensors, and the options of its operators."""
    graph = network.graph
    output = graph.outputs[place]
    last = next(op.index for op in graph.operators if output in op.outputs)
    words = []
    for operator in graph.operators[last - length + 1 : last + 1]:
        shapes = [graph.tensors[i].shape for i in operator.inputs[:2] if i >= 0]
        words += ["x".join(map(str, shape)) for shape in shapes if shape]
        keys = ("padding", "stride_h", "stride_w", "fused_activation_function")
        words += [f"{key} {operator.options[key]}" for key in keys if key in operator.options]
    return f"{' '.join(words)} to {'x'.join(map(str, graph.tensors[output].shape))}"
