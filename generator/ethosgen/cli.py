"""The command line: the only module that prints.

Results go to stdout; progress, the next command to type and errors go to stderr.
"""

import json
import logging
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from ethosgen import __version__
from ethosgen.commands.boards import boards
from ethosgen.commands.flash import flash
from ethosgen.commands.ops import ops
from ethosgen.commands.options import JUNIT, OFFLOAD, with_line
from ethosgen.commands.wording import report_text, size_lines, written_text
from ethosgen.errors import EthosgenError
from ethosgen.junit import JUnitFile

_BOARD = click.option(
    "--board", required=True, metavar="BOARD", help="Board name, e.g. corstone300."
)
_NPU = click.option(
    "--npu",
    metavar="NPU",
    help="NPU, e.g. ethos-u55-128, or none: all on the CPU [default: the board's].",
)
_ON = click.option("--on", default="qemu", show_default=True, help="Target to run on.")
_SAMPLES = click.option(
    "--samples", type=click.IntRange(1), default=1, show_default=True, help="Random samples to try."
)
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the samples.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_INPUT = click.option(
    "--input",
    "input_path",
    type=click.Path(path_type=Path),
    help="Inputs, .npz: one array for each input, by name [default: random samples].",
)
_OUTPUT = click.option(
    "--output", "output_path", type=click.Path(path_type=Path), help="Write the outputs, .npz."
)
_IO = click.option(
    "--io",
    type=click.Choice(["arena", "caller"]),
    default="arena",
    show_default=True,
    help="Inputs and outputs in the arena (smallest), or in the caller's own buffers.",
)
_PLATFORM = click.option(
    "--platform",
    type=click.Choice(["baremetal", "zephyr"]),
    default="baremetal",
    show_default=True,
    help="What the firmware is built on.",
)
_MEMORY_MODE = click.option(
    "--memory-mode",
    type=click.Choice(["sram_only", "shared_sram", "dedicated_sram"]),
    help="Which memories hold weights and arena [default: the board's].",
)
_CPU_OPS = click.option(
    "--cpu-ops",
    metavar="OP[,OP…]",
    callback=lambda _context, _option, value: tuple(filter(None, (value or "").split(","))),
    help="Operators to keep on the CPU, by TFLite's names.",
)
_GOLDEN = click.option(
    "--golden",
    "original",
    metavar="MODEL.tflite",
    type=click.Path(path_type=Path),
    help="The original of a file that Vela compiled, for TFLite Micro to answer.",
)
_MODEL = click.argument("model", type=click.Path(path_type=Path))
_DIR = click.argument("directory", type=click.Path(path_type=Path))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ethosgen")
@click.option("-v", "--verbose", is_flag=True, help="Log what the stages do, to stderr.")
def cli(verbose: bool) -> None:
    """Turn a quantized network into firmware for a Cortex-M with an Ethos-U NPU, and prove it.

    \b
    ethosgen verify MODEL.tflite --board corstone300     does my network work on this board?
    ethosgen project MODEL.tflite --board corstone300    give me the firmware's sources
    ethosgen simulate MODEL.tflite                       no compiler, no QEMU: only the NPU model
    ethosgen doctor                                      is everything installed?
    """
    level = logging.DEBUG if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(name)s: %(message)s", stream=sys.stderr)


cli.add_command(boards)
cli.add_command(flash)
cli.add_command(ops)


@cli.command()
@_MODEL
@_BOARD
@_NPU
@click.option("--name", help="Prefix of the C functions [default: from the file's name].")
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path),
    help="Directory [default: NAME].",
)
@_IO
@_CPU_OPS
@OFFLOAD
@_PLATFORM
@_MEMORY_MODE
@click.option("--with-ci", is_flag=True, help="Add a GitHub workflow and its pytest file.")
def project(
    model: Path,
    board: str,
    npu: str | None,
    name: str | None,
    directory: Path | None,
    io: str,
    cpu_ops: tuple[str, ...],
    offload: str,
    platform: str,
    memory_mode: str | None,
    with_ci: bool,
) -> None:
    """Render a project: the model as a C library, and an application around it."""
    from ethosgen import pipeline

    with _Progress() as progress:
        written = pipeline.create_project(
            model,
            board,
            npu=npu,
            name=name,
            directory=directory,
            io=io,
            cpu_ops=cpu_ops,
            offload=offload,
            platform=platform,
            memory_mode=memory_mode,
            with_ci=with_ci,
            watch=progress.watch(),
        )
    click.echo(written_text(written))
    _next(f"ethosgen build {written.directory}")


