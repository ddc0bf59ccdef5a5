"""Runs cases: Vela compiles them, the NPU model runs them, and both oracles judge the outputs."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.values.errors import EthosgenError, NpuFault
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan
from tests.corpus.choices import seeded
from tests.corpus.draft import Case
from tests.corpus.expectation import expect, signed, unsigned
from tests.corpus.known import find_fault
from tests.corpus.oracles import Array, Question, ask
from tests.corpus.registry import GENERATORS
from tests.corpus.settings import Setting, choose_setting
from tests.corpus.site import FAULT, OperatorSite
from tests.support.network_file import write

SAMPLES = 3
Runner = Callable[[Partition, Arrays], Arrays]
ORACLES = ("tflm", "litert")


@dataclass(frozen=True)
class Key:
    """Identifies a case."""

    operator: str
    dtype: str
    seed: int

    def __str__(self) -> str:
        return f"{self.operator} {self.dtype} {self.seed}"


@dataclass(frozen=True)
class Difference:
    """The difference between a network's outputs and an oracle's."""

    elements: int
    mismatches: int
    largest: int


@dataclass
class Trial:
    """One case with one setting.

    `where` is "npu" if Vela put all of it there, "cpu" or "refused" if not, or "fault" or "crash"
    if the model failed; `why` is the reason. `oracles` has a Difference or the reason for its
    absence; `known` names the entries of known.KNOWN that explain a difference or a fault.
    """

    key: Key
    setting: Setting
    where: str = ""
    why: str = ""
    outputs: list[Arrays] | None = field(default=None, repr=False)
    oracles: dict[str, Difference | str] = field(default_factory=dict)
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def unexpected(self) -> list[str]:
        """Return the differences and failures without a known reason."""
        texts = [
            f"{oracle}: {difference}"
            for oracle, difference in self.oracles.items()
            if isinstance(difference, Difference)
            and difference.mismatches
            and oracle not in self.known
        ]
        if self.where == "crash" or (self.where == "fault" and "fault" not in self.known):
            texts.append(self.why)
        return [f"{self.key} on {self.setting}: {text}" for text in texts]


def case_of(key: Key) -> Case:
    """Build the network of a key."""
    return GENERATORS[key.operator][0](seeded(*_numbers(key), 0), key.dtype)


def setting_of(key: Key, product: str) -> Setting:
    """Return a key's setting for a product."""
    return choose_setting(seeded(*_numbers(key), 1, ord(product[1])), product)


def _numbers(key: Key) -> tuple[int, ...]:
    return (key.seed, *f"{key.operator} {key.dtype}".encode())


@dataclass
class Run:
    """A network, its samples, and a trial for each setting."""

    case: Case
    network: Network
    samples: list[Arrays]
    trials: list[Trial]
    answers: dict[str, list[list[Array]]] = field(default_factory=dict)
    """The outputs of each oracle that runs the network, in the network's own dtypes and shapes."""

    def question(self, oracle: str) -> Question:
        """Return the question for an oracle; TFLite Micro gets the int8 twin of a uint8 network."""
        samples = [[sample[t.name] for t in self.network.inputs] for sample in self.samples]
        if oracle != "tflm" or self.case.twin is None:
            return self.case.data, samples, len(self.network.outputs)
        twin = write(self.case.twin)
        return twin, [[signed(a) for a in sample] for sample in samples], len(self.network.outputs)

    def golden(self, answers: list[list[Array]]) -> list[list[Array]]:
        """Convert an oracle's answers to the network's own dtypes and shapes."""
        return [
            [
                (unsigned(a) if t.dtype == "uint8" else np.asarray(a)).reshape(t.shape)
                for t, a in zip(self.network.outputs, answer, strict=True)
            ]
            for answer in answers
        ]


def run_keys(keys: Sequence[Key], products: Sequence[str]) -> list[Trial]:
    """Run cases by key, each with its own setting for each product."""
    runs = [
        run_case(key, case_of(key), [setting_of(key, product) for product in products])
        for key in keys
    ]
    judge(runs)
    explain_trials(runs)
    return [trial for run in runs for trial in run.trials]


def explain_trials(runs: Sequence[Run]) -> None:
    """Set the known reasons of each difference and fault that they explain."""
    for run in runs:
        for trial in run.trials:
            if trial.where == "fault":
                _explain_fault(run, trial)
            for oracle, difference in trial.oracles.items():
                if isinstance(difference, Difference) and difference.mismatches:
                    _explain(run, trial, oracle)


def _explain_fault(run: Run, trial: Trial) -> None:
    graph = run.network.graph
    sites = (OperatorSite(graph, operator, trial.setting) for operator in graph.operators)
    names = [entry.name for site in sites if (entry := find_fault(site, trial.why))]
    if names:
        trial.known[FAULT] = tuple(names)


