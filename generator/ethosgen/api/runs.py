"""Runs of a network: on the NPU model alone, or as a firmware."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

import numpy as np

from ethosgen import flow
from ethosgen.api.firmware import FirmwareOptions, make_recipe, require_known
from ethosgen.api.networks import Array, NetworkLike, files_of
from ethosgen.api.pictures import ReportedNetwork, plotted
from ethosgen.api.progress import watch_of
from ethosgen.api.samples import SampleOptions, judged_samples
from ethosgen.studies.reporting import Files, ReportRequest, make_report, write_report
from ethosgen.values.network import Network
from ethosgen.values.plan import EXACT, OffloadOptions
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.watch import Announce


class VerifyOptions(FirmwareOptions, SampleOptions, total=False):
    """The options of a firmware, and those of the samples that it runs."""


@dataclass(frozen=True)
class Run:
    """The result of a run: the `report` that the command prints, and the outputs.

    `outputs` has an array of shape (samples, *shape) for each output by name. It is empty for
    several networks, whose outputs may have the same names.
    """

    report: Report | FirmwareReport
    outputs: Mapping[str, Array] = field(default_factory=dict, repr=False)

    @property
    def passed(self) -> bool:
        """Whether every element of every sample equals the oracle's."""
        return self.report.passed

    def __repr__(self) -> str:
        """Return "<Run PASS: digits on corstone300 (ethos-u55-128, qemu)>"."""
        headline = self.report.headline
        return f"<Run {headline.verdict}: {headline.subject}>"

    def _repr_html_(self) -> str:
        """Return the verdict for a notebook, of each network."""
        return "".join(report.headline.html() for report in self.report.networks)


def simulate(
    network: NetworkLike,
    *,
    npu: str | None = None,
    accelerators: Sequence[str] = (),
    options: OffloadOptions = EXACT,
    announce: Announce | None = None,
    **samples: Unpack[SampleOptions],
) -> Run:
    """Run a network's partitions on the NPU model: `ethosgen simulate`.

    Args:
        network: the path of a file, or what `read` returned.
        npu: a configuration such as "ethos-u55-128", or "none" for the CPU alone.
        accelerators: the names or files of wrapped accelerators that may run operators.
        options: the division between NPU and CPU.
        announce: receives a line for each phase, such as `print`.
        **samples: the options of SampleOptions.
    """
    require_known(samples, SampleOptions)
    inputs, criteria = judged_samples(network, samples)
    with (
        files_of([network]) as ((path,), reading),
        TemporaryDirectory(prefix="ethosgen-") as folder,
    ):
        outputs = Path(folder) / "outputs.npz"
        report = flow.simulate(
            path,
            npu=npu,
            inputs=inputs,
            output_path=outputs,
            options=options,
            criteria=criteria,
            reading=reading,
            accelerators=accelerators,
            watch=watch_of(announce),
        )
        return Run(report, load_outputs(outputs))


def verify(
    *networks: NetworkLike,
    board: str,
    on: str = "qemu",
    app_files: Sequence[str | os.PathLike[str]] = (),
    profile: bool = False,
    coverage: bool = False,
    self_test: bool = False,
    announce: Announce | None = None,
    **options: Unpack[VerifyOptions],
) -> Run:
    """Generate, build and run a firmware in a temporary folder: `ethosgen verify`.

    The report says whether every output equals TensorFlow Lite Micro's, and what the firmware uses
    of the board.

    Args:
        *networks: paths, or what `read` returned; all become one firmware.
        board: a board's name, or the path of its .toml file.
        on: the target that runs the firmware.
        app_files: the files on which an application (`app`) runs.
        profile: count the cycles of each step.
        coverage: report what the samples reach of the generated C.
        self_test: run the networks' self-tests first; if one fails, the firmware does not start.
        announce: receives a line for each phase, such as `print`.
        **options: the options of FirmwareOptions and SampleOptions.
    """
    require_known(options, VerifyOptions)
    alone = networks[0] if len(networks) == 1 else None
    inputs, criteria = judged_samples(alone, options)
    with files_of(networks) as files, TemporaryDirectory(prefix="ethosgen-") as folder:
        outputs = Path(folder) / "outputs.npz"
        report = flow.verify(
            make_recipe(networks, files, board, options),
            flow.RunOptions(
                inputs,
                criteria=criteria,
                output_path=outputs if alone is not None else None,
                profile=profile,
                coverage=coverage,
                self_test=self_test,
            ),
            on=on,
            feed=flow.Feed(tuple(map(Path, app_files)), inputs.seed),
            watch=watch_of(announce),
        )
        return Run(report, load_outputs(outputs))


def create_report(
    network: NetworkLike,
    *,
    board: str | None = None,
    on: str | None = None,
    output: str | os.PathLike[str] | None = None,
    perfetto: str | os.PathLike[str] | None = None,
    explorer: str | os.PathLike[str] | None = None,
    quality: Sequence[str | os.PathLike[str]] = (),
    coverage: bool = False,
    force: bool = False,
    announce: Announce | None = None,
    **options: Unpack[VerifyOptions],
) -> ReportedNetwork:
    """Gather what runs where and why, time, memory and exactness: `ethosgen report`.

    Returns what the page shows, in bytes, cycles and seconds; `as_json()` returns what the command
    prints with --json, and `plot` draws the timeline, the memory or the graph.

    Args:
        network: the path of a file, or what `read` returned.
        board: a board; if QEMU runs it, steps are measured, otherwise they are estimated.
        on: the target that runs the firmware, "simulate" for the NPU model.
        output: the page (.html) to write.
        perfetto: the file for Perfetto to write.
        explorer: the file for Model Explorer to write.
        quality: files of `ethosgen accuracy --json` or `quantize --json` about the network, whose
            figures the page shows.
        coverage: also report what the samples reach of the generated C.
        force: replace files that ethosgen did not write.
        announce: receives a line for each phase, such as `print`.
        **options: the options of FirmwareOptions and SampleOptions.
    """
    require_known(options, VerifyOptions)
    page, trace, data = (
        None if path is None else Path(path) for path in (output, perfetto, explorer)
    )
    files = Files(page, trace, data, force)
    files.require()
    inputs, criteria = judged_samples(network, options)
    shown = {"board": board, "on": on, **options}
    with files_of([network]) as sources:
        recipe = make_recipe([network], sources, board, options)
        command = _call(network, shown)
        measured = tuple(map(Path, quality))
        request = ReportRequest(
            *(recipe, on, inputs, criteria),
            command=command,
            quality=measured,
            coverage=coverage,
        )
        report = make_report(request, watch_of(announce))
    write_report(report, files)
    return plotted(ReportedNetwork, report)


def _call(network: NetworkLike, options: Mapping[str, object]) -> str:
    """Return the call of `create_report` as Python, for the page; arrays are left out."""
    name = network.name if isinstance(network, Network) else os.fspath(network)
    words = [repr(name)]
    for option, value in options.items():
        if isinstance(value, (str, os.PathLike)):
            words.append(f"{option}={os.fspath(value)!r}")
        elif value is not None:
            is_plain = isinstance(value, (int, float))
            words.append(f"{option}={value!r}" if is_plain else f"{option}=...")
    return f"ethosgen.create_report({', '.join(words)})"


def load_outputs(path: Path) -> dict[str, Array]:
    """Return the arrays in the file that a run wrote, none if there is no file."""
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