@cli.command()
@_DIR
@_ON
def build(directory: Path, on: str) -> None:
    """Compile a project with cmake and arm-none-eabi-gcc."""
    from ethosgen import pipeline

    with _Progress() as progress:
        built = pipeline.build_project(directory, on=on, watch=progress.watch())
    click.echo(f"{built.elf}\n{size_lines(built.sizes.flash, built.sizes.ram)}")
    _next(f"ethosgen run {directory} --on {on}")


@cli.command()
@_DIR
@_ON
@_INPUT
@_OUTPUT
@_GOLDEN
@_SAMPLES
@_SEED
@_JSON
@JUNIT
@with_line
@click.option(
    "--build",
    "build_directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Zephyr: where west built it [default: build in the project].",
)
def run(
    directory: Path,
    on: str,
    input_path: Path | None,
    output_path: Path | None,
    original: Path | None,
    samples: int,
    seed: int,
    as_json: bool,
    junit_path: Path | None,
    line: Any,
    build_directory: Path | None,
) -> None:
    """Run a built project on a target and compare its outputs with the golden ones."""
    from ethosgen import pipeline

    with JUnitFile(junit_path, directory.name) as junit, _Progress() as progress:
        report = pipeline.run_project(
            directory,
            on=on,
            inputs=pipeline.Inputs(input_path, samples, seed),
            output_path=output_path,
            original=original,
            build=build_directory,
            line=line,
            watch=progress.watch(),
        )
        junit.record(report)
    _answer(report, as_json, must_compare=False)


@cli.command()
@_MODEL
@_BOARD
@_NPU
@_ON
@_IO
@_CPU_OPS
@OFFLOAD
@_PLATFORM
@_MEMORY_MODE
@_INPUT
@_GOLDEN
@_SAMPLES
@_SEED
@_JSON
@JUNIT
@click.option("--flash", "flasher", metavar="TOOL", help="Flash the board first, by this tool.")
@with_line
def verify(
    model: Path,
    board: str,
    npu: str | None,
    on: str,
    io: str,
    cpu_ops: tuple[str, ...],
    offload: str,
    platform: str,
    memory_mode: str | None,
    input_path: Path | None,
    original: Path | None,
    samples: int,
    seed: int,
    as_json: bool,
    junit_path: Path | None,
    flasher: str | None,
    line: Any,
) -> None:
    """Answer "does my network work on this board?": project, build and run, in a temporary place.

    Exit status 0 only if every element of every sample equals TensorFlow Lite Micro's.
    """
    from ethosgen import pipeline

    with JUnitFile(junit_path, model.stem) as junit, _Progress() as progress:
        report = pipeline.verify(
            model,
            board,
            npu=npu,
            on=on,
            io=io,
            cpu_ops=cpu_ops,
            offload=offload,
            platform=platform,
            memory_mode=memory_mode,
            inputs=pipeline.Inputs(input_path, samples, seed),
            original=original,
            line=line,
            flasher=flasher,
            watch=progress.watch(),
        )
        junit.record(report)
    _answer(report, as_json)


