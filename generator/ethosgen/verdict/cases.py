"""Store networks that the NPU computes differently in a folder, ready to report.

The folder is ethosgen/cases in $XDG_STATE_HOME (~/.local/state by default). Each case has its own
folder, named after its content; an existing one is not changed.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ethosgen.backend import compiler_of
from ethosgen.frontend import suffix_of, written
from ethosgen.host.folders import state_folder
from ethosgen.oracle import Oracle
from ethosgen.oracle.answers import Answer
from ethosgen.oracle.excerpt import single_operator
from ethosgen.samples.drawing import draw_samples
from ethosgen.samples.ends import drive_to_ends
from ethosgen.samples.files import save_samples
from ethosgen.values.errors import EthosgenError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.verdict.trial import Make, Trial, try_out

SAMPLES = 10


def cases_folder() -> Path:
    """Return the folder of all cases."""
    return state_folder() / "cases"


def keep_case(
    network: Network,
    index: int,
    samples: Sequence[Arrays],
    make: Make,
    asked: str | None = None,
) -> Path | None:
    """Write the smallest network that shows an operator's difference, and return its folder.

    This is the operator alone, or the whole network if the operator alone does not differ. None if
    the folder cannot be written.
    """
    alone = single_operator(network, index)
    code = network.graph.operators[index].code
    attempts = [(network, samples)]
    if alone is not None:
        attempts.insert(0, (alone, [*draw_samples(alone, SAMPLES, 0), *drive_to_ends(alone)]))
    for tried, inputs in attempts:
        try:
            trial = try_out(tried, inputs, make, asked)
            difference = _difference(trial)
            golden = trial.golden if difference else None
        except EthosgenError:
            continue
        if golden is not None:
            try:
                return _write(code, trial, golden, difference)
            except OSError:
                return None
    return None


def _difference(trial: Trial) -> str:
    """Return how the NPU model's outputs differ from the oracle's, "" if they are equal."""
    plan = trial.plan
    if plan.accelerator is None:
        return ""
    if trial.fault is not None:
        return f"{plan.npu}: {trial.fault}"
    compared = trial.comparison
    if not compared.mismatches:
        return ""
    values = counted(compared.elements, "value")
    return f"{plan.npu}: {compared.mismatches} of {values} differ, by {compared.max_abs_diff:g}"


def _write(code: str, trial: Trial, golden: Answer, difference: str) -> Path:
    source = written(trial.question.network)
    digest = hashlib.sha256(source.data).hexdigest()[:12]
    place = cases_folder() / f"{code.lower()}-{digest}"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".case-", dir=place.parent))
    try:
        file = f"network{suffix_of(source)}"
        (stage / file).write_bytes(source.data)
        save_samples(stage / "inputs.npz", trial.question.samples)
        save_samples(stage / "expected.npz", golden.outputs)
        if trial.outputs:
            save_samples(stage / "npu.npz", trial.outputs)
        text = _text(f"{code}, compiled by {_compiler(trial)}", difference, file, golden.oracle)
        (stage / "README.txt").write_text(text)
        stage.rename(place)
    except OSError:
        if not place.exists():  # another process may have written the same
            raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return place


def _compiler(trial: Trial) -> str:
    assert trial.plan.accelerator is not None, "a plan without an NPU makes no case"
    compiler = compiler_of(trial.plan.accelerator)
    return f"{compiler.compiler} {compiler.compiler_version()}"


def _text(what: str, difference: str, file: str, oracle: Oracle) -> str:
    return (
        f"{what}, on ethosgen's NPU model.\n{difference}.\n\n"
        f"{file.ljust(16)}the network\ninputs.npz      samples\n"
        f"expected.npz    {oracle.title}'s outputs\n"
        "npu.npz         the NPU model's outputs\n\n"
        "In a case of one operator, the other operators' constants are all 0. Please report it.\n"
    )
