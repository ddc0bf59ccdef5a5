"""Runs networks through `ethosgen project`, but in this process and many at once.

The plan uses the errata and the check, as in `project`. Its partitions run on the NPU model and its
CPU operators as LLVM code on this machine, with samples that the check has not used. The oracle is
the product's: TFLite Micro, or LiteRT if TFLite Micro cannot run the network.
"""

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.oracle import ORACLES
from ethosgen.oracle.answers import Answer as Golden
from ethosgen.values.errors import EthosgenError, NpuFault
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, OutputComparison
from ethosgen.values.plan import EXACT, PlanSummary
from ethosgen.values.watch import Watch
from ethosgen.verdict.exactness import draw, exact_plan
from ethosgen.verdict.trial import question_of
from tests.corpus.oracles import Answer, Question, ask
from tests.corpus.settings import Setting
from tests.corpus.trial import Key, case_of, make_samples, setting_of
from tests.support.planners import FunctionPlanner

EQUAL, DIFFERS, REFUSED, FAULT, CRASH, SILENT = (
    "equal",
    "differs",
    "refused",
    "fault",
    "crash",
    "silent",
)
"""The possible outcomes; SILENT means that no oracle runs the network."""


@dataclass(frozen=True)
class Job:
    """A network, the setting that it is compiled with, and the samples that judge it."""

    name: str
    network: Network
    setting: Setting
    samples: Sequence[Arrays]


@dataclass
class Outcome:
    """The outcome of a network; `why` is the reason if there is no comparison."""

    name: str
    setting: Setting
    how: str
    why: str = ""
    comparison: OutputComparison | None = None
    plan: PlanSummary | None = field(default=None, repr=False)
    seconds: float = 0.0

    @property
    def errata(self) -> tuple[str, ...]:
        """The names of the errata that keep operators on the CPU."""
        kept = self.plan.cpu_operators if self.plan else ()
        return tuple(sorted({cpu.erratum for cpu in kept if cpu.erratum}))


def run_as_projects(jobs: Sequence[Job]) -> list[Outcome]:
    """Run networks as projects; ask the oracles about all of them at once."""
    checks = [draw(job.network) for job in jobs]
    asked = [
        (job.network, s) for job, c in zip(jobs, checks, strict=True) for s in (c, job.samples)
    ]
    answers = _ask_all(asked)
    outcomes = []
    for number, job in enumerate(jobs):
        start = time.process_time()
        outcome = _run(job, answers[2 * number], answers[2 * number + 1])
        outcome.seconds = time.process_time() - start
        outcomes.append(outcome)
    return outcomes


def run_keys_as_projects(keys: Sequence[Key], products: Sequence[str]) -> list[Outcome]:
    """Run the corpus's networks as projects, each with its own setting for each product."""
    jobs = []
    for key in keys:
        case = case_of(key)
        network = decode_network(case.data, str(key))
        samples = make_samples(network, case, key.seed)
        jobs += [Job(str(key), network, setting_of(key, product), samples) for product in products]
    return run_as_projects(jobs)


def _run(job: Job, check: Golden | str, golden: Golden | str) -> Outcome:
    outcome = Outcome(job.name, job.setting, SILENT, golden if isinstance(golden, str) else "")
    try:
        outputs = _simulate(job, check, outcome)
    except NpuFault as fault:
        outcome.how, outcome.why = FAULT, str(fault)
    except EthosgenError as error:
        outcome.how, outcome.why = REFUSED, str(error)
    except Exception:  # a traceback is a bug in ethosgen, and a finding
        outcome.how, outcome.why = CRASH, traceback.format_exc(limit=-4)
    else:
        if isinstance(golden, Golden):
            compared = golden.compared(outputs)
            outcome.comparison = compared
            outcome.how = DIFFERS if compared.mismatches else EQUAL
    return outcome


def _simulate(job: Job, check: Golden | str, outcome: Outcome) -> list[Arrays]:
    from ethosgen.aot import make_evaluator
    from ethosgen.backend.ethosu.simulator.host import PartitionRunner

    setting, network = job.setting, job.network
    plan = exact_plan(
        network,
        FunctionPlanner(setting.accelerator, setting.compile, setting.io),
        EXACT,
        Watch(),
        lambda _network, _samples, _oracle: check,
    )
    outcome.plan = plan.summary()
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    return [evaluate(sample, runner) for sample in job.samples]


def _ask_all(asked: Sequence[tuple[Network, Sequence[Arrays]]]) -> list[Golden | str]:
    """Ask TFLite Micro about all networks, and LiteRT about those that TFLite Micro cannot run."""
    answers_of: dict[int, Golden | str] = {}
    left = list(range(len(asked)))
    for oracle in ("tflm", "litert"):
        answers = ask(oracle, [_question(*asked[i]) for i in left])
        for index, answer in zip(left, answers, strict=True):
            answers_of[index] = _golden(oracle, *asked[index], answer)
        left = [i for i in left if isinstance(answers_of[i], str)]
    return [answers_of[i] for i in range(len(asked))]


def _question(network: Network, samples: Sequence[Arrays]) -> Question:
    inputs = [[np.asarray(sample[t.name]) for t in network.inputs] for sample in samples]
    return file_of(network), inputs, len(network.outputs)


def _golden(
    oracle: str, network: Network, samples: Sequence[Arrays], answer: Answer
) -> Golden | str:
    how, value = answer
    if how != "ok":
        return f"{oracle}: {value}"
    named: list[Mapping[str, np.ndarray]] = [
        {t.name: np.asarray(a).reshape(t.shape) for t, a in zip(network.outputs, row, strict=True)}
        for row in value
    ]
    return Golden(question_of(network, samples), ORACLES[oracle], named)
