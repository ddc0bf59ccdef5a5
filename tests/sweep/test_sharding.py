"""Shards: all samples in order, by content, so that new ones change few shards."""

import pickle

import numpy as np
import pytest

from ethosgen.samples.labelled import Labelled
from ethosgen_sweep import sharding as module
from ethosgen_sweep.sharding import Shard, divide


def data_of(values: list[int], lengths: tuple[int, ...] | None = None) -> Labelled:
    """Return samples with one value each, in an int16 input of two elements."""
    inputs = {"x": np.repeat(np.array(values, np.int16)[:, None, None], 2, axis=2)}
    return Labelled(inputs, np.zeros(len(lengths or values), np.int64), (), lengths)


def firsts(shards: list[Shard]) -> list[int]:
    return [int(step["x"][0, 0]) for shard in shards for (step,) in shard.samples()]


@pytest.mark.parametrize("most", [1, 2, 7, 100, None])
def test_shards_have_all_samples_in_order(most: int | None) -> None:
    shards = divide(data_of(list(range(300))), most)
    assert firsts(shards) == list(range(300))
    assert max(map(len, shards)) <= (most or 300)
    if most == 7:
        assert 300 / 7 < len(shards) < 300 / 7 * 2.5


def test_new_samples_change_only_the_shards_around_them() -> None:
    values = list(range(1000))
    old = {shard.digest for shard in divide(data_of(values), 10)}
    appended = divide(data_of([*values, *range(5000, 5005)]), 10)
    assert sum(shard.digest not in old for shard in appended) <= 3
    inserted = divide(data_of([*values[:300], 7777, *values[300:]]), 10)
    new = [shard for shard in inserted if shard.digest not in old]
    assert any([7777, 7777] in sample.inputs["x"].reshape(-1, 2).tolist() for sample in new)
    assert len(new) <= 5 < len(inserted)


@pytest.mark.parametrize("length", [1, 3])
def test_so_do_large_samples(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 40 * length)  # ten samples of `length` steps
    values = list(range(600 * length))
    old = {shard.digest for shard in divide(data_of(values, (length,) * 600), 1000)}
    assert len(old) > 600 / 10
    inserted = [*values[:300], *range(7777, 7777 + length), *values[300:]]
    new = divide(data_of(inserted, (length,) * 601), 1000)
    assert sum(shard.digest not in old for shard in new) <= 6


def test_digests_are_of_inputs_and_not_of_labels() -> None:
    data = data_of([1, 2, 3])
    (shard,) = divide(data, 100)
    relabelled = Labelled(data.inputs, np.array([3, 4, 5]))
    assert [shard.digest for shard in divide(relabelled, 100)] == [shard.digest]
    renamed = Labelled({"y": data.inputs["x"]}, data.labels)
    as_bytes = Labelled({"x": data.inputs["x"].view(np.int8)}, data.labels)
    others = [divide(other, 100) for other in (renamed, as_bytes, data_of([1, 2, 4]))]
    assert len({shard.digest, *(shard.digest for some in others for shard in some)}) >= 4


def test_sequences_stay_whole() -> None:
    lengths = (3, 1, 4, 1, 5)
    shards = divide(data_of(list(range(14)), lengths), 2)
    assert [n for shard in shards for n in shard.lengths] == list(lengths)
    steps = [
        [int(step["x"][0, 0]) for step in sample] for shard in shards for sample in shard.samples()
    ]
    assert steps == [[0, 1, 2], [3], [4, 5, 6, 7], [8], [9, 10, 11, 12, 13]]
    flat = {shard.digest for shard in divide(data_of(list(range(14))), 14)}
    assert not flat & {shard.digest for shard in divide(data_of(list(range(14)), (14,)), 14)}


def test_shards_are_small_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 40)  # ten steps of 4 bytes
    shards = divide(data_of(list(range(100))), 1000)
    assert firsts(shards) == list(range(100)) and max(map(len, shards)) == 10
    assert all(len(pickle.dumps(shard)) < 1000 for shard in shards)  # not all data with each
    (whole,) = divide(data_of(list(range(30)), (30,)), 1000)  # a sequence is never cut
    assert len(whole) == 1
