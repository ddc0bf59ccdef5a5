"""Projects on disk: created, built and run."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ethosgen import flow
from ethosgen.api.firmware import FirmwareOptions, make_recipe
from ethosgen.api.networks import (
    InputsLike,
    NetworkLike,
    files_of,
    pipeline_inputs,
    watch_of,
)
from ethosgen.api.runs import Run, criteria_of, load_outputs
from ethosgen.values.watch import Announce, Watch

if TYPE_CHECKING:
    from ethosgen.toolchain import Built


def create_project(
    *networks: NetworkLike,
    directory: str | os.PathLike[str],
    board: str | None = None,
    announce: Announce | None = None,
    **firmware: Unpack[FirmwareOptions],
) -> flow.Written:
    """Generate the sources of a firmware in a directory: `ethosgen project`.

    The value has the directory and the files that were written. A directory that holds something
    else is refused, and a project's own application is kept. The other options are those of
    FirmwareOptions.
    """
    with files_of(networks) as files:
        return flow.create_project(
            make_recipe(networks, files, board, firmware),
            directory=Path(directory),
            watch=watch_of(announce),
        )


def build_project(
    directory: str | os.PathLike[str],
    *,
    on: str | None = None,
    profile: bool = False,
    announce: Announce | None = None,
) -> "Built":
    """Compile a project's firmware: `ethosgen build`. The value has the ELF and its sizes."""
    return flow.build_project(Path(directory), on=on, profile=profile, watch=watch_of(announce))


def run_project(
    directory: str | os.PathLike[str],
    *,
    on: str | None = None,
    network: str | None = None,
    inputs: InputsLike | None = None,
    samples: int | None = None,
    seed: int = 0,
    golden: str | os.PathLike[str] | None = None,
    fidelity: float | None = None,
    oracle: str | None = None,
    profile: bool = False,
    announce: Announce | None = None,
) -> Run:
    """Run a built project's firmware on a target, and compare its outputs: `ethosgen run`.

    All its networks run in turn, or only the one that is called `network`.
    """
    from ethosgen.flow.planning import read_stored
    from ethosgen.project import open_project

    project = Path(directory)
    info = open_project(project)
    is_alone = network is not None or len(info.networks) == 1
    only = None
    if is_alone and isinstance(inputs, np.ndarray):
        only = read_stored(info.networks[0 if network is None else info.index(network)], Watch())
    with TemporaryDirectory(prefix="ethosgen-") as folder:
        outputs = Path(folder) / "outputs.npz"
        report = flow.run_project(
            project,
            on=on,
            inputs=pipeline_inputs(only, inputs, samples, seed),
            network=network,
            output_path=outputs if is_alone else None,
            criteria=criteria_of(golden, fidelity, oracle),
            profile=profile,
            watch=watch_of(announce),
        )
        return Run(report, load_outputs(outputs))
