"""Runs of a network: on the NPU model alone, or as a firmware."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

import numpy as np

from ethosgen import flow
from ethosgen.api.firmware import FirmwareOptions, make_recipe
from ethosgen.api.networks import (
    Array,
    InputsLike,
    NetworkLike,
    files_of,
    pipeline_inputs,
    watch_of,
)
from ethosgen.report.content import NetworkReport
from ethosgen.studies.reporting import Files, ReportRequest, make_report, write_report
from ethosgen.values.network import Network
from ethosgen.values.plan import EXACT, OffloadOptions
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.watch import Announce
from ethosgen.verdict.judgement import Criteria


@dataclass(frozen=True)
class Run:
    """What a run gives: the report that the command prints, and the outputs.

    `outputs` has an array of shape (samples, *shape) for each output by name; it is empty for
    several networks, which share no names.
    """

    report: Report | FirmwareReport
    outputs: Mapping[str, Array] = field(default_factory=dict, repr=False)

    @property
    def passed(self) -> bool:
        """Whether every element of every sample equals the oracle's."""
        return self.report.passed


def simulate(
    network: NetworkLike,
    *,
    npu: str | None = None,
    inputs: InputsLike | None = None,
    samples: int | None = None,
    seed: int = 0,
    golden: str | os.PathLike[str] | None = None,
    fidelity: float | None = None,
    accelerators: Sequence[str] = (),
    options: OffloadOptions = EXACT,
    announce: Announce | None = None,
) -> Run:
    """Run a network's partitions on the NPU model: `ethosgen simulate`.

    `npu` is a configuration such as "ethos-u55-128", or "none" for the CPU alone. `inputs` are the
    samples, in the inputs' own types; without them, `samples` random ones are drawn from `seed`.
    """
    with (
        files_of([network]) as ((path,), reading),
        TemporaryDirectory(prefix="ethosgen-") as folder,
    ):
        outputs = Path(folder) / "outputs.npz"
        report = flow.simulate(
            path,
            npu=npu,
            inputs=pipeline_inputs(network, inputs, samples, seed),
            output_path=outputs,
            options=options,
            criteria=criteria_of(golden, fidelity),
            reading=reading,
            accelerators=accelerators,
            watch=watch_of(announce),
        )
        return Run(report, load_outputs(outputs))


def verify(
    *networks: NetworkLike,
    board: str,
    on: str = "qemu",
    inputs: InputsLike | None = None,
    samples: int | None = None,
    seed: int = 0,
    golden: str | os.PathLike[str] | None = None,
    fidelity: float | None = None,
    app_files: Sequence[str | os.PathLike[str]] = (),
    profile: bool = False,
    announce: Announce | None = None,
    **firmware: Unpack[FirmwareOptions],
) -> Run:
    """Generate, build and run a firmware in a temporary folder: `ethosgen verify`.

    The report says whether every output equals TensorFlow Lite Micro's, and what the firmware
    takes of the board. With `app`, the application runs too, on `app_files`. The other options are
    those of FirmwareOptions.
    """
    alone = networks[0] if len(networks) == 1 else None
    with files_of(networks) as files, TemporaryDirectory(prefix="ethosgen-") as folder:
        outputs = Path(folder) / "outputs.npz"
        report = flow.verify(
            make_recipe(networks, files, board, firmware),
            on=on,
            inputs=pipeline_inputs(alone, inputs, samples, seed),
            criteria=criteria_of(golden, fidelity),
            output_path=outputs if alone is not None else None,
            profile=profile,
            feed=flow.Feed(tuple(map(Path, app_files)), seed),
            watch=watch_of(announce),
        )
        return Run(report, load_outputs(outputs))


def create_report(
    network: NetworkLike,
    *,
    board: str | None = None,
    on: str | None = None,
    inputs: InputsLike | None = None,
    samples: int | None = None,
    seed: int = 0,
    golden: str | os.PathLike[str] | None = None,
    fidelity: float | None = None,
    output: str | os.PathLike[str] | None = None,
    perfetto: str | os.PathLike[str] | None = None,
    explorer: str | os.PathLike[str] | None = None,
    force: bool = False,
    announce: Announce | None = None,
    **firmware: Unpack[FirmwareOptions],
) -> NetworkReport:
    """Gather what runs where and why, time, memory and exactness: `ethosgen report`.

    The value has what the page shows, in bytes, cycles and seconds; `as_json()` is what the command
    prints with --json. With a `board` that QEMU runs, steps are measured; without, they are
    estimates. `output` also writes the page, `perfetto` and `explorer` the files for Perfetto and
    Model Explorer; `force` replaces files that ethosgen did not write. The other options are those
    of FirmwareOptions.
    """
    page, trace, data = (None if one is None else Path(one) for one in (output, perfetto, explorer))
    files = Files(page, trace, data, force)
    files.require()
    with files_of([network]) as found:
        asked = ReportRequest(
            make_recipe([network], found, board, firmware),
            on=on,
            inputs=pipeline_inputs(network, inputs, samples, seed),
            criteria=criteria_of(golden, fidelity),
            command=_call(
                network,
                {
                    "board": board,
                    "on": on,
                    "inputs": inputs,
                    "samples": samples,
                    "seed": seed or None,
                    "golden": golden,
                    "fidelity": fidelity,
                    **firmware,
                },
            ),
        )
        made = make_report(asked, watch_of(announce))
    write_report(made, files)
    return made


def _call(network: NetworkLike, given: Mapping[str, object]) -> str:
    """Return the call of `create_report` as Python, for the page; arrays are left out."""
    name = network.name if isinstance(network, Network) else os.fspath(network)
    words = [repr(name)]
    for option, value in given.items():
        if isinstance(value, (str, os.PathLike)):
            words.append(f"{option}={os.fspath(value)!r}")
        elif value is not None:
            is_plain = isinstance(value, (int, float))
            words.append(f"{option}={value!r}" if is_plain else f"{option}=...")
    return f"ethosgen.create_report({', '.join(words)})"


def criteria_of(
    golden: str | os.PathLike[str] | None, fidelity: float | None, oracle: str | None = None
) -> Criteria:
    """Return the criteria for the outputs, from the caller's arguments."""
    return Criteria(None if golden is None else Path(golden), oracle, fidelity)


def load_outputs(path: Path) -> dict[str, Array]:
    """Return the arrays of the file that a run wrote, none if there is no file."""
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
