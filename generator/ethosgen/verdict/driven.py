"""Remembers plans whose operators were each found exact, alone at the ends of their inputs.

The trial takes most of the time of `project` for a large network. Its result is in the user's
cache, under a digest of everything that decides it. A plan with an operator that differs is never
kept.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ethosgen.backend import compiler_of
from ethosgen.host.folders import NO_CACHE, cache_folder
from ethosgen.host.kept_files import keep_file, modules_digest
from ethosgen.oracle import DEFAULT, SECOND, own_oracle
from ethosgen.plugins import packages
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan

_USUAL = (DEFAULT.name, SECOND.name)
MOST_FILES = 4096
"""Limit on the number of kept plans; the ones that were not used for the longest time go first."""


@dataclass(frozen=True)
class RememberedTrial:
    """The known result of a plan's trial; `path` is its file, None without one."""

    path: Path | None

    @property
    def count(self) -> int | None:
        """The number of operators that were tried and found exact, None if unknown."""
        if self.path is None:
            return None
        try:
            count = int(self.path.read_text())
            self.path.touch()
        except (OSError, ValueError):
            return None
        return count

    def keep(self, count: int) -> None:
        """Remember that this many operators were tried, and none differed."""
        if self.path is not None:
            keep_file(self.path, str(count).encode(), MOST_FILES, by_size=False)


def remembered(network: Network, plan: Plan) -> RememberedTrial:
    """Return the trial of a plan.

    It has no file without a cache, or with parts that no digest covers: users' accelerators, and
    formats' own oracles, which may not be installed.
    """
    is_covered = plan.accelerator is not None and not plan.wrapped and own_oracle(network) is None
    if os.environ.get(NO_CACHE) or not is_covered or plan.options.oracle not in (None, *_USUAL):
        return RememberedTrial(None)
    return RememberedTrial(cache_folder() / "driven" / _key(network, plan))


def _key(network: Network, plan: Plan) -> str:
    """Return a digest of network, commands and weights, options, versions, and our own sources."""
    assert plan.accelerator is not None
    partitions = [(p.name, p.inputs, p.outputs, p.operators) for p in plan.partitions]
    facts = (
        plan.accelerator,
        compiler_of(plan.accelerator).compiler_version(),
        plan.memory_mode,
        plan.io,
        plan.options,
        plan.extension,
        partitions,
        [(oracle.name, oracle.version) for oracle in (DEFAULT, SECOND)],
        _numpy(),
        modules_digest(packages()[0]),
    )
    total = hashlib.sha256(repr(facts).encode())
    for graph in network.graphs:
        total.update(repr(graph).encode())
        for tensor in graph.tensors:
            total.update(tensor.data or b"")
    for blob in plan.blobs:
        total.update(blob.data)
    return total.hexdigest()


def _numpy() -> str:
    from importlib.metadata import version  # it imports email's packages

    return version("numpy")
