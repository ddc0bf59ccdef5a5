"""Options that several commands share."""

import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.application import APP, LABELS
from ethosgen.commands.choices import OpenChoice, ValueChoice, path_option
from ethosgen.commands.offload_options import FEED, SRAM_LIMIT, STEP, with_offloading
from ethosgen.host.folders import NO_CACHE
from ethosgen.platforms import PLATFORMS, find_platform, names_of, usual_platform
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.security import Security
from ethosgen.values.source import AS_IS, CHANNELS_LAST, ReadOptions

BOARD = click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="Board name, e.g. corstone300 [default with --platform linux: aarch64-linux].",
)
BOARD_OR_NONE = click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="Board name, e.g. corstone300; with --platform library you can give only --npu [default "
    "with --platform linux: aarch64-linux].",
)
NPU = click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU, e.g. ethos-u55-128, or none to run everything on the CPU [default: the board's].",
)
ACCELERATORS = click.option(
    "--accelerator",
    "accelerators",
    metavar="NAME|FOLDER",
    multiple=True,
    help="Your own accelerator for operators that the NPU does not run: its name, or its folder "
    "with accelerator.toml. Repeatable.",
)
ON = click.option(
    "--on",
    shell_complete=completion.targets,
    default="qemu",
    show_default=True,
    help="Target to run on.",
)
BUILD = path_option(
    "--build",
    "build_directory",
    metavar="DIR",
    help="Zephyr: west's build directory [default: build in the project].",
)
ON_THE_BOARDS = click.option(
    "--on",
    shell_complete=completion.targets,
    help="Target to run on: qemu, fvp, serial, or ssh for Linux [default: qemu; fvp or serial if "
    "QEMU does not have the board].",
)
SAMPLES = click.option(
    "--samples",
    type=click.IntRange(1),
    help="Number of random samples, from several distributions in turn [default: 10; fewer for a "
    "large network].",
)
SEED = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed for the random samples.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
INPUT = path_option(
    "--input",
    "input_path",
    help="Inputs in an .npz file: one array for each input, by name [default: random samples].",
)
OUTPUT = click.option(
    "-o",
    "--output",
    "output_path",
    type=click.Path(path_type=Path),
    help="Write the outputs to an .npz file.",
)
IO = click.option(
    "--io",
    type=ValueChoice(["arena", "caller"]),
    help="Keep inputs and outputs in the arena (smallest), or in the caller's buffers [default: "
    "arena; caller with --weights blob].",
)
PLATFORM = click.option(
    "--platform",
    type=OpenChoice(lambda: names_of(lambda platform: platform.is_built)),
    help="Platform of the firmware; linux generates a program [default: baremetal, or linux if "
    "the board runs it].",
)
PLATFORM_OR_LIBRARY = click.option(
    "--platform",
    type=OpenChoice(lambda: PLATFORMS),
    help="Platform of the firmware; linux generates a program, library only the model, for your "
    "own application [default: baremetal, or linux if the board runs it].",
)
MEMORY_MODE = click.option(
    "--memory-mode",
    type=ValueChoice(["sram_only", "shared_sram", "dedicated_sram"]),
    help="Which memories hold weights and arena [default: the board's].",
)
SECURITY = click.option(
    "--security",
    type=ValueChoice([state.value for state in Security]),
    default=Security.SECURE.value,
    show_default=True,
    help="TrustZone state of the firmware; non-secure also generates the secure image that starts "
    "it.",
)
WEIGHTS = click.option(
    "--weights",
    type=ValueChoice(["code", "blob"]),
    default="code",
    show_default=True,
    help="Put weights into the code, or into a separate file for external flash and for updates.",
)
FIDELITY = click.option(
    "--fidelity",
    type=click.FloatRange(0),
    metavar="STEPS",
    help="Also fail if an output differs by more than STEPS steps from the output of the "
    "network's own runtime (ONNX Runtime for .onnx) [default: only report the differences].",
)
GOLDEN = path_option(
    "--golden",
    metavar="FILE",
    help="Golden outputs (.npz) for the samples in --input, or the original network (.tflite) if "
    "MODEL is already compiled.",
)


def _only(context: click.Context, _argument: click.Parameter, networks: tuple[Path, ...]) -> Path:
    """Refuse a second network, although verify and project accept several."""
    if len(networks) > 1 and context.info_name == "pipeline":
        raise InputError(f"pipeline cuts one network but got {len(networks)}; run it once for each")
    if len(networks) > 1:
        raise InputError(
            f"simulate runs one network but got {len(networks)}; run it once for each, or use "
            "'ethosgen verify', which puts them into one firmware"
        )
    return networks[0]


