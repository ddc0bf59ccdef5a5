"""The labelled data of a study: their shards, the shards' states, and the figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ethosgen.frontend import read_source
from ethosgen.oracle import ORACLES, choices
from ethosgen.samples.labelled import Labelled, load_labelled
from ethosgen.studies.accuracy import SIMULATE
from ethosgen.studies.comparison import names_of
from ethosgen.studies.sample_runners import QEMU
from ethosgen.studies.scoring import Judge, make_judge, summarize
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.accuracy import SEQUENCE
from ethosgen.values.configurations import Point
from ethosgen.values.errors import EthosgenError, InputError
from ethosgen.values.labelled import LabelledResult
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import Source
from ethosgen_sweep.jobs import Batch, Job, JobAnswer
from ethosgen_sweep.records import read_outputs, read_refusal
from ethosgen_sweep.report import Tally
from ethosgen_sweep.sharding import Shard, divide
from ethosgen_sweep.shards import ShardRun, ShardRunner, key_of_shard
from ethosgen_sweep.store import Store
from ethosgen_sweep.study import DataTable, Study, find_networks, networks_of


@dataclass(frozen=True)
class _Row:
    """A network on an NPU with its labelled data, or the reason why it cannot be judged.

    `keys` are those of each target's shards, in order.
    """

    result: LabelledResult
    judge: Judge | None = None
    shards: Sequence[Shard] = ()
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)


class StudyData:
    """The shards of a study's labelled data by key, and their states.

    InputError if data cannot be read, or do not fit a network.
    """

    def __init__(self, study: Study, path: Path, points: Sequence[Point], store: Store) -> None:
        self._path, self._store = path, store
        self._loaded: dict[Any, tuple[Labelled, Sequence[Shard]]] = {}
        self._networks: dict[str, Network | str] = {}
        self._outputs: dict[str, Sequence[Tensor]] = {}
        self.runs: dict[str, tuple[Source, ShardRun]] = {}
        """All shards to run, equal ones once."""
        self.rows = [row for table in study.data for row in self._rows(table, study, points)]
        self.stored: set[str] = set()
        self.faults: dict[str, str] = {}
        self._kept = 0

    def look(self, retry_refused: bool) -> None:
        """Find the shards that the store has; with `retry_refused`, forget refused ones."""
        for key in self.runs:
            value = self._store.get(key)
            if value is None:
                continue
            if retry_refused and read_refusal(value):
                self._store.drop(key)
            elif self._is_value(key, value):
                self.stored.add(key)
        self._kept = len(self.stored)

    def tally(self) -> Tally:
        """Return the number of shards in each state."""
        computed = len(self.stored) - self._kept
        return Tally(len(self.runs), self._kept, computed, len(self.faults))

    def batches(self) -> Iterator[Batch]:
        """Yield a job for each missing shard, those of a runner in succession."""
        missing = [key for key in self.runs if key not in self.stored]
        turns: dict[tuple[int, ShardRunner], list[str]] = {}
        for key in missing:
            source, run = self.runs[key]
            turns.setdefault((id(source), run.runner), []).append(key)
        for keys in turns.values():
            for key in keys:
                source, run = self.runs[key]
                yield Batch((Job(key, run),), source)

    def take(self, answer: JobAnswer) -> None:
        """Keep an answer; one that is not a value becomes the shard's fault."""
        value = answer.value
        if value is None or not self._is_value(answer.key, value):
            self.faults[answer.key] = answer.fault or "its worker sent no outputs"
            return
        if not answer.was_there:
            self._store.put(answer.key, value)
        self._kept += answer.was_there  # another sweep computed it meanwhile
        self.stored.add(answer.key)

    def results(self) -> tuple[LabelledResult, ...]:
        """Return all figures, by data, network and NPU."""
        return tuple(map(self._result, self.rows))

    def _is_value(self, key: str, value: bytes) -> bool:
        _, run = self.runs[key]
        outputs = read_outputs(value, self._outputs[key], len(run.shard))
        return bool(read_refusal(value)) or outputs is not None

    def _result(self, row: _Row) -> LabelledResult:
        if row.judge is None:
            return row.result
        outputs: dict[str, list[Arrays]] = {}
        for on, keys in row.keys.items():
            outputs[on] = []
            for key, shard in zip(keys, row.shards, strict=True):
                value = self._store.get(key) if key in self.stored else None
                if value is None:
                    why = self.faults.get(key, "a shard is not in the store")
                    return replace(row.result, refusal=f"{on}: {why}", may_pass=True)
                if why := read_refusal(value):
                    return replace(row.result, refusal=f"{on}: {why}")
                ran = read_outputs(value, row.judge.network.outputs, len(shard))
                outputs[on] += ran or []
        try:
            report = summarize(row.judge, row.result.npu or NO_NPU, outputs)
        except InputError as error:
            return replace(row.result, refusal=str(error))
        return replace(row.result, report=report)

    def _rows(self, table: DataTable, study: Study, points: Sequence[Point]) -> Iterator[_Row]:
        if fault := _fault_of(table.on):
            raise InputError(f"study '{self._path}': data '{table.called}': on: {fault}")
        paths = find_networks(study, self._path)
        names = dict(zip(names_of(paths), paths, strict=True))
        wanted = networks_of(table, study, self._path)
        needs_npu = not set(table.on) <= set(ORACLES)
        seen: set[tuple[str, str | None]] = set()
        for point in points:
            setting = point.setting
            npu = setting.npu if needs_npu else None
            if names[setting.network] in wanted and (setting.network, npu) not in seen:
                seen.add((setting.network, npu))
                empty = LabelledResult(table.called, setting.network, None, npu, tuple(table.on))
                yield self._row(table, point, empty)

    def _row(self, table: DataTable, point: Point, result: LabelledResult) -> _Row:
        source, name = point.source, result.network
        network = self._network(name, source)
        if isinstance(network, str):
            return _Row(replace(result, refusal=network))
        try:
            data, shards = self._load(table, network)
            judge = make_judge(network, data, _text(table.output), _text(table.score), table.tops)
        except InputError as error:
            raise InputError(
                f"study '{self._path}': data '{table.called}' for '{name}': {error}"
            ) from None
        keys = {}
        for on in table.on:
            runner = (
                ShardRunner(on) if on in ORACLES else ShardRunner(on, result.npu, point.options)
            )
            runs = [ShardRun(runner, shard) for shard in shards]
            keys[on] = [key_of_shard(source, run) for run in runs]
            self.runs |= {key: (source, run) for key, run in zip(keys[on], runs, strict=True)}
            self._outputs |= dict.fromkeys(keys[on], network.outputs)
        return _Row(result, judge, shards, keys)

    def _network(self, name: str, source: Source) -> Network | str:
        """Return a network, or the reason why it cannot be read."""
        if name not in self._networks:
            try:
                self._networks[name] = replace(read_source(source), name=name)
            except EthosgenError as error:
                self._networks[name] = str(error)
        return self._networks[name]

    def _load(self, table: DataTable, network: Network) -> tuple[Labelled, Sequence[Shard]]:
        """Read data; networks with equal inputs share them."""
        inputs = network.inputs
        kinds = tuple(
            (tensor.name, tensor.shape, tensor.dtype, tensor.quantization) for tensor in inputs
        )
        key = table.called, kinds
        if key not in self._loaded:
            folder = self._path.parent
            data = load_labelled(
                folder / Path(table.path).expanduser(),
                inputs,
                folder / Path(table.labels).expanduser() if table.labels else None,
                table.state == SEQUENCE,
                table.preparation,
            )
            self._loaded[key] = data, divide(data, table.shard_size)
        return self._loaded[key]


def _fault_of(on: Sequence[str]) -> str:
    """Return the fault of a list of targets, "" if it has none."""
    unknown = next((name for name in on if name not in (SIMULATE, *choices())), None)
    if unknown == QEMU:
        return f"firmware on QEMU is measured by ethosgen accuracy --on {QEMU} --board BOARD"
    known = f"choose from: {', '.join((SIMULATE, *choices()))}"
    if unknown is not None:
        return f"unknown target '{unknown}'; {known}"
    return f"names a target twice; {known}" if len(set(on)) < len(on) else ""


def _text(chosen: str | int | None) -> str | None:
    """Return a name or an index as on the command line."""
    return None if chosen is None else str(chosen)
