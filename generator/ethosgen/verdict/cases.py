"""Store networks that the NPU computes differently in a folder, ready to be reported.

The folder is ethosgen/cases in $XDG_STATE_HOME (~/.local/state by default). Each case has a folder
there, named after its content; an existing one is left alone.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.backend import backend_of
from ethosgen.frontend import suffix_of, written
from ethosgen.oracle import ORACLES
from ethosgen.samples.drawing import draw_samples
from ethosgen.samples.ends import drive_to_ends
from ethosgen.samples.files import save_samples
from ethosgen.values.errors import EthosgenError, NpuFault
from ethosgen.values.excerpt import single_operator
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import compare_defined, decisive_outputs

SAMPLES = 10


def cases_folder() -> Path:
    """Return the folder of all cases."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "ethosgen" / "cases"


def keep_case(
    network: Network,
    index: int,
    samples: Sequence[Arrays],
    make: Callable[[Network], Plan],
    asked: str | None = None,
) -> Path | None:
    """Write the smallest network that shows an operator's difference, and return its folder.

    It is the operator alone, or the whole network if the operator alone is right. None if the
    folder cannot be written.
    """
    alone = single_operator(network, index)
    code = network.graph.operators[index].code
    tries = [(network, samples)]
    if alone is not None:
        tries.insert(0, (alone, [*draw_samples(alone, SAMPLES, 0), *drive_to_ends(alone)]))
    for part, given in tries:
        try:
            found = _look(part, given, make, asked)
        except EthosgenError:
            continue
        if found is not None:
            try:
                return _write(part, code, given, found)
            except OSError:
                return None
    return None


@dataclass(frozen=True)
class _Found:
    """A difference: the oracle, its outputs, the NPU model's, a summary, and who compiled it."""

    oracle: str
    golden: Sequence[Arrays]
    outputs: Sequence[Arrays]
    said: str
    compiler: str


def _look(
    network: Network,
    samples: Sequence[Arrays],
    make: Callable[[Network], Plan],
    asked: str | None,
) -> _Found | None:
    """Compare the NPU model's outputs with the oracle's; None if they are equal."""
    plan = make(network)
    if plan.accelerator is None:
        return None
    backend = backend_of(plan.accelerator)
    compiler = f"{backend.compiler} {backend.compiler_version()}"
    oracle, golden = decisive_outputs(network, samples, asked)
    try:
        outputs = simulate_samples(plan, samples, Watch())
    except NpuFault as fault:
        return _Found(oracle, golden, (), f"{plan.npu}: {fault}", compiler)
    found = compare_defined(network, samples, oracle, outputs, golden, plan.steps)
    if not found.mismatches:
        return None
    of = counted(found.elements, "value")
    said = f"{found.mismatches} of {of} differ, by {found.max_abs_diff:g}"
    return _Found(oracle, golden, outputs, f"{plan.npu}: {said}", compiler)


def _write(network: Network, code: str, samples: Sequence[Arrays], found: _Found) -> Path:
    source = written(network)
    digest = hashlib.sha256(source.data).hexdigest()[:12]
    place = cases_folder() / f"{code.lower()}-{digest}"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".case-", dir=place.parent))
    try:
        file = f"network{suffix_of(source)}"
        (stage / file).write_bytes(source.data)
        save_samples(stage / "inputs.npz", samples)
        save_samples(stage / "expected.npz", found.golden)
        if found.outputs:
            save_samples(stage / "npu.npz", found.outputs)
        (stage / "README.txt").write_text(_text(code, file, found))
        stage.rename(place)
    except OSError:
        if not place.exists():  # another process may have written the same
            raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return place


def _text(code: str, file: str, found: _Found) -> str:
    return (
        f"{code}, compiled by {found.compiler}, on ethosgen's NPU model.\n{found.said}.\n\n"
        f"{file.ljust(16)}the network\ninputs.npz      samples\n"
        f"expected.npz    {ORACLES[found.oracle].title}'s outputs\n"
        "npu.npz         the NPU model's outputs\n\n"
        "In a case of one operator, the other operators' constants are all 0. Please report it.\n"
    )
