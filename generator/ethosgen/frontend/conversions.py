"""Networks of formats whose conversion takes long, kept in the user's cache folder.

A file of the cache has the graph that a front end made, without pickles. Its name is the digest of
everything that decides the graph.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.frontend.transfer import pack, unpack
from ethosgen.host.folders import NO_CACHE, cache_folder
from ethosgen.host.kept_files import keep_file, modules_digest
from ethosgen.values.network import Network
from ethosgen.values.source import Source

MOST_BYTES = 512 << 20
"""Limit on the size of all files; the ones that were not used for the longest time go first."""
_FACTS = "facts"
_DAMAGED = (OSError, EOFError, ValueError, KeyError, TypeError, IndexError, zipfile.BadZipFile)


def converted(
    source: Source, read: Callable[[Source], Network], versions: Callable[[], str]
) -> Network:
    """Return a source's network from the cache, else read it, and keep it.

    `versions` returns everything that decides the network besides the source and ethosgen itself.
    """
    if os.environ.get(NO_CACHE):
        return read(source)
    path = cache_folder() / "networks" / f"{_key(source, versions())}.npz"
    known = _kept(path, source)
    if known is not None:
        return known
    network = read(source)
    _keep(network, path)
    return network


def _key(source: Source, versions: str) -> str:
    facts = [source.format, source.name, repr(source.options), versions, _own_sources()]
    digest = hashlib.sha256(json.dumps(facts).encode())
    digest.update(source.data)
    return digest.hexdigest()


def _own_sources() -> str:
    """Return the digest of the modules that decide the result."""
    package = Path(__file__).parents[1]
    return modules_digest(package / "frontend", package / "values")


def _kept(path: Path, source: Source) -> Network | None:
    """Return the network of a file, None if there is none, or it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays.pop(_FACTS).tobytes())
        network = _network(source, facts, arrays)
        path.touch()
    except _DAMAGED:
        return None
    return network


def _network(source: Source, facts: dict[str, Any], arrays: dict[str, Any]) -> Network:
    graph = unpack(facts["graph"], arrays)
    return Network(facts["name"], (graph,), source=source, in_float=facts["in_float"])


def _keep(network: Network, path: Path) -> None:
    """Write a network, if a file can represent all of it, and remove surplus files."""
    assert network.source is not None
    graph, arrays = pack(network.graph)
    facts = {"name": network.name, "graph": graph, "in_float": dict(network.in_float)}
    text = json.dumps(facts)
    if _network(network.source, json.loads(text), arrays) != network:
        return
    written = io.BytesIO()
    np.savez(written, **arrays, **{_FACTS: np.frombuffer(text.encode(), np.uint8)})  # type: ignore[arg-type]
    data = written.getvalue()
    if len(data) > MOST_BYTES:
        return
    keep_file(path, data, MOST_BYTES)
