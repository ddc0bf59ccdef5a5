"""Why an operator is on the CPU: a code for each kind of sentence that a plan has."""

import re

from ethosgen.values.explanation import REASON, Explanation

_FIRST = {
    "no-npu": (
        r"there is no NPU",
        "the board has no NPU, or none was chosen",
        "name one with --npu; `ethosgen boards list` shows each board's",
    ),
    "asked": (
        r"you asked for (it|--offload none)",
        "--cpu-ops, --offload none or --npu none keeps it there",
        "leave the option out",
    ),
    "compiled-before": (
        r"left on the CPU when the file was compiled",
        "the file was compiled by Vela already, which left the operator on the CPU",
        "pass the uncompiled network: ethosgen then states Vela's reason",
    ),
    "nothing-fits": (
        r"with the NPU nothing fits",
        "no schedule of the NPU's compiler fits --sram-limit",
        "raise --sram-limit, or take another --memory-mode",
    ),
    "faster-there": (
        r"estimated faster here|^(\S+: )?estimated at .* (on the CPU|more than)",
        "an estimate says that the CPU, or another accelerator, is faster",
        "--offload all uses the NPU wherever it can",
    ),
    "float-operator": (
        r"it computes floats|does not compute in (float|bfloat)",
        "the NPU computes in integers only, and this operator has floats",
        "ethosgen quantize; `ethosgen report` shows where floats begin and end",
    ),
    "npu-type": (
        r"does not (compute in|store) \w+",
        "the NPU does not compute in the type of one of the tensors",
        "`ethosgen ops` lists the types of each operator; quantize to int8 or int16",
    ),
    "npu-operation": (
        r"the NPU has no such operation|does not support custom operators",
        "the NPU cannot compute this operator",
        "`ethosgen ops` lists those that it can; replace the operator in the network",
    ),
    "state": (
        r"no Ethos-U runs subgraphs",
        "the operator runs subgraphs or uses variables, which the NPU cannot",
        "unroll the loop, or pass the state as an input and an output",
    ),
    "bool-tensor": (
        r"where Vela's true is -1|converts the bool output",
        "the CPU also uses a bool tensor, which Vela stores differently",
        "replace the comparison's bool by arithmetic, e.g. MINIMUM and MAXIMUM",
    ),
    "too-many-pieces": (
        r"Vela divides it into",
        "Vela divides the operator into so many operations that it takes too long",
        "make the operator smaller, e.g. its window or its number of batches",
    ),
}
_LAST = (
    "npu-constraint",
    "the NPU's compiler, or an accelerator's description, has a limit that the operator exceeds",
    "the message names the limit; change the operator's shape, stride, window or scales",
)
"""What remains: sentences of Vela and of accelerators, which nobody can list."""


def ground(reason: str, erratum: str) -> str:
    """Return the code that `ethosgen explain` knows of the reason why an operator is on the CPU."""
    if erratum:
        return erratum
    matches = (code for code, (form, *_) in _FIRST.items() if re.search(form, reason))
    return next(matches, _LAST[0])


def grounded(reason: str, erratum: str) -> dict[str, str]:
    """Return the reason as keys of --json, with the code that explains it."""
    return {"reason": reason, "erratum": erratum, "explain": ground(reason, erratum)}


def grounds() -> list[Explanation]:
    """Return an explanation of each code."""
    known = [(code, text, remedy) for code, (_, text, remedy) in _FIRST.items()]
    return [Explanation(code, REASON, text, remedy) for code, text, remedy in (*known, _LAST)]
