"""`ethosgen stack`: the most stack that the networks of any firmware need."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethosgen.commands.choices import path_option
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON
from ethosgen.commands.wording import stack_lines

if TYPE_CHECKING:
    from ethosgen.proof.stack import StackBound


@click.command(cls=GroupedCommand, short_help="Bound the stack of a firmware's networks")
@click.argument("elf", metavar="ELF", type=click.Path(path_type=Path))
@path_option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write FILE, a header with NAME_STACK_BYTES, such as ethosgen_stack.h.",
)
@JSON
def stack(elf: Path, output: Path | None, as_json: bool) -> None:
    """Show how much stack the networks in the firmware ELF need at most.

    The bound follows from the machine code: the networks' functions and all that they call. Use it
    for a build of your own: a library, Zephyr, a csolution. `ethosgen build` does the same for a
    bare-metal project. The exit status is 1 if a network has no bound.

    \b
        ethosgen stack build/product.elf -o src/ethosgen_stack.h
    """
    from ethosgen.flow.proof import bound_firmware
    from ethosgen.toolchain.stack_header import save_stack_header

    bounds = bound_firmware(elf)
    if output is not None:
        save_stack_header(output, elf, bounds)
    if as_json:
        click.echo(json.dumps({"networks": [_as_json(bound) for bound in bounds]}, indent=2))
    else:
        for line in stack_lines(bounds):
            click.echo(line.strip())
        if any(bound.need and bound.need.lacks_interrupt for bound in bounds):
            click.echo(
                "note      the NPU's interrupt is not in it: no table of vectors in a section "
                ".vectors leads to its handler; add it if it runs on this stack"
            )
        if output is not None:
            click.echo(f"{output}: written; the networks' headers include ethosgen_stack.h")
    click.get_current_context().exit(any(bound.need is None for bound in bounds))


def _as_json(bound: "StackBound") -> dict[str, object]:
    if bound.need is None:
        return {"name": bound.network, "why": bound.why}
    need = bound.need
    return {
        "name": bound.network,
        "bytes": need.bytes,
        "interrupt_bytes": need.interrupt,
        "lacks_interrupt": need.lacks_interrupt,
        "in_thread": need.in_thread,
        "path": list(need.path),
    }
