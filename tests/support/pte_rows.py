"""What becomes of PyTorch's operators in ExecuTorch's programs, whose delegates Vela compiled."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethosgen import frontend
from ethosgen.backend import compiled_for
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.host import script
from ethosgen.host.child import ChildError
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.samples.files import load_samples
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests import ROOT

EXPORT = ROOT / "tests" / "frontend" / "pte" / "export_programs.py"
LIMIT_S = 1800


@dataclass(frozen=True)
class PteRow:
    """One program; `differing` counts elements that are not those of TOSA's reference model.

    It is None where the program is not one delegate: then nothing else computes all of it.
    """

    name: str
    plan: Plan
    elements: int
    differing: int | None
    fidelity: Fidelity


def export(folder: Path, names: Sequence[str]) -> None:
    """Export networks as files in a folder; see the script. RuntimeError if one cannot be."""
    python = ENVIRONMENTS["torch"].find()
    vela = Path(sys.executable).with_name("vela")
    command = [str(python), "-P", str(EXPORT), str(vela), str(folder), *names]
    try:
        script._wait(command, python, LIMIT_S)
    except ChildError as error:
        raise RuntimeError(f"{error}: {error.log}") from None


def row(folder: Path, name: str) -> PteRow:
    """Simulate a program that `export` wrote, and compare it with torch and TOSA."""
    network = frontend.read(folder / f"{name}.pte")
    samples = load_samples(folder / f"{name}_in.npz", network.inputs)
    plan = make_plan(network, PlanSettings(compiled_for(network)), Watch())
    ours = simulate_samples(plan, samples, Watch())
    tosa = folder / f"{name}_tosa.npz"
    compared = compare("", ours, _outputs(tosa)) if tosa.exists() else None
    fidelity = compare_fidelity(
        network, ours, _outputs(folder / f"{name}_out.npz"), "PyTorch", "", None
    )
    differing = compared.mismatches if compared else None
    return PteRow(name, plan, fidelity.elements, differing, fidelity)


def _outputs(path: Path) -> list[Arrays]:
    with np.load(path) as file:
        stacked = {name: file[name] for name in file.files}
    return [
        {name: array[index] for name, array in stacked.items()}
        for index in range(len(next(iter(stacked.values()))))
    ]
