"""Remembers plans of which each operator, alone at the ends of its inputs, was found exact.

The trial takes most of the time of `project` for a large network. It is kept in the user's cache
by a digest of all that decides it. A plan with an operator that differs is never kept.
"""

import contextlib
import hashlib
import os
from functools import cache
from pathlib import Path

from ethosgen.backend import compiler_of
from ethosgen.host.folders import NO_CACHE, cache_folder
from ethosgen.oracle import DEFAULT, SECOND, own_oracle
from ethosgen.plugins import packages
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan

_USUAL = (DEFAULT.name, SECOND.name)
MOST_FILES = 4096
"""Limit on the number of kept plans; the ones that were not used for the longest time go first."""


def known_exact(network: Network, plan: Plan) -> int | None:
    """Return the number of operators that were tried for a plan, None if nobody knows."""
    path = _path(network, plan)
    if path is None:
        return None
    try:
        count = int(path.read_text())
        path.touch()
    except (OSError, ValueError):
        return None
    return count


def keep_exact(network: Network, plan: Plan, count: int) -> None:
    """Remember that so many operators of a plan were tried, and none differed."""
    path = _path(network, plan)
    if path is None:
        return
    with contextlib.suppress(OSError):  # a full disk, or a folder of someone else
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(str(count))
        new.replace(path)
        _trim(path.parent)


def _path(network: Network, plan: Plan) -> Path | None:
    """Return the file of a plan; None without a cache, and for what no digest covers.

    These are users' accelerators, and oracles of a format's own, which may not be installed.
    """
    if os.environ.get(NO_CACHE) or plan.accelerator is None or plan.wrapped:
        return None
    if own_oracle(network) is not None or plan.options.oracle not in (None, *_USUAL):
        return None
    return cache_folder() / "driven" / _key(network, plan)


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
        _own_sources(),
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


@cache
def _own_sources() -> str:
    """Return the digest of ethosgen's modules; the version does not change with each edit."""
    total = hashlib.sha256()
    for path in sorted(packages()[0].rglob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()


def _trim(folder: Path) -> None:
    files = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may remove it
            files.append((path.stat().st_mtime_ns, path))
    for _, path in sorted(files, reverse=True)[MOST_FILES:]:
        path.unlink(missing_ok=True)
