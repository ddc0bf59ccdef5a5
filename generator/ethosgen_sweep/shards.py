"""Runs a shard of labelled data on a target.

These are plain functions of values that can be pickled, like those of points.
"""

import hashlib
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field

from ethosgen.backend import require_simulator
from ethosgen.flow.planning import PlanSettings, choose_accelerator, make_plan
from ethosgen.frontend import read_source
from ethosgen.oracle import ORACLES
from ethosgen.studies.comparison import sources_digest
from ethosgen.studies.sample_runners import OracleMaker, SimulatorMaker, last_outputs
from ethosgen.studies.workers import Make, RunSamples
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import EXACT, OffloadOptions
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch
from ethosgen_sweep.sharding import Shard


@dataclass(frozen=True)
class ShardRunner:
    """The runner of samples: the NPU model for `npu`, or an oracle, which knows neither NPU nor
    plan.

    `on` is the name of either.
    """

    on: str
    npu: str | None = None
    options: OffloadOptions = EXACT


@dataclass(frozen=True)
class ShardRun:
    """A shard of labelled data to run; the network is passed separately."""

    runner: ShardRunner
    shard: Shard = field(repr=False)


def key_of_shard(source: Source, run: ShardRun) -> str:
    """Return a digest of everything that a shard's outputs depend on: a key for stores.

    It covers the network's bytes but not its name, and the samples without their labels.
    """
    total = hashlib.sha256(source.data)
    oracle = ORACLES.get(run.runner.on)
    version = oracle.version if oracle else None
    rest = source.format, source.options, run.runner, version, run.shard.digest, sources_digest()
    total.update(repr(("shard", *rest)).encode())
    return total.hexdigest()


def run_shard(source: Source, run: ShardRun) -> tuple[Network, list[Arrays]]:
    """Run a shard's samples; return the network, and the last outputs of each sample.

    A network's state is initial before each sample. EthosgenError if the network or the target
    refuses. Threads take turns: the runner keeps the samples' intermediate values.
    """
    with _TURN:
        network, run_samples = _PREPARED.get(source, run.runner)
        return network, [last_outputs(steps) for steps in run_samples(run.shard.samples())]


_TURN = threading.Lock()


class _Prepared:
    """The network and the last runner of its samples, since many shards of one runner follow."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._key: tuple[Source, ShardRunner] | None = None
        self._made: tuple[Network, RunSamples] | InputError | None = None

    def get(self, source: Source, runner: ShardRunner) -> tuple[Network, RunSamples]:
        """Return the runner of samples; one that was refused is refused again at once."""
        if self._key != (source, runner) or self._made is None:
            self._stack.close()
            self._key, self._made = (source, runner), None
            self._made = self._prepare(source, runner)
        if isinstance(self._made, InputError):
            raise self._made
        return self._made

    def _prepare(
        self, source: Source, runner: ShardRunner
    ) -> tuple[Network, RunSamples] | InputError:
        try:
            network = read_source(source)
            return network, self._stack.enter_context(_maker(network, runner)())
        except InputError as error:
            return error


_PREPARED = _Prepared()


def _maker(network: Network, runner: ShardRunner) -> Make:
    if runner.on in ORACLES:
        return OracleMaker(runner.on, network)
    accelerator = choose_accelerator(network, runner.npu, None)
    if accelerator is not None:
        require_simulator(accelerator)
    return SimulatorMaker(make_plan(network, PlanSettings(accelerator, runner.options), Watch()))
