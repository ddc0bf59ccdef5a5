"""Projects on disk: created, built and run."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ethosgen import flow
from ethosgen.api.firmware import FirmwareOptions, make_recipe, require_known
from ethosgen.api.networks import NetworkLike, files_of
from ethosgen.api.progress import watch_of
from ethosgen.api.runs import Run, load_outputs
from ethosgen.api.samples import SampleOptions, judged_samples
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Announce, Watch

if TYPE_CHECKING:
    from ethosgen.flow.identity import IdentityMatch
    from ethosgen.targets import Line
    from ethosgen.toolchain import Built


def create_project(
    *networks: NetworkLike,
    directory: str | os.PathLike[str],
    board: str | None = None,
    announce: Announce | None = None,
    **firmware: Unpack[FirmwareOptions],
) -> flow.Written:
    """Generate the sources of a firmware in a directory: `ethosgen project`.

    Returns the directory and the files that were written. A directory with other contents is
    refused, and a project's own application is kept.

    Args:
        *networks: paths, or what `read` returned; all become one firmware.
        directory: the project's folder, which is created.
        board: a board's name, or the path of its .toml file.
        announce: receives a line for each phase, such as `print`.
        **firmware: the options of FirmwareOptions.
    """
    require_known(firmware, FirmwareOptions)
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
    self_test: bool = False,
    announce: Announce | None = None,
) -> "Built":
    """Compile a project's firmware and return the ELF and its sizes: `ethosgen build`.

    Args:
        directory: the project's folder.
        on: the target to build for, such as "qemu"; by default the project's own.
        profile: count the cycles of each step when it runs.
        self_test: run the networks' self-tests first; if one fails, the firmware does not start.
        announce: receives a line for each phase, such as `print`.
    """
    return flow.build_project(
        Path(directory), on=on, profile=profile, self_test=self_test, watch=watch_of(announce)
    )


def flash_project(
    directory: str | os.PathLike[str],
    *,
    tool: str | None = None,
    harness: bool = False,
    announce: Announce | None = None,
) -> Path:
    """Write a firmware that was built for "serial" to its board; return the ELF: `ethosgen flash`.

    Args:
        directory: the project's folder.
        tool: the name of a flash tool in the board's file; by default its first.
        harness: in a project with an application, write the firmware that serves inferences.
        announce: receives a line for each phase, such as `print`.
    """
    return flow.flash_project(Path(directory), tool=tool, harness=harness, watch=watch_of(announce))


def identify(
    file: str | os.PathLike[str],
    *,
    project: str | os.PathLike[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> tuple["IdentityMatch", ...]:
    """Return the networks that a built firmware has: `ethosgen identify`.

    Each has its name and `identity`: the digests of the network's file and of the library's
    sources, and the version of ethosgen. InputError if the file names no network.

    Args:
        file: an ELF file, a raw binary, Intel HEX or S-records; or a file of weights.
        project: a project's folder, or its manifest; then the result also has the networks that
            the firmware lacks, and each `difference`, "" where firmware and project agree.
        weights: a file of weights apart from the code; the last entry's `weights` says whether the
            firmware accepts it, else with which status it refuses it, and for which field.
    """
    from ethosgen.flow import identity

    return identity.answer(
        Path(file), Path(project) if project else None, Path(weights) if weights else None
    )


def run_project(
    directory: str | os.PathLike[str],
    *,
    on: str | None = None,
    network: str | None = None,
    oracle: str | None = None,
    profile: bool = False,
    port: str | None = None,
    baud: int | None = None,
    reset: str | None = None,
    host: str | None = None,
    announce: Announce | None = None,
    **samples: Unpack[SampleOptions],
) -> Run:
    """Run a built project's firmware on a target, and compare its outputs: `ethosgen run`.

    All its networks run in turn, unless one is named.

    Args:
        directory: the project's folder.
        on: the target, such as "qemu"; by default the one it was built for.
        network: the name of the only network to run.
        oracle: the short name of the oracle that decides; by default TensorFlow Lite Micro if it
            can run the network.
        profile: count the cycles of each step; the project must have been built with it.
        port: a board's serial port, or a URL of pyserial's; `on` is then "serial".
        baud: the port's baud rate; by default the board's.
        reset: the control line that resets the board: "none", "dtr" or "rts".
        host: for Linux, USER@HOST of the computer to run on; `on` is then "ssh".
        announce: receives a line for each phase, such as `print`.
        **samples: the options of SampleOptions.
    """
    from ethosgen.flow.planning import read_stored
    from ethosgen.project import open_project

    require_known(samples, SampleOptions)
    on, line = _line(on, host, port, baud, reset)
    project = Path(directory)
    info = open_project(project)
    is_alone = network is not None or len(info.networks) == 1
    only = None
    if is_alone and isinstance(samples.get("inputs"), np.ndarray):
        only = read_stored(info.networks[0 if network is None else info.index(network)], Watch())
    inputs, criteria = judged_samples(only, samples, oracle)
    with TemporaryDirectory(prefix="ethosgen-") as folder:
        outputs = Path(folder) / "outputs.npz"
        report = flow.run_project(
            project,
            flow.RunOptions(
                inputs,
                criteria=criteria,
                output_path=outputs if is_alone else None,
                line=line,
                profile=profile,
            ),
            on=on,
            network=network,
            watch=watch_of(announce),
        )
        return Run(report, load_outputs(outputs))


def _line(
    on: str | None, host: str | None, port: str | None, baud: int | None, reset: str | None
) -> tuple[str | None, "Line | None"]:
    """Return a target, and what connects to a board or computer; InputError for a contradiction."""
    from ethosgen.targets import SerialLine, SshHost

    if port is None and (baud is not None or reset is not None):
        raise InputError("baud and reset are a serial port's; name it with port")
    if host is not None:
        if port is not None or on not in ("ssh", None):
            raise InputError("host is for on='ssh', and excludes port")
        return "ssh", SshHost(host)
    if port is None:
        return on, None
    if on not in ("serial", None):
        raise InputError(f"port is for on='serial', not '{on}'")
    if reset not in (None, "none", "dtr", "rts"):
        raise InputError(f"reset is 'none', 'dtr' or 'rts', not '{reset}'")
    return "serial", SerialLine(port, baud, reset)
