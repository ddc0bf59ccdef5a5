"""Caches the answers of Vela and the oracles in build/corpus; remove that folder to ask them again.

They take most of a run's time, and give the same answer to the same question. A question consists
of the network, the settings, the samples, and the versions of the packages.
"""

import hashlib
import os
import pickle
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ethosgen.backend.ethosu.offload import vela
from ethosgen.host.child import ChildAnswer, ChildError
from ethosgen.host.child import call as call_child
from tests import ROOT

FOLDER = ROOT / "build" / "corpus"
PACKAGES = ("ethos-u-vela", "tflite-micro", "ai-edge-litert")


_used: list[Path] = []
"""The folder, once the cache is in use."""


def use() -> None:
    """Use the cache in this process from now on."""
    _used.append(FOLDER)
    vela.call = _call  # type: ignore[attr-defined,assignment]


def find(question: Any) -> Any:
    """Return the cached answer, None if there is none."""
    path = _path(question)
    if not _used or not path.exists():
        return None
    return pickle.loads(zlib.decompress(path.read_bytes()))


def keep(question: Any, answer: Any) -> None:
    """Store an answer, which is not None."""
    if not _used:
        return
    path = _path(question)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(zlib.compress(pickle.dumps(answer), 1))
    partial.replace(path)


def _path(question: Any) -> Path:
    versions = [version(package) for package in PACKAGES]
    name = hashlib.sha256(pickle.dumps((versions, question))).hexdigest()
    return FOLDER / name[:2] / name[2:]


def _call(script: Path, function: str, *arguments: Any, limit_s: float) -> ChildAnswer:
    question = (script.read_bytes(), function, arguments)
    answer = find(question)
    if answer is None:
        answer = _ask(script, function, arguments, limit_s)
        keep(question, answer)
    returned, value, log = answer
    if not returned:
        raise ChildError(value[0], value[1], log)
    return ChildAnswer(value, log)


def _ask(
    script: Path, function: str, arguments: tuple[Any, ...], limit_s: float
) -> tuple[bool, Any, str]:
    try:
        answer = call_child(script, function, *arguments, limit_s=limit_s)
    except ChildError as error:
        if error.how == "late":
            raise
        return False, (error.how, str(error)), error.log
    return True, answer.value, answer.log