@cli.command()
@_MODEL
@_NPU
@_CPU_OPS
@OFFLOAD
@_INPUT
@_OUTPUT
@_GOLDEN
@click.option("--trace", is_flag=True, help="List what each operation of the NPU did.")
@click.option("--no-times", is_flag=True, help="Leave times out of the list, so that runs compare.")
@click.option(
    "--dump",
    "dumps",
    metavar="N=FILE.npz",
    multiple=True,
    help="Keep inputs and outputs of operation N, as --trace counts them. May be given again.",
)
@_SAMPLES
@_SEED
@_JSON
def simulate(
    model: Path,
    npu: str | None,
    cpu_ops: tuple[str, ...],
    offload: str,
    input_path: Path | None,
    output_path: Path | None,
    original: Path | None,
    trace: bool,
    no_times: bool,
    dumps: tuple[str, ...],
    samples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Run a network's partitions on the NPU model, in process: no compiler, no QEMU.

    \b
    Two runs differ from the first operation on that this shows:
        ethosgen simulate MODEL.tflite --trace --no-times > one.txt
        diff one.txt other.txt
    """
    from ethosgen import inspection, pipeline

    observer = inspection.make_trace(dumps) if trace or dumps else None
    with _Progress() as progress:
        try:
            report = pipeline.simulate(
                model,
                npu=npu,
                cpu_ops=cpu_ops,
                offload=offload,
                inputs=pipeline.Inputs(input_path, samples, seed),
                output_path=output_path,
                original=original,
                trace=observer,
                watch=progress.watch(),
            )
        finally:  # what led to a fault is what the list is for
            if observer is not None and trace and not as_json:
                for line in inspection.trace_lines(observer.entries, not no_times):
                    click.echo(line)
    listed = (
        {"trace": inspection.trace_objects(observer.entries, not no_times)}
        if observer is not None and trace
        else {}
    )
    _answer(report, as_json, must_compare=False, more=listed)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@_NPU
@_JSON
def disasm(file: Path, npu: str | None, as_json: bool) -> None:
    """Show the NPU's commands in FILE, and what each operation does.

    FILE is a .tflite that Vela compiled, one that it has not (it is asked then), or a command
    stream, with or without the driver's header.
    """
    from ethosgen import inspection

    with _Progress() as progress:
        listings = inspection.list_streams(file, npu, progress.watch())
    if as_json:
        click.echo(json.dumps([listing.as_json() for listing in listings], indent=2))
        return
    for listing in listings:
        click.echo(f"; {listing.name}: {listing.size_bytes} bytes for {listing.accelerator.name}")
        for line in listing.lines:
            click.echo(line.text)


@cli.command()
@_JSON
def doctor(as_json: bool) -> None:
    """Say what is found, what is missing, and the command that installs it."""
    from ethosgen import doctor as examination

    findings = examination.examine()
    if as_json:
        click.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            mark = (
                click.style("ok     ", fg="green")
                if finding.found
                else click.style("missing", fg="red")
            )
            click.echo(f"{mark}  {finding.name:<20} {finding.detail}")
            if not finding.found:
                click.echo(f"         install it with:  {finding.remedy}")
    if not all(finding.found for finding in findings):
        sys.exit(3)
    _next("make demo", quiet=as_json)


@cli.command(hidden=True)
def serve_npu() -> None:
    """Be the NPU of a Zephyr application on native_sim, over stdin and stdout."""
    from ethosgen import pipeline

    pipeline.serve_npu(sys.stdin.buffer, sys.stdout.buffer)


def _answer(
    report: Any, as_json: bool, must_compare: bool = True, more: dict[str, Any] | None = None
) -> None:
    """Print a report and end with status 0 only if it passed.

    Where the question is not whether outputs are right, a run without golden answer will do.
    """
    if as_json:
        click.echo(json.dumps(report.as_json() | (more or {}), indent=2))
    else:
        click.echo(report_text(report))
    if not report.passed and (must_compare or report.verdict != "NOT COMPARED"):
        sys.exit(1)


def _next(command: str, quiet: bool = False) -> None:
    """Tell the next command to type, with ethosgen as it was typed this time."""
    if quiet:
        return
    typed = sys.argv[0] if Path(sys.argv[0]).name == "ethosgen" else "ethosgen"
    on_path = shutil.which("ethosgen") == str(Path(typed).absolute())
    program = "ethosgen" if on_path else typed
    click.echo(f"next: {re.sub('^ethosgen ', f'{program} ', command)}", err=True)


class _Progress:
    """A spinner with the present stage on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._status: Any = None

    def __enter__(self) -> "_Progress":
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")
            self._status.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._status is not None:
            self._status.stop()

    def watch(self) -> Any:
        from ethosgen.watch import Watch

        return Watch(self._announce)

    def _announce(self, text: str) -> None:
        logging.getLogger("ethosgen").info(text)
        if self._status is not None:
            self._status.update(text)


def main() -> None:
    """Run the command line; an EthosgenError becomes one sentence and an exit status."""
    try:
        cli(standalone_mode=False)
    except EthosgenError as error:
        click.echo(f"ethosgen: {error}", err=True)
        sys.exit(error.exit_status)
    except click.exceptions.Exit as request:
        sys.exit(request.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ethosgen: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)


if __name__ == "__main__":
    main()
