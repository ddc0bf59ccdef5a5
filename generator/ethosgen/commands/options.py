"""Options that several commands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.choices import ValueChoice
from ethosgen.values.errors import InputError

BOARD = click.option(
    "--board", required=True, metavar="BOARD", help="Board name, e.g. corstone300."
)
BOARD_OR_NONE = click.option(
    "--board",
    metavar="BOARD",
    help="Board name, e.g. corstone300; a library needs none, but then --npu.",
)
NPU = click.option(
    "--npu",
    metavar="NPU",
    help="NPU, e.g. ethos-u55-128, or none: all on the CPU [default: the board's].",
)
ON = click.option("--on", default="qemu", show_default=True, help="Target to run on.")
ON_THE_BOARDS = click.option(
    "--on",
    help="Target to run on [default: qemu; fvp or serial for a board that QEMU does not run].",
)
SAMPLES = click.option(
    "--samples",
    type=click.IntRange(1),
    help="Random samples to try, from several distributions in turn [default: 10, fewer for a "
    "network that computes very much].",
)
SEED = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the samples."
)
ORACLE = click.option(
    "--oracle",
    type=ValueChoice(["tflm", "litert"]),
    help="Who decides about outputs: TensorFlow Lite Micro or LiteRT's reference kernels "
    "[default: the project's; else tflm, and litert where it lacks an operator].",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
INPUT = click.option(
    "--input",
    "input_path",
    type=click.Path(path_type=Path),
    help="Inputs, .npz: one array for each input, by name [default: random samples].",
)
OUTPUT = click.option(
    "--output", "output_path", type=click.Path(path_type=Path), help="Write the outputs, .npz."
)
IO = click.option(
    "--io",
    type=ValueChoice(["arena", "caller"]),
    default="arena",
    show_default=True,
    help="Inputs and outputs in the arena (smallest), or in the caller's own buffers.",
)
PLATFORM = click.option(
    "--platform",
    type=ValueChoice(["baremetal", "zephyr", "csolution"]),
    default="baremetal",
    show_default=True,
    help="What the firmware is built on.",
)
PLATFORM_OR_LIBRARY = click.option(
    "--platform",
    type=ValueChoice(["baremetal", "zephyr", "csolution", "library"]),
    default="baremetal",
    show_default=True,
    help="What the firmware is built on; library: the model alone, for an application of yours.",
)
MEMORY_MODE = click.option(
    "--memory-mode",
    type=ValueChoice(["sram_only", "shared_sram", "dedicated_sram"]),
    help="Which memories hold weights and arena [default: the board's].",
)
CPU_OPS = click.option(
    "--cpu-ops",
    metavar="OP[,OP…]",
    callback=lambda _context, _option, value: tuple(filter(None, (value or "").split(","))),
    help="Operators to keep on the CPU, by TFLite's names.",
)
GOLDEN = click.option(
    "--golden",
    "original",
    metavar="MODEL.tflite",
    type=click.Path(path_type=Path),
    help="The original of a file that Vela compiled, for TFLite Micro to answer.",
)


def _only(_context: click.Context, _argument: click.Parameter, models: tuple[Path, ...]) -> Path:
    """Refuse a second network, which verify and project would take."""
    if len(models) > 1:
        raise InputError(
            f"simulate runs one network, and there are {len(models)}; run it once for each, or let "
            "'ethosgen verify' put them into one firmware"
        )
    return models[0]


MODEL = click.argument(
    "model",
    metavar="MODEL",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    callback=_only,
)
MODELS = click.argument(
    "models", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
NAMES = click.option(
    "--name",
    "names",
    metavar="NAME",
    multiple=True,
    help="Prefix of the C functions; once for each MODEL, in order [default: its file's name].",
)
DIR = click.argument("directory", type=click.Path(path_type=Path))
JUNIT = click.option(
    "--junit",
    "junit_path",
    metavar="FILE.xml",
    type=click.Path(path_type=Path),
    help="Write the verdict as JUnit XML too.",
)

OFFLOAD = click.option(
    "--offload",
    type=ValueChoice(["all", "auto", "none"]),
    default="all",
    show_default=True,
    help="What the NPU gets: all that it can run, what is estimated faster there, nothing.",
)


TRUST_VELA = click.option(
    "--trust-vela",
    is_flag=True,
    help="Offload what Vela offloads, known errata included, and do not check it.",
)
CHECK = click.option(
    "--check/--no-check",
    default=True,
    help="Compare the plan with the oracle on the NPU model first, or not [default: check].",
)


def with_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --port, --baud and --reset; it gets them as `line`, None without --port."""

    @click.option("--port", metavar="URL", help="Serial port of the board, or a pyserial URL.")
    @click.option("--baud", type=click.IntRange(1), help="Its rate [default: the board's].")
    @click.option(
        "--reset",
        type=ValueChoice(["none", "dtr", "rts"]),
        help="The control line that resets the board [default: what its file says].",
    )
    @functools.wraps(function)
    def wrapped(
        port: str | None, baud: int | None, reset: str | None, on: str | None, **arguments: Any
    ) -> Any:
        if port is None and (baud is not None or reset is not None):
            raise click.UsageError("--baud and --reset are of a line; name it by --port")
        if port is None:
            return function(on=on, line=None, **arguments)
        if on not in ("serial", None):
            raise click.UsageError("--port is for --on serial")
        from ethosgen.target import SerialLine

        return function(on="serial", line=SerialLine(port, baud, reset), **arguments)

    return wrapped
