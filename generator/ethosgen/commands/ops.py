"""`ethosgen ops`: list which operators run where, in which types, and whether exactly."""

import json

import click

from ethosgen.commands.help import GroupedCommand


@click.command(cls=GroupedCommand, short_help="List the operators that run on an NPU or on the CPU")
@click.argument("names", nargs=-1, metavar="[OPERATOR]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ops(names: tuple[str, ...], as_json: bool) -> None:
    """List the operators that run on an NPU or on the CPU.

    NPU: the products whose compiler supports the operator, with the types (i8 is int8, f32 is
    float32); for Ethos-U85 the types are measured. Only the compiler can decide whether it accepts
    the operator in your network. CPU: the types for which ethosgen has code. Exact means that the
    results equal those of TensorFlow Lite Micro's reference kernels to the last bit.

    \b
        ethosgen ops
        ethosgen ops CONV_2D SOFTMAX
    """
    from ethosgen.studies.coverage import survey, table
    from ethosgen.values.errors import InputError

    rows = survey()
    wanted = {name.upper() for name in names}  # custom operators are in lower case
    unknown = sorted(wanted - {row.operator.upper() for row in rows})
    if unknown:
        raise InputError(
            f"neither an NPU nor the CPU code runs {unknown[0]}; 'ethosgen ops' lists the operators"
        )
    chosen = [row for row in rows if not wanted or row.operator.upper() in wanted]
    if as_json:
        click.echo(json.dumps([row.as_json() for row in chosen], indent=2))
        return
    for line in table(chosen):
        click.echo(line)
