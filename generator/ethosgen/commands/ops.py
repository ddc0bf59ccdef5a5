"""`ethosgen ops`: which operators run on which NPU and on the CPU, in which types, how exactly."""

import json

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[OPERATOR]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ops(names: tuple[str, ...], as_json: bool) -> None:
    """List the operators that run on an NPU or on the CPU.

    NPU: the products whose compiler knows the operator, with the types that it takes (i8 is int8,
    f32 float32), which Vela does not tell of Ethos-U85; whether it takes yours, Vela says for your
    network. CPU: the types that there is code for. Exact means that results equal TFLite Micro's
    reference kernels to the last bit.
    """
    from ethosgen.pipeline.coverage import survey, table
    from ethosgen.values.errors import InputError

    rows = survey()
    wanted = {name.upper() for name in names}  # custom operators have small letters
    unknown = sorted(wanted - {row.operator.upper() for row in rows})
    if unknown:
        raise InputError(
            f"neither an NPU nor the CPU code runs {unknown[0]}; 'ethosgen ops' lists what there is"
        )
    chosen = [row for row in rows if not wanted or row.operator.upper() in wanted]
    if as_json:
        click.echo(json.dumps([row.as_json() for row in chosen], indent=2))
        return
    for line in table(chosen):
        click.echo(line)
