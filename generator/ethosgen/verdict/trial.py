"""Trials of a network, or a part of it: plan it, run it here, compare it with the oracle."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

from ethosgen.oracle.answers import Answer, Question, answer
from ethosgen.oracle.interpreters import awaited
from ethosgen.values.errors import NpuFault
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, Difference, OutputComparison
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples

Make = Callable[[Network], Plan]
"""Plans a network, or a part of it, with the whole network's settings."""


@dataclass(frozen=True)
class Trial:
    """The outputs of a plan, or the fault that ended it; the oracle runs unless `answered`."""

    plan: Plan
    question: Question
    outputs: Sequence[Arrays] = ()
    fault: NpuFault | None = None
    answered: Answer | None = None

    @cached_property
    def golden(self) -> Answer:
        """The oracle's answer; EthosgenError if none can run the network."""
        return self.answered or answer(self.question)

    @cached_property
    def comparison(self) -> OutputComparison:
        """The comparison of the outputs, without what C++ leaves undefined; NpuFault after one."""
        if self.fault is not None:
            raise self.fault
        return self.golden.against(self.outputs, self.plan.steps)

    @property
    def first(self) -> Difference | None:
        """The first element that differs, None if there is none or a fault ended the run."""
        return None if self.fault else self.comparison.first

    @property
    def is_equal(self) -> bool:
        """Whether the run ended well and nothing differs."""
        return self.fault is None and self.comparison.first is None


def question_of(network: Network, samples: Sequence[Arrays], oracle: str | None = None) -> Question:
    """Return the question for the oracles; our kernels declare their exactness."""

    def is_exact(asked: Network) -> bool:
        from ethosgen import aot

        return aot.is_exact(asked)

    return Question(network, samples, oracle, is_exact)


def try_out(network: Network, samples: Sequence[Arrays], make: Make, oracle: str | None) -> Trial:
    """Plan a network and run samples, its partitions on the NPU model; `oracle` has the answer."""
    plan, question = make(network), question_of(network, samples, oracle)
    try:
        return Trial(plan, question, simulate_samples(plan, samples, Watch()))
    except NpuFault as fault:
        return Trial(plan, question, fault=fault)


def try_out_beside_oracle(
    network: Network, samples: Sequence[Arrays], make: Make, oracle: str | None
) -> Trial:
    """Do the same while the oracle's child works, for a trial whose answer is needed."""
    trials: list[Trial] = []

    def run_here() -> None:
        trials.append(try_out(network, samples, make, oracle))

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(answer, question_of(network, samples, oracle))
        (golden,) = awaited([asked], meanwhile=run_here)
    return replace(trials[0], answered=golden)