def _explain(run: Run, trial: Trial, oracle: str) -> None:
    """Explain a difference if the outputs that the known reasons predict equal the NPU's."""
    expected = expect(run.case, run.network.graph, trial.setting, oracle, run.samples)
    if expected is None or not expected.reasons or trial.outputs is None:
        return
    if not compare(trial.outputs, run.network, expected.outputs).mismatches:
        trial.known[oracle] = tuple(dict.fromkeys(entry.name for entry in expected.reasons))


def run_case(key: Key, case: Case, settings: Sequence[Setting]) -> Run:
    """Run one network on the model with several settings; do not compare its outputs yet."""
    network = decode_network(case.data, str(key))
    run = Run(
        case, network, make_samples(network, case, key.seed), [Trial(key, s) for s in settings]
    )
    for trial in run.trials:
        try:
            _run(trial, network, run.samples)
        except NpuFault as fault:
            trial.where, trial.why = "fault", str(fault)
        except EthosgenError as error:
            trial.where, trial.why = "refused", str(error)
        except Exception:  # a traceback is a bug in ethosgen, and a finding
            trial.where, trial.why = "crash", traceback.format_exc(limit=-4)
    return run


def _run(trial: Trial, network: Network, samples: list[Arrays]) -> None:
    from ethosgen.aot import make_evaluator
    from ethosgen.backend.ethosu.simulator.host import PartitionRunner

    plan = trial.setting.compile(network)
    if plan.cpu_operators or not plan.partitions:
        trial.where = "cpu"
        trial.why = "; ".join(f"{o.code}: {o.reason}" for o in plan.cpu_operators) or "no partition"
        return
    runner = PartitionRunner(plan)
    if any(tensor.is_variable for tensor in network.graph.tensors) and plan.offsets:
        trial.outputs = _run_with_state(plan, runner, samples)
    else:
        evaluate = make_evaluator(plan)
        trial.outputs = [evaluate(sample, runner) for sample in samples]
    trial.where = "npu"


def _run_with_state(plan: Plan, runner: Runner, samples: list[Arrays]) -> list[Arrays]:
    """Run a network with a state, which starts at the zero point and is updated in place.

    Vela lists every step's state as a separate output at the state's offset.
    """
    (partition,) = plan.partitions
    tensors = plan.residual.tensors
    states = {
        t.index: np.full(t.shape, t.quantization.zero_point[0] if t.quantization else 0, t.dtype)
        for t in (tensors[i] for i in partition.inputs)
        if t.is_variable
    }
    outputs: list[Arrays] = []
    for sample in samples:
        inputs = dict(sample) | {tensors[i].name: state for i, state in states.items()}
        written = runner(partition, inputs)
        for index in partition.outputs:
            for state in states:
                if plan.offsets[index] == plan.offsets[state]:
                    states[state] = written[tensors[index].name].reshape(tensors[state].shape)
        outputs.append({t.name: written[t.name] for t in plan.residual.output_tensors()})
    return outputs


def make_samples(network: Network, case: Case, seed: int) -> list[Arrays]:
    """Draw samples: over the whole range, near the zero point, and at the ends of the range."""
    samples: list[Arrays] = []
    for index in range(SAMPLES):
        random = np.random.default_rng((seed, index))
        sample = {}
        for tensor in network.inputs:
            low, high = case.ranges.get(tensor.name, _limits(tensor.dtype))
            values = random.integers(low, high, tensor.shape, np.int64, endpoint=True)
            if index == 1:
                point = tensor.quantization.zero_point[0] if tensor.quantization else 0
                values = np.clip(point + values // 16, low, high)
            elif index == 2:
                values = np.where(values * 2 > low + high, high, low)
            sample[tensor.name] = values.astype(tensor.dtype)
        samples.append(sample)
    return samples


def _limits(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest value of a type."""
    if dtype == "bool":
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def judge(runs: Sequence[Run]) -> None:
    """Compare trials with both oracles, all networks in one call for each."""
    asked = [run for run in runs if any(trial.outputs for trial in run.trials)]
    for oracle in ORACLES:
        answers = ask(oracle, [run.question(oracle) for run in asked])
        for run, (how, value) in zip(asked, answers, strict=True):
            if how == "ok":
                run.answers[oracle] = run.golden(value)
            for trial in run.trials:
                if trial.outputs:
                    trial.oracles[oracle] = (
                        compare(trial.outputs, run.network, run.answers[oracle])
                        if how == "ok"
                        else f"{how}: {value}"
                    )


def compare(outputs: list[Arrays], network: Network, golden: list[list[Array]]) -> Difference:
    """Count the elements that differ, over all samples and outputs."""
    elements = mismatches = largest = 0
    for sample, expected in zip(outputs, golden, strict=True):
        for tensor, array in zip(network.outputs, expected, strict=True):
            off = np.abs(sample[tensor.name].astype(np.int64) - array.astype(np.int64))
            elements += off.size
            mismatches += int(np.count_nonzero(off))
            largest = max(largest, int(off.max(initial=0)))
    return Difference(elements, mismatches, largest)
