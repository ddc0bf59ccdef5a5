"""Explain to the user why operators stay on the CPU.

Regor checks every operator against its constraints and prints the failed one with the operator and
its output. That text is the best reason available; other reasons are derived.
"""

import re
from collections.abc import Sequence

from ethosgen.backend.ethosu.offload.origin import Origin
from ethosgen.backend.ethosu.payload import CUSTOM_CODE
from ethosgen.values.allocation import ResidualIndex
from ethosgen.values.network import ABSENT, Graph, Network, Operator
from ethosgen.values.plan import CpuOperator

_WARNING = re.compile(
    r"^Warning \(supported operators\) operator: (?P<code>\w+), ofm: '(?P<output>.*)'\n"
    r"(?:Reason: (?P<reason>.*)\n)?(?P<constraint>(?:(?:[^\s#]| +- ).*\n)*)",
    re.MULTILINE,
)
_UNSUPPORTED = "Unsupported opType"
_TYPE = re.compile(r"[Oo]peration has tensor with unsupported DataType (\w+) \(.*\)")
"""Regor names the tensor, which would make as many reasons as there are operators."""

_NPU_DTYPES = ("int8", "uint8", "int16", "int32")


def cpu_operators(
    network: Network, residual: Graph, origin: Origin, log: str, ignore: Sequence[str]
) -> tuple[CpuOperator, ...]:
    """List the operators of the residual graph that run on the CPU, in order, with reasons."""
    printed = _printed_reasons(log)
    on_cpu = []
    for operator in residual.operators:
        if operator.custom_code == CUSTOM_CODE:
            continue
        output = residual.output_name(operator)
        index = ResidualIndex(operator.index)
        source = origin.on_cpu.get(index)
        names = [output]
        if source is not None and network.graph.operators[source].outputs:
            names.append(network.graph.output_name(network.graph.operators[source]))
        reason = _reason(operator, residual, names, printed, ignore)
        on_cpu.append(CpuOperator(index, operator.title, output, reason))
    return tuple(on_cpu)


def why_it_ends(residual: Graph, partition: int, on_cpu: Sequence[CpuOperator]) -> str:
    """Return the reason why a partition ends; `partition` is its operator's index."""
    outputs = set(residual.operators[partition].outputs)
    for cpu in on_cpu:
        if cpu.operator > partition and outputs & set(residual.operators[cpu.operator].inputs):
            return f"{cpu.code} '{cpu.output}' follows on the CPU: {cpu.reason}"
    if outputs & set(residual.outputs):
        return "the network ends here"
    after = [cpu for cpu in on_cpu if cpu.operator > partition]
    if after:
        return f"{after[0].code} '{after[0].output}' runs in between on the CPU: {after[0].reason}"
    return "the network ends here"


def _printed_reasons(log: str) -> dict[tuple[str, str], str]:
    """Return Regor's reasons by operator and output tensor."""
    reasons: dict[tuple[str, str], str] = {}
    for match in _WARNING.finditer(log):
        reason = (match["reason"] or "").strip().rstrip(".")
        constraint = _one_line(match["constraint"])
        if dtype := _TYPE.fullmatch(reason):
            text = f"the NPU does not compute in {dtype[1].lower()}"
        elif reason == _UNSUPPORTED:
            text = "the NPU has no such operation"
        elif reason and constraint:
            text = f"{_lower(reason)} (Vela requires: {constraint})"
        else:
            text = _lower(reason) or f"Vela requires: {constraint}"
        reasons.setdefault((match["code"], match["output"]), text)
    return reasons


def _one_line(constraint: str) -> str:
    lines = [line.strip().lstrip("- ").rstrip(".") for line in constraint.splitlines()]
    text = "; ".join(line for line in lines if line)
    return text.replace(":;", ":")


def _lower(sentence: str) -> str:
    """Start a sentence in lower case, unless it starts with a name."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def _reason(
    operator: Operator,
    residual: Graph,
    names: Sequence[str],
    printed: dict[tuple[str, str], str],
    ignore: Sequence[str],
) -> str:
    if operator.code in ignore:
        return "you asked for it"
    for name in names:
        if (operator.code, name) in printed:
            return printed[operator.code, name]
    same_code = [reason for (code, _), reason in printed.items() if code == operator.code]
    if len(set(same_code)) == 1:
        return same_code[0]
    if operator.code == "CUSTOM":
        return "the NPU does not support custom operators"
    for index in (*operator.inputs, *operator.outputs):
        if index != ABSENT and residual.tensors[index].dtype not in _NPU_DTYPES:
            tensor = residual.tensors[index]
            return f"the NPU does not compute in {tensor.dtype} (tensor '{tensor.name}')"
    return "Vela does not run it on the NPU and does not say why"