MODEL = click.argument(
    "network",
    metavar="MODEL",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    callback=_only,
)
MODELS = click.argument(
    "networks", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
NAMES = click.option(
    "--name",
    "names",
    metavar="NAME",
    multiple=True,
    help="Prefix of the C functions; repeat it for each MODEL, in order [default: the file's "
    "name].",
)
DIR = click.argument("directory", type=click.Path(path_type=Path))
WITH_CI = click.option(
    "--with-ci", is_flag=True, help="Add a GitHub workflow that checks the firmware."
)
CI_ETHOSGEN = click.option(
    "--ci-ethosgen",
    metavar="WHEEL|ADDRESS",
    help="What the workflow installs: the path of a wheel, or git+https://... [default: a wheel "
    "of this ethosgen, stored in ci/].",
)
PACK = click.option(
    "--pack",
    metavar="VENDOR::NAME@VERSION",
    help="With --platform csolution: also make a CMSIS pack of the library, in model/.",
)
JUNIT = path_option(
    "--junit",
    "junit_path",
    metavar="FILE.xml",
    help="Also write the verdict as JUnit XML.",
)

PROFILE = click.option(
    "--profile",
    is_flag=True,
    help="Also show the cost of each step of a network: the processor's instructions or cycles, "
    "and the NPU's cycles.",
)


def _shapes(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Read NAME=1,3,224,224 of each --shape."""
    shapes = []
    for value in values:
        name, _, sizes = value.rpartition("=")
        try:
            shape = tuple(map(int, sizes.split(",")))
        except ValueError:
            shape = ()
        if not name or not shape or min(shape) < 1:
            raise click.BadParameter(
                f"'{value}' is not a name and sizes, e.g. input=1,3,224,224", param_hint="--shape"
            )
        shapes.append((name, shape))
    return tuple(shapes)


def _turn_off_cache(context: click.Context, _parameter: click.Parameter, is_off: bool) -> None:
    """Turn the cache off for this command, and for the processes that it starts."""
    if is_off and NO_CACHE not in os.environ:
        os.environ[NO_CACHE] = "1"
        context.call_on_close(lambda: os.environ.pop(NO_CACHE, None))


CACHE = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    callback=_turn_off_cache,
    help="Ignore the user's cache: convert .onnx and .pt2 files again, test each operator at the "
    "ends of its inputs again, and store nothing.",
)


def with_reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading a network's file to a command, passed as `reading`."""

    @click.option(
        "--shape",
        "shapes",
        metavar="NAME=SIZES",
        multiple=True,
        shell_complete=completion.inputs,
        callback=_shapes,
        help="Shape of an input, if the file leaves sizes open, e.g. input=1,3,224,224. "
        "Repeatable.",
    )
    @click.option(
        "--input-layout",
        type=ValueChoice([AS_IS, CHANNELS_LAST]),
        default=AS_IS,
        show_default=True,
        help="Keep the layout of the file, or make inputs of channels-first networks "
        "channels-last (nhwc), which saves a transpose.",
    )
    @CACHE
    @functools.wraps(function)
    def wrapped(
        shapes: tuple[tuple[str, tuple[int, ...]], ...], input_layout: str, **arguments: Any
    ) -> Any:
        return function(reading=ReadOptions(shapes, input_layout), **arguments)

    return wrapped


def _usual_platform(board: str | None) -> str:
    from ethosgen.board import load_board

    return usual_platform(load_board(board).platforms if board else ())


def with_samples(
    samples_option: Callable[..., Any] = SAMPLES,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options for samples and their outputs to a command: `inputs` and `criteria`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @INPUT
        @GOLDEN
        @FIDELITY
        @samples_option
        @SEED
        @functools.wraps(function)
        def wrapped(
            input_path: Path | None,
            golden: Path | None,
            fidelity: float | None,
            samples: int | None,
            seed: int,
            **arguments: Any,
        ) -> Any:
            from ethosgen.verdict.judgement import Criteria, Inputs

            inputs = Inputs(input_path, samples, seed)
            criteria = Criteria(golden, fidelity=fidelity)
            return function(inputs=inputs, criteria=criteria, **arguments)

        done: Callable[..., Any] = wrapped
        return done

    return decorate


def with_recipe(
    board_option: Callable[..., Any], platform_option: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that define a firmware to a command, passed as `recipe`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @MODELS
        @board_option
        @NPU
        @ACCELERATORS
        @NAMES
        @IO
        @with_offloading
        @with_reading
        @platform_option
        @MEMORY_MODE
        @APP
        @LABELS
        @SRAM_LIMIT
        @FEED
        @STEP
        @SECURITY
        @WEIGHTS
        @functools.wraps(function)
        def wrapped(
            networks: tuple[Path, ...],
            board: str | None,
            npu: str | None,
            accelerators: tuple[str, ...],
            names: tuple[str, ...],
            io: str | None,
            options: OffloadOptions,
            reading: ReadOptions,
            platform: str | None,
            memory_mode: str | None,
            sram_limit: int | None,
            feed: bool,
            step: bool,
            security: str,
            weights: str,
            app: str | None = None,
            labels: Path | None = None,
            **arguments: Any,
        ) -> Any:
            platform = platform or _usual_platform(board)
            board = board or find_platform(platform).default_board
            schedule = replace(options.schedule, feed=feed, steps=step)
            options = replace(options, schedule=schedule)
            style = IoStyle(io or ("caller" if weights == "blob" else "arena"))
            recipe = Recipe(
                networks, board, npu, names, style, platform, memory_mode, options, reading,
                accelerators, app, labels, sram_limit=sram_limit, security=Security(security),
                apart=weights == "blob",
            )  # fmt: skip
            return function(recipe=recipe, **arguments)

        done: Callable[..., Any] = wrapped
        return done

    return decorate


def with_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --port, --baud, --reset and --host to a command, passed as `line`.

    `line` is None without --port and --host. For a pipeline, it is a dictionary of ports by the
    elements' names.
    """

    @click.option(
        "--host", metavar="USER@HOST", help="For Linux: the computer to run on, over ssh."
    )
    @click.option(
        "--port",
        "ports",
        metavar="[NAME=]URL",
        multiple=True,
        shell_complete=completion.ports,
        help="The board's serial port, or a pyserial URL. For an element of a pipeline: NAME= for "
        "its console, NAME.before= and NAME.behind= for its lines.",
    )
    @click.option("--baud", type=click.IntRange(1), help="Baud rate [default: the board's].")
    @click.option(
        "--reset",
        type=ValueChoice(["none", "dtr", "rts"]),
        help="Control line that resets the board [default: the board file's].",
    )
    @functools.wraps(function)
    def wrapped(
        host: str | None,
        ports: tuple[str, ...],
        baud: int | None,
        reset: str | None,
        on: str | None,
        **arguments: Any,
    ) -> Any:
        if not ports and (baud is not None or reset is not None):
            raise click.UsageError("--baud and --reset need a serial port; name it with --port")
        if host is not None:
            if ports or on not in ("ssh", None):
                raise click.UsageError("--host needs --on ssh, and excludes --port")
            from ethosgen.targets import SshHost

            return function(on="ssh", line=SshHost(host), **arguments)
        if not ports:
            return function(on=on, line=None, **arguments)
        if on not in ("serial", None):
            raise click.UsageError("--port needs --on serial")
        from ethosgen.targets import SerialLine

        named = [_NAMED_PORT.fullmatch(port) for port in ports]
        if all(named):
            lines = _element_ports([match for match in named if match], baud, reset)
            return function(on="serial", line=lines, **arguments)
        if len(ports) > 1:
            raise click.UsageError("a board has one --port; a pipeline's have names: NAME=URL")
        return function(on="serial", line=SerialLine(ports[0], baud, reset), **arguments)

    return wrapped


_NAMED_PORT = re.compile(r"([a-z][a-z0-9_]*)(?:\.((?:before|behind)(?:\.[a-z][a-z0-9_]*)?))?=(.+)")


def _element_ports(named: Sequence[re.Match[str]], baud: int | None, reset: str | None) -> Any:
    """Return the ports of a pipeline's elements by name."""
    from ethosgen.targets import SerialLine
    from ethosgen.targets.relay import ElementPorts

    urls: dict[tuple[str, str | None], str] = {}
    for match in named:
        if (match[1], match[2]) in urls or match[3] in urls.values():
            raise click.UsageError(f"--port {match[0]}: its line or its port is in two of them")
        urls[match[1], match[2]] = match[3]
    names = dict.fromkeys(name for name, _ in urls)
    silent = next((name for name in names if (name, None) not in urls), None)
    if silent is not None:
        raise click.UsageError(f"element '{silent}' needs a console too: --port {silent}=URL")
    return {
        name: ElementPorts(
            SerialLine(urls[name, None], baud, reset),
            {line: url for (of, line), url in urls.items() if of == name and line},
        )
        for name in names
    }


def schema_option(
    files: str, schema: Callable[..., str], formats: Sequence[str] = ()
) -> Callable[..., Any]:
    """Return --schema, which prints the JSON schema of some files and ends the command.

    With several `formats`, the option takes the name of one, which `schema` gets.
    """

    def print_schema(context: click.Context, _option: click.Parameter, value: str | bool) -> None:
        if value and not context.resilient_parsing:
            click.echo(schema(value) if formats else schema(), nl=False)
            context.exit()

    kind: dict[str, Any] = {"type": ValueChoice(formats)} if formats else {"is_flag": True}
    return click.option(
        "--schema",
        **kind,
        is_eager=True,
        expose_value=False,
        callback=print_schema,
        help=f"Only print the JSON schema of {files}.",
    )


def require_board(line: Any) -> None:
    """Raise InputError if ports of elements are given for a single board."""
    if isinstance(line, dict):
        raise InputError("--port NAME=URL is for a pipeline's elements; leave out the name")


def require_qemu(on: str | None, **options: Any) -> None:
    """Raise InputError for what a pipeline does not support: other targets, or certain options."""
    if on not in ("qemu", None):
        raise InputError(f"a pipeline runs on QEMU; for --on {on}, name the project of one element")
    option = next((name for name, value in options.items() if value is not None), None)
    if option is not None:
        option = option.replace("_", "-")
        raise InputError(f"--{option} is for a project, but this is a pipeline; omit it")
