"""Shards of labelled data: samples that one process runs, in the order of the data.

A shard's end depends on its samples, not on fixed numbers: samples that are added or removed, even
in the middle, change only the shards around them.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ethosgen.samples.labelled import Labelled
from ethosgen.values.outcome import Arrays

Array = np.ndarray[Any, Any]

MOST_BYTES = 4 << 20
"""Inputs of a shard: larger messages burden dask's scheduler, which holds them."""
_MANY = 512
"""The most samples of a shard: an oracle is started again for each, which takes about 0.3 s."""


@dataclass(frozen=True)
class Shard:
    """Samples without their labels: the first axis of each array counts the steps of all of them.

    `digest` is that of the samples' steps and lengths, and of the inputs' names and types.
    """

    inputs: Mapping[str, Array] = field(repr=False)
    lengths: tuple[int, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.lengths)

    def samples(self) -> list[list[Arrays]]:
        """Return the steps of each sample."""
        bounds = [0, *accumulate(self.lengths)]
        return [
            [{name: array[step] for name, array in self.inputs.items()} for step in range(*ends)]
            for ends in pairwise(bounds)
        ]


def divide(data: Labelled, most: int | None = None) -> list[Shard]:
    """Return all samples in shards, in order: at most this many each, and at most MOST_BYTES.

    A shard also ends after a sample whose digest is a multiple of the most samples of its size that
    a shard may have. So on average it has 0.63 times as many (1 - 1/e).
    """
    lengths = data.lengths or (1,) * len(data)
    bounds = [0, *accumulate(lengths)]
    whole = sum(array.nbytes for array in data.inputs.values())
    most = most or _MANY
    step_bytes = max(whole // max(bounds[-1], 1), 1)
    kinds = sorted((name, array.dtype.str, array.shape[1:]) for name, array in data.inputs.items())
    shards, first = [], 0
    digests = list(_digests(data, bounds))
    may_have = [min(most, max(MOST_BYTES // (n * step_bytes), 1)) if n else most for n in lengths]
    for index, digest in enumerate(digests, 1):
        steps = bounds[index] - bounds[first]
        is_full = index - first == most or index == len(data)
        after = lengths[index] if index < len(data) else 0
        is_heavy = (steps + after) * step_bytes > MOST_BYTES
        is_end = int.from_bytes(digest) % may_have[index - 1] == 0
        if is_full or is_heavy or is_end:
            content = repr((kinds, lengths[first:index])).encode() + b"".join(digests[first:index])
            inputs = {name: a[bounds[first] : bounds[index]] for name, a in data.inputs.items()}
            shards.append(Shard(inputs, lengths[first:index], hashlib.sha256(content).hexdigest()))
            first = index
    return shards


def _digests(data: Labelled, bounds: list[int]) -> Iterator[bytes]:
    """Yield the SHA-256 of each sample's steps."""
    inputs = sorted(data.inputs.items())
    for ends in pairwise(bounds):
        total = hashlib.sha256()
        for _, array in inputs:
            total.update(np.ascontiguousarray(array[slice(*ends)]).tobytes())
        yield total.digest()
