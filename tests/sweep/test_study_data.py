"""Labelled data of a study: figures as of `ethosgen accuracy`, and nothing computed twice."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.oracle import DEFAULT
from ethosgen.studies.accuracy import AccuracyRequest, measure_accuracy
from ethosgen.studies.comparison import sources_digest
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen_sweep import sweeping
from ethosgen_sweep.jobs import do_jobs
from ethosgen_sweep.report import SweepReport
from ethosgen_sweep.sweeping import Measure, SweepRequest, Todo
from tests.support.needs import needs_extra
from tests.support.networks import NetworkBuilder
from tests.support.small_models import image_net, recurrent_net, two_inputs
from tests.support.stream_networks import waiting

pytestmark = needs_extra("sweep")

NPU, OTHER = "ethos-u55-128", "ethos-u85-256"
COUNT = 40
HEAD = 'networks = ["*.tflite"]\nsamples = 0\ncheck = false\nnpus = {npus}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    image_net(tmp_path / "image_net.tflite")
    images = np.random.default_rng(3).integers(-128, 128, (COUNT, 8, 8, 3), np.int8)
    np.savez(tmp_path / "d.npz", x=images, y=np.arange(COUNT) % 4)
    return tmp_path


def todo_of(folder: Path, data: str, *npus: str, **asked: bool) -> Todo:
    """Write a study with tables of data; return what is to be done for it."""
    (folder / "study.toml").write_text(HEAD.format(npus=list(npus) or [NPU]) + data)
    return Todo(SweepRequest(folder / "study.toml", folder / "store", **asked))


def finish(todo: Todo) -> SweepReport:
    """Do all that is missing in this process, as a worker does."""
    compute = Measure(sources_digest())
    for batch in list(todo.batches(lambda: 1)):
        for answer in do_jobs(compute, batch.jobs, batch.shared, todo.store.shelf()):
            todo.take(answer)
    return todo.report(0.0)


def table(**fields: str | int | list[str]) -> str:
    """Return a table of data; strings and lists of them are spelled alike in Python and TOML."""
    return "[[data]]\n" + "".join(f"{name} = {value!r}\n" for name, value in fields.items())


def alone(folder: Path, network: str, **changes: object) -> AccuracyReport:
    """Return what `ethosgen accuracy` finds in the same data, without its times."""
    unchecked = OffloadOptions(check=False)
    asked = AccuracyRequest(folder / network, folder / "d.npz", options=unchecked, processes=1)
    return replace(measure_accuracy(replace(asked, **changes), Watch()), work=())  # type: ignore[arg-type]


def test_the_figures_are_those_of_accuracy(folder: Path) -> None:
    on = ["simulate", DEFAULT.name]
    data = table(path="d.npz", on=on, shard_size=8) + "top = [2]\n"
    todo = todo_of(folder, data, NPU, "none")
    shards = todo.counts().shards
    assert shards.total == shards.missing and shards.total % 3 == 0  # the oracle knows no NPU
    assert 3 * 5 < shards.total < 3 * COUNT
    report = finish(todo)
    assert report.passed and not report.counts.shards.missing
    assert [result.npu for result in report.accuracy] == [NPU, "none"]
    for result in report.accuracy:
        wanted = alone(folder, "image_net.tflite", npu=result.npu, on=tuple(on), tops=(1, 2))
        assert result.report == wanted and len(wanted.verdicts) == COUNT


def test_only_what_is_new_is_computed(folder: Path) -> None:
    data = table(path="d.npz", shard_size=8)
    first = finish(todo_of(folder, data)).counts.shards
    assert first.computed == first.total > 5 and not first.kept
    again = finish(todo_of(folder, data)).counts.shards
    assert (again.kept, again.computed) == (first.total, 0)
    wider = finish(todo_of(folder, data, NPU, OTHER)).counts.shards
    assert (wider.kept, wider.computed) == (first.total, first.total)
    with np.load(folder / "d.npz") as archive:
        images = archive["x"]
    np.savez(folder / "d.npz", x=images, y=np.zeros(COUNT, int))
    relabelled = finish(todo_of(folder, data))
    assert not relabelled.counts.shards.computed
    assert relabelled.accuracy[0].report == alone(folder, "image_net.tflite")
    more = np.concatenate([images, images[:3] ^ 1])
    np.savez(folder / "d.npz", x=more, y=np.arange(COUNT + 3) % 4)
    grown = finish(todo_of(folder, data))
    assert 0 < grown.counts.shards.computed <= 4 and grown.counts.shards.kept >= first.total - 1
    assert grown.accuracy[0].report == alone(folder, "image_net.tflite")


def test_tables_have_their_own_networks_and_detectors_their_scores(folder: Path) -> None:
    two_inputs(folder / "two_inputs.tflite")
    inputs = np.random.default_rng(1).integers(-128, 128, (6, 4, 4, 8), np.int8)
    np.savez(folder / "pairs.npz", left=inputs, right=inputs[::-1], y=[0, 1, 0, 1, 0, 1])
    data = table(path="d.npz", networks=["image*"], score="3")
    data += table(path="pairs.npz", name="b", networks=["two_inputs.tflite"], score=2, output=1)
    report = finish(todo_of(folder, data))
    assert [(result.data, result.network) for result in report.accuracy] == [
        ("d", "image_net"),
        ("b", "two_inputs"),
    ]
    assert report.accuracy[0].report == alone(folder, "image_net.tflite", score="3")
    pairs = {"data": folder / "pairs.npz", "score": "2", "output": "1"}
    assert report.accuracy[1].report == alone(folder, "two_inputs.tflite", **pairs)
    assert report.accuracy[1].as_row()["auc"] is not None


def test_sequences_and_waiting_networks(tmp_path: Path) -> None:
    (x,) = frontend.read(recurrent_net(tmp_path / "r.tflite")).inputs
    inputs = np.random.default_rng(4).integers(-128, 128, (6, 3, *x.shape)).astype(x.dtype)
    np.savez(tmp_path / "d.npz", x=inputs, y=range(6))
    on = ["simulate", DEFAULT.name]
    report = finish(todo_of(tmp_path, table(path="d.npz", on=on, state="sequence", shard_size=2)))
    wanted = alone(tmp_path, "r.tflite", state="sequence", on=tuple(on))
    assert report.passed and report.accuracy[0].report == wanted
    net = NetworkBuilder("waiting", 1)
    (tmp_path / "r.tflite").write_bytes(net.build(*waiting(net)))
    (x,) = frontend.read(tmp_path / "r.tflite").inputs
    inputs = np.random.default_rng(4).integers(-128, 128, (4, 12, *x.shape)).astype(x.dtype)
    np.savez(tmp_path / "d.npz", x=inputs, y=range(4))
    for state, steps in (("sequence", 12), ("reset", 1)):
        arrays = inputs if steps > 1 else inputs[:, 0]
        np.savez(tmp_path / "d.npz", x=arrays, y=np.zeros(4, int))
        (result,) = finish(todo_of(tmp_path, table(path="d.npz", state=state, output="0"))).accuracy
        if steps > 1:
            assert result.report == alone(tmp_path, "r.tflite", state=state, output="0")
        else:
            assert "had no output for any sample" in result.refusal and not result.may_pass


def test_an_oracle_that_differs_fails_the_sweep(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sweeping.run_shard

    def changed(source: object, shard: sweeping.ShardRun) -> tuple[Network, list[Arrays]]:
        network, outputs = run(source, shard)  # type: ignore[arg-type]
        if shard.runner.on == DEFAULT.name:
            outputs[-1] = {name: array ^ 1 for name, array in outputs[-1].items()}
        return network, outputs

    monkeypatch.setattr(sweeping, "run_shard", changed)
    todo = todo_of(folder, table(path="d.npz", on=["simulate", DEFAULT.name], shard_size=30))
    report = finish(todo)
    (result,) = report.accuracy
    assert result.differs and not report.passed
    assert result.as_row()["differing"] == todo.counts().shards.total // 2


@pytest.mark.parametrize("error", [InputError("it is refused"), ToolError("a tool lacks")])
def test_what_is_refused_is_kept_and_what_may_pass_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    is_kept = isinstance(error, InputError)
    data = table(path="d.npz", shard_size=30)
    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "run_shard", refuse)
        report = finish(todo_of(folder, data))
    (result,) = report.accuracy
    assert result.refusal == f"simulate: {error}" and result.may_pass is not is_kept
    assert not report.passed and result.as_json()["refusal"] and result.as_row()["samples"] is None
    shards = report.counts.shards
    assert (shards.failed, shards.missing) == (0 if is_kept else shards.total,) * 2
    assert todo_of(folder, data).counts().shards.kept == (shards.total if is_kept else 0)
    retried = finish(todo_of(folder, data, retry_refused=True))
    assert retried.passed and retried.counts.shards.computed == shards.total


def test_a_network_that_nobody_can_read_is_a_refusal(folder: Path) -> None:
    (folder / "damaged.tflite").write_bytes((folder / "image_net.tflite").read_bytes()[:300])
    report = finish(todo_of(folder, table(path="d.npz")))
    assert [bool(result.refusal) for result in report.accuracy] == [True, False]
    assert report.passed


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (table(path="none.npz"), "data 'none' for 'image_net': .*none.npz"),
        (table(path="d.npz", on=["mars"]), "data 'd': on: unknown target 'mars'; choose from: sim"),
        (table(path="d.npz", on=["qemu"]), "on: firmware on QEMU is measured by ethosgen accuracy"),
        (table(path="d.npz", on=["simulate"] * 2), "data 'd': on: names a target twice"),
        (table(path="d.npz", networks=["x*"]), r"data 'd': networks: no file fits 'x\*'"),
        (table(path="d.npz", networks=["d.npz"]), "'.*d.npz' is none of the study's networks"),
        (table(path="d.npz", score=9), "data 'd' for 'image_net': --score 9 is neither"),
        (table(path="d.npz", mean=1), "prepare pictures and sounds in a folder"),
    ],
)
def test_a_faulty_table_is_one_sentence(folder: Path, data: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        todo_of(folder, data)
    assert "study.toml" in str(raised.value) and "\n" not in str(raised.value)


def test_only_oracles_need_no_npu(folder: Path) -> None:
    report = finish(todo_of(folder, table(path="d.npz", on=[DEFAULT.name]), NPU, "none"))
    (result,) = report.accuracy
    assert result.npu is None and result.report is not None
    assert result.report.classification == alone(folder, "image_net.tflite").classification
