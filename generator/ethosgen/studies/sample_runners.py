"""Prepares the runners of samples: the NPU model, an oracle, or firmware on QEMU.

Each is picklable and is entered once in the process that runs the samples.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from ethosgen.flow.models import devices_of, simulator_for
from ethosgen.oracle import ORACLES
from ethosgen.studies.workers import RunSamples, Steps
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import PlanRunner

QEMU = "qemu"


def last_outputs(steps: Sequence[Arrays]) -> Arrays:
    """Return the outputs of a sample's last step that has any; none if the network waited."""
    return next((outputs for outputs in reversed(steps) if outputs), {})


@dataclass(frozen=True)
class OracleMaker:
    """Prepares an oracle."""

    name: str
    network: Network

    @contextmanager
    def __call__(self) -> Iterator[RunSamples]:
        """Yield the function that runs samples."""

        def run_samples(samples: Sequence[Steps]) -> list[list[Arrays]]:
            outputs: list[list[Arrays]] = []
            for length, same in groupby(samples, len):
                flat = [inputs for steps in same for inputs in steps]
                many = 0 if length == 1 and not self.network.has_state else length
                golden = ORACLES[self.name].run(self.network, flat, steps=many)
                outputs += (golden[i : i + length] for i in range(0, len(golden), length))
            return outputs

        yield run_samples


@dataclass(frozen=True)
class SimulatorMaker:
    """Prepares the NPU model, and the CPU's operators on this machine."""

    plan: Plan

    @contextmanager
    def __call__(self) -> Iterator[RunSamples]:
        """Yield the function that runs samples."""
        from ethosgen.aot import make_resettable

        evaluate, reset = make_resettable(self.plan)

        def run_steps(steps: Steps) -> list[Arrays]:
            reset()
            return [evaluate(inputs, runner) for inputs in steps]

        with closing(PlanRunner(self.plan)) as runner:
            yield lambda samples: [run_steps(steps) for steps in samples]


@dataclass(frozen=True)
class FirmwareMaker:
    """Starts built firmware on QEMU; it runs all samples, with a session for each if needed."""

    directory: Path
    elf: Path
    has_state: bool

    @contextmanager
    def __call__(self) -> Iterator[RunSamples]:
        """Yield the function that runs samples."""
        from ethosgen.project import open_project
        from ethosgen.targets import running

        info = open_project(self.directory)
        info = replace(info, devices=devices_of(info, QEMU))
        with running(self.elf, info, on=QEMU, attach=simulator_for(info, QEMU)) as run:

            def run_samples(samples: Sequence[Steps]) -> list[list[Arrays]]:
                if not self.has_state:  # one session is faster
                    flat = [inputs for steps in samples for inputs in steps]
                    results = iter(run(flat))
                    return [[next(results).outputs for _ in steps] for steps in samples]
                return [[result.outputs for result in run(steps)] for steps in samples]

            yield run_samples


def build_firmware(
    recipe: Recipe, network: Network, stack: ExitStack, watch: Watch
) -> FirmwareMaker:
    """Generate and compile firmware in a folder that exists as long as `stack`."""
    from ethosgen.flow.creation import create_project  # the workers do not need them
    from ethosgen.flow.firmware import build_project

    folder = stack.enter_context(TemporaryDirectory(prefix="ethosgen-"))
    directory = Path(folder) / "project"
    create_project(recipe, directory=directory, watch=watch)
    elf = build_project(directory, on=QEMU, watch=watch).elf
    return FirmwareMaker(directory, elf, network.has_state)
