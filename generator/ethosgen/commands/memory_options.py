"""Options that decide between time and memory."""

import click

from ethosgen.commands.choices import ValueChoice
from ethosgen.commands.sizes import SIZE
from ethosgen.values.schedule import Strategy

STRATEGY = click.option(
    "--strategy",
    type=ValueChoice([strategy.value for strategy in Strategy]),
    default=Strategy.PERFORMANCE.value,
    show_default=True,
    help="What Vela minimises: the time, or the memory for tensors.",
)
ARENA_LIMIT = click.option(
    "--arena-limit",
    type=SIZE,
    metavar="BYTES|KiB",
    help="SRAM that Vela may plan for tensors, e.g. 64KiB (Vela's --arena-cache-size) [default: "
    "the board's]. 'ethosgen compare --front' shows what limits cost.",
)

SRAM_LIMIT = click.option(
    "--sram-limit",
    type=SIZE,
    metavar="BYTES|KiB",
    help="Choose the fastest of Vela's strategies and arena limits with which the networks take at "
    "most so much SRAM: the arena of NPU and CPU, and what else the memory mode puts there.",
)
