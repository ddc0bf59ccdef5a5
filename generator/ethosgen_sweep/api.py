"""Sweeps for scripts and notebooks: `ethosgen.sweep`."""

import os
from pathlib import Path

from ethosgen.api.progress import watch_of
from ethosgen.values.watch import Announce
from ethosgen_sweep.report import SweepReport
from ethosgen_sweep.sweeping import SweepRequest
from ethosgen_sweep.sweeping import sweep as run


def sweep(
    study: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    retry_refused: bool = False,
    announce: Announce | None = None,
) -> SweepReport:
    """Measure every point of a study file on several processes or machines: `ethosgen sweep`.

    `results` of the report are like those of `compare`, and `to_dataframe()` is their table. Its
    `accuracy` has an item for each network, NPU and table of labelled data in the study, with a
    `report` like that of `accuracy()`. A script needs the guard `if __name__ == "__main__":`,
    because workers import it. ToolError without the packages of the extra sweep.

    Args:
        study: the study file (.toml).
        store: the folder with results of earlier sweeps, where nothing is computed twice.
        scheduler: the address of a dask scheduler, by default processes of this machine.
        workers: the number of processes, by default one for each core.
        retry_refused: try again what was refused in earlier sweeps.
        announce: receives a line for each phase, such as `print`.
    """
    kept = None if store is None else Path(store)
    asked = SweepRequest(Path(study), kept, scheduler, workers, retry_refused)
    return run(asked, watch_of(announce))
