"""`ethosgen explain`: the meaning of a code in a message or in --json, and the remedy."""

import json

import click

from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON
from ethosgen.values.errors import (
    BUG_CODE,
    BUG_STATUS,
    AcceleratorFault,
    BuildError,
    CapacityError,
    DeviceFault,
    EthosgenError,
    InputError,
    NpuFault,
    ProtocolError,
    RefusalError,
    TargetError,
    ToolError,
    UnsupportedError,
)
from ethosgen.values.explanation import ADVICE, ERROR, REASON, Explanation
from ethosgen.values.grammar import nearest
from ethosgen.values.grounds import grounds

_TITLES = {
    ERROR: "Errors, as `code` in --json",
    REASON: "Reasons why an operator stays on the CPU, as `explain` in --json",
    ADVICE: "Advice, as `code` under `advice` in --json",
}
_FAULTS: dict[type[EthosgenError], tuple[str, str]] = {
    InputError: (
        "a file, an option or an array cannot be used",
        "correct what the sentence names; `ethosgen COMMAND --help` lists the options",
    ),
    UnsupportedError: (
        "the network is well-formed, but has an operator, a type or a form without code here",
        "`ethosgen ops` lists operators and types; replace the one that is named",
    ),
    RefusalError: (
        "the NPU's compiler refuses the network as a whole",
        "keep the operator that the sentence quotes on the CPU with --cpu-ops",
    ),
    CapacityError: (
        "the network does not fit the board's memories",
        "use another --memory-mode, --sram-limit, --stream always, --weights blob, or a smaller "
        "network",
    ),
    ToolError: (
        "an external program or an extra is missing, or cannot be used",
        "`ethosgen doctor` says what is missing, and the command that installs it",
    ),
    BuildError: (
        "the compiler or the linker refused the project",
        "read its first message below the sentence; if you did not change the sources, report it",
    ),
    TargetError: (
        "the target crashed, hung or gave invalid answers",
        "look at the fault's address with `ethosgen attach`; on a board, check power, cable and "
        "--baud",
    ),
    ProtocolError: (
        "the conversation with the firmware broke, and retries did not repair it",
        "check the line and --baud; build the project again if the firmware is an older one",
    ),
    NpuFault: (
        "the NPU model stopped at a command, as the NPU would",
        "`ethosgen simulate --trace` shows the operations before it; a network that ethosgen "
        "compiled should never do this: report it",
    ),
    AcceleratorFault: (
        "an accelerator of your own crashed, hung or returned a status on this machine",
        "`ethosgen accelerators check` runs it on small networks",
    ),
    DeviceFault: (
        "the functional model of your device failed",
        "correct the model; `ethosgen accelerators check` runs it on small networks",
    ),
}
_REASONS = {
    "found-by-check": (
        "the check before anything is written found outputs that differ, and bisection found this "
        "operator",
        "a minimal network is in the folder that the message names, ready to be reported",
    ),
}
_ADVICE = {
    "channels-first": (
        "a TRANSPOSE to channels-last follows an input",
        "--input-layout nhwc, and pass the input with the channels last",
    ),
    "float-ends": (
        "inputs or outputs are floats, and the network converts them in each inference",
        "ethosgen quantize --io int8, and pass quantized values (ethosgen_quantize_s8)",
    ),
    "float": ("the network computes in float32", "ethosgen quantize"),
    "off-npu": (
        "operators run on the CPU beside an NPU and take much of the time",
        "replace them in the network; the message states the reason",
    ),
    "faster-on-cpu": ("layers are estimated slower on the NPU", "--offload auto"),
    "dominant-layer": ("one layer takes more than half of the time", "shrink it"),
    "sram": ("another schedule of Vela's takes less SRAM", "--sram-limit"),
    "memory-mode": ("another memory mode of the board is faster", "--memory-mode"),
    "smaller-npu": (
        "a smaller NPU takes at most 10 % longer",
        "--npu, if the chip is not yet decided; ethosgen compare --npu all shows each",
    ),
    "bands": ("tensors take much of the RAM", "--stream always, or --sram-limit"),
    "flash": ("weights nearly fill the flash", "--weights blob"),
}


@click.command(cls=GroupedCommand, short_help="Explain a code of an error, a reason or advice")
@click.argument("code", required=False)
@JSON
def explain(code: str | None, as_json: bool) -> None:
    """Explain the CODE of an error, of a reason why an operator is on the CPU, or of advice.

    \b
        ethosgen explain
        ethosgen explain mirror-pad-axes

    Without CODE, list all.
    """
    known = {explanation.code: explanation for explanation in explanations()}
    if code is not None and code not in known:
        raise InputError(
            f"unknown code '{code}'{nearest(code, known)}; `ethosgen explain` lists all"
        )
    chosen = list(known.values()) if code is None else [known[code]]
    if as_json:
        click.echo(json.dumps([_as_json(explanation) for explanation in chosen], indent=2))
    elif code is None:
        _list(chosen)
    else:
        explanation = known[code]
        click.echo(f"{explanation.code}: {explanation.text}\n  what to do: {explanation.remedy}")
        if explanation.source:
            click.echo(f"  source: {explanation.source}")


def explanations() -> list[Explanation]:
    """Return every code with its meaning."""
    from ethosgen import backend

    errors = [
        Explanation(kind.code, ERROR, f"{text} (exit status {kind.exit_status})", remedy)
        for kind, (text, remedy) in _FAULTS.items()
    ]
    bug = "report it with the file that the message names"
    errors.append(
        Explanation(BUG_CODE, ERROR, f"a bug in ethosgen (exit status {BUG_STATUS})", bug)
    )
    return [
        *errors,
        *grounds(),
        *(Explanation(name, REASON, *words) for name, words in _REASONS.items()),
        *backend.explanations(),
        *(Explanation(name, ADVICE, *words) for name, words in _ADVICE.items()),
    ]


def _list(known: list[Explanation]) -> None:
    """Print the codes by kind, a line for each."""
    width = max(len(explanation.code) for explanation in known)
    for kind, title in _TITLES.items():
        click.echo(title)
        for explanation in known:
            if explanation.kind == kind:
                click.echo(f"  {explanation.code.ljust(width)}  {explanation.text}")


def _as_json(explanation: Explanation) -> dict[str, str | None]:
    return {
        "code": explanation.code,
        "kind": explanation.kind,
        "text": explanation.text,
        "remedy": explanation.remedy,
        "source": explanation.source or None,
    }
