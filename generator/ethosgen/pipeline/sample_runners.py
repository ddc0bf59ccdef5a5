"""Prepares what runs samples: the NPU model, an oracle, or a firmware on QEMU.

Each is picklable and is called once in the process that runs the samples.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ethosgen.oracle import ORACLES
from ethosgen.pipeline.creation import create_project
from ethosgen.pipeline.execution import PlanRunner
from ethosgen.pipeline.firmware import build_project
from ethosgen.pipeline.turns import devices_of, simulator_for
from ethosgen.pipeline.workers import RunSamples
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch

QEMU = "qemu"


@dataclass(frozen=True)
class OracleMaker:
    """Prepares an oracle."""

    name: str
    network: Network

    def __call__(self) -> RunSamples:
        """Return the function that runs samples."""
        return lambda samples: ORACLES[self.name].run(self.network, samples)


@dataclass(frozen=True)
class SimulatorMaker:
    """Prepares the NPU model, and the CPU's operators on this machine."""

    plan: Plan

    def __call__(self) -> RunSamples:
        """Return the function that runs samples."""
        from ethosgen.aot import make_evaluator

        runner, evaluate = PlanRunner(self.plan), make_evaluator(self.plan)
        return lambda samples: [evaluate(sample, runner) for sample in samples]


@dataclass(frozen=True)
class FirmwareMaker:
    """Prepares a built firmware; each call starts it on QEMU."""

    directory: Path
    elf: Path

    def __call__(self) -> RunSamples:
        """Return the function that runs samples."""
        from ethosgen.project import open_project
        from ethosgen.target import run

        info = open_project(self.directory)
        info = replace(info, devices=devices_of(info, QEMU))

        def run_samples(samples: Sequence[Arrays]) -> list[Arrays]:
            attach = simulator_for(info, QEMU)
            outcome = run(self.elf, info, samples, on=QEMU, attach=attach)
            return [sample.outputs for sample in outcome.samples]

        return run_samples


def build_firmware(recipe: Recipe, stack: ExitStack, watch: Watch) -> FirmwareMaker:
    """Generate and compile a firmware in a folder that lives as long as `stack`."""
    folder = stack.enter_context(TemporaryDirectory(prefix="ethosgen-"))
    directory = Path(folder) / "project"
    create_project(recipe, directory=directory, watch=watch)
    return FirmwareMaker(directory, build_project(directory, on=QEMU, watch=watch).elf)
