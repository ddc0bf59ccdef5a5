"""Options of the division between NPU and CPU, and of time against memory."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import OpenChoice, ValueChoice
from ethosgen.commands.sizes import SIZE, SIZE_OR_ZERO
from ethosgen.oracle import choices
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.schedule import Schedule, Strategy, Streaming

STRATEGY = click.option(
    "--strategy",
    type=ValueChoice([strategy.value for strategy in Strategy]),
    default=Strategy.PERFORMANCE.value,
    show_default=True,
    help="What Vela optimizes: time, or memory for tensors.",
)
ARENA_LIMIT = click.option(
    "--arena-limit",
    type=SIZE,
    metavar="BYTES|KiB",
    help="SRAM that Vela may use for tensors, e.g. 64KiB (Vela's --arena-cache-size), or the CPU's "
    "operators without an NPU [default: the board's]. 'ethosgen compare --front' shows the cost of "
    "each limit.",
)
STREAM = click.option(
    "--stream",
    type=ValueChoice([stream.value for stream in Streaming]),
    default=Streaming.AUTO.value,
    show_default=True,
    help="Whether chains of operators on the CPU compute bands of rows instead of whole tensors, "
    "which takes less SRAM and more time: where a limit needs it, never, or for the least SRAM.",
)
FETCH = click.option(
    "--fetch",
    type=SIZE_OR_ZERO,
    metavar="BYTES|KiB",
    help="SRAM for copies of the CPU's next weights, which the core or your DMA controller makes "
    "while a layer computes (docs/fetching.md); 0 for none [default: 32KiB where the board's file "
    "says that reading weights is slow, else 0].",
)
FEED = click.option(
    "--feed",
    is_flag=True,
    help="The application gives the input row by row, as a camera does, with NAME_feed(): the "
    "input is never whole in memory. For networks on the CPU alone (docs/streaming.md).",
)
STEP = click.option(
    "--step",
    is_flag=True,
    help="NAME_step() runs an inference in slices of a band of rows or an operator, for firmware "
    "without an RTOS. For networks on the CPU alone (docs/streaming.md).",
)
SRAM_LIMIT = click.option(
    "--sram-limit",
    type=SIZE,
    metavar="BYTES|KiB",
    help="Choose the fastest of Vela's strategies and arena limits, or of the CPU's bands of rows, "
    "that keep the networks within this SRAM: the arena of NPU and CPU, and everything else that "
    "the memory mode puts there.",
)

OFFLOAD = click.option(
    "--offload",
    type=ValueChoice(["all", "auto", "none"]),
    default="all",
    show_default=True,
    help="Which operators to run on the NPU: all that it supports, only those estimated faster "
    "there, or none.",
)

TRUST_COMPILER = click.option(
    "--trust-compiler",
    "--trust-vela",
    "trust_compiler",
    is_flag=True,
    help="Offload all operators that the NPU's compiler accepts, despite known errata, and skip "
    "the check.",
)

CHECK = click.option(
    "--check/--no-check",
    default=True,
    help="Before writing anything, compare the plan's outputs on the NPU model with the oracle's "
    "[default: check].",
)

OPTIMIZE = click.option(
    "--optimize/--no-optimize",
    default=True,
    help="Leave out what cannot change the network's outputs, such as channels that are constant "
    "for every input [default: optimize].",
)

ALLOW_DIFFERENCE = click.option(
    "--allow-difference",
    "steps",
    type=click.FloatRange(0),
    default=0.0,
    metavar="STEPS",
    help="Also use accelerators that round differently, if all outputs stay within STEPS steps of "
    "the oracle's. The verdict is then PASS within STEPS steps instead of PASS.",
)

ALLOW_FALLBACK = click.option(
    "--allow-fallback",
    is_flag=True,
    help="If your own accelerator computes an operator incorrectly, run it on the CPU instead of "
    "failing.",
)


def with_division(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the division between NPU and CPU to a command, passed as `options`."""

    @CPU_OPS
    @OFFLOAD
    @TRUST_COMPILER
    @CHECK
    @OPTIMIZE
    @ORACLE
    @ALLOW_DIFFERENCE
    @ALLOW_FALLBACK
    @functools.wraps(function)
    def wrapped(
        cpu_ops: tuple[str, ...],
        offload: str,
        trust_compiler: bool,
        check: bool,
        optimize: bool,
        oracle: str | None,
        steps: float,
        allow_fallback: bool,
        **arguments: Any,
    ) -> Any:
        mode = OffloadMode(offload)
        options = OffloadOptions(
            cpu_ops,
            mode,
            trust_compiler,
            check,
            oracle,
            steps,
            allow_fallback=allow_fallback,
            optimize=optimize,
        )
        return function(options=options, **arguments)

    return wrapped


def with_offloading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the offloading options and those of Vela to a command, passed as `options`."""

    @with_division
    @STRATEGY
    @ARENA_LIMIT
    @STREAM
    @FETCH
    @functools.wraps(function)
    def wrapped(
        options: OffloadOptions,
        strategy: str,
        arena_limit: int | None,
        stream: str,
        fetch: int | None,
        **arguments: Any,
    ) -> Any:
        schedule = Schedule(Strategy(strategy), arena_limit, Streaming(stream), fetch_bytes=fetch)
        return function(options=replace(options, schedule=schedule), **arguments)

    return wrapped


ORACLE = click.option(
    "--oracle",
    type=OpenChoice(choices),
    help="The oracle that decides: TensorFlow Lite Micro or LiteRT's reference kernels [default: "
    "the project's, otherwise tflm, and litert for operators that tflm does not support].",
)

CPU_OPS = click.option(
    "--cpu-ops",
    metavar="OP[,OP…]",
    shell_complete=completion.operators,
    callback=lambda _context, _option, value: tuple(filter(None, (value or "").split(","))),
    help="Operators to keep on the CPU, by their TFLite names.",
)
