"""A shard's outputs are those of its samples, whoever runs it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.oracle import DEFAULT, choices
from ethosgen.samples.labelled import Labelled
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.source import Source
from ethosgen_sweep.sharding import Shard, divide
from ethosgen_sweep.shards import ShardRun, ShardRunner, key_of_shard, run_shard
from tests.support.small_models import image_net, recurrent_net

NPU = "ethos-u55-128"
UNCHECKED = OffloadOptions(check=False)
ON_NPU = ShardRunner("simulate", NPU, UNCHECKED)


def shard_of(network: Network, count: int, length: int = 1) -> Shard:
    """Return random samples, each a sequence of so many steps."""
    (x,) = network.inputs
    inputs = np.random.default_rng(5).integers(-128, 128, (count * length, *x.shape), np.int8)
    data = Labelled({x.name: inputs}, np.zeros(count, np.int64), (), (length,) * count)
    first, *others = divide(data, 2 * count)
    arrays = np.concatenate([sample.inputs[x.name] for sample in (first, *others)])
    return Shard({x.name: arrays}, (length,) * count, "all")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return frontend.open_source(image_net(tmp_path / "image_net.tflite"))


@pytest.mark.parametrize("runner", [ON_NPU, ShardRunner("simulate", "none", UNCHECKED)])
def test_every_runner_gives_the_oracles_outputs(source: Source, runner: ShardRunner) -> None:
    network = frontend.read_source(source)
    shard = shard_of(network, 5)
    golden = DEFAULT.run(network, [steps[0] for steps in shard.samples()])
    for each in (runner, ShardRunner(DEFAULT.name)):
        _, outputs = run_shard(source, ShardRun(each, shard))
        assert len(outputs) == 5
        for got, wanted in zip(outputs, golden, strict=True):
            assert got.keys() == wanted.keys()
            assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


def test_the_state_is_initial_before_each_sample(tmp_path: Path) -> None:
    source = frontend.open_source(recurrent_net(tmp_path / "r.tflite"))
    network = frontend.read_source(source)
    shard = shard_of(network, 3, length=2)
    wanted = [DEFAULT.run(network, steps)[-1] for steps in shard.samples()]
    for runner in (ON_NPU, ShardRunner(DEFAULT.name)):
        for _ in range(2):  # nor does anything stay from a shard to the next
            _, outputs = run_shard(source, ShardRun(runner, shard))
            for got, right in zip(outputs, wanted, strict=True):
                assert all(np.array_equal(got[name], right[name]) for name in right)


def test_a_refusal_is_the_next_shards_too(source: Source) -> None:
    shard = shard_of(frontend.read_source(source), 2)
    damaged = replace(source, data=source.data[:200])
    for _ in range(2):
        with pytest.raises(InputError):
            run_shard(damaged, ShardRun(ON_NPU, shard))
    with pytest.raises(InputError, match="unknown NPU"):
        run_shard(source, ShardRun(ShardRunner("simulate", "ethos-u85-3"), shard))
    assert len(run_shard(source, ShardRun(ON_NPU, shard))[1]) == 2


def test_a_key_is_of_what_outputs_depend_on(source: Source) -> None:
    run = ShardRun(ON_NPU, shard_of(frontend.read_source(source), 2))
    key = key_of_shard(source, run)
    assert key_of_shard(replace(source, name="renamed.tflite"), run) == key
    other_samples = replace(run, shard=replace(run.shard, digest="others"))
    runners = [
        replace(ON_NPU, npu="none"),
        replace(ON_NPU, options=replace(UNCHECKED, cpu_ops=("CONV_2D",))),
        *map(ShardRunner, choices()),
    ]
    keys = [
        key,
        key_of_shard(replace(source, data=source.data + b"\0"), run),
        key_of_shard(source, other_samples),
        *(key_of_shard(source, replace(run, runner=runner)) for runner in runners),
    ]
    assert len(set(keys)) == len(keys) == 7
    assert issubclass(UnsupportedError, InputError)  # what a store keeps as a refusal
