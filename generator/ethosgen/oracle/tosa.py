"""TOSA's reference model, which decides about networks of TOSA's operators.

It aborts on malformed graphs and conflicts with ethosgen's packages, so it runs in its own
environment. A sample for which TOSA leaves the result open, because a sum overflows or an index is
out of range, is unpredictable: `unpredictable_outputs` names its outputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.frontend.tosa.variables import carried, variables_of
from ethosgen.host.child import ChildError
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import ScriptReply, run_script
from ethosgen.oracle.interpreters import LateError, named_outputs, ordered_inputs
from ethosgen.oracle.reference_model import FILE
from ethosgen.values.errors import InputError, ToolError, UnsupportedError
from ethosgen.values.network import Network, Operator
from ethosgen.values.outcome import Arrays, LeftOut

NAME = "tosa-model"
_ENVIRONMENT = "tosa"
PACKAGE = "tosa-tools"

_START_S = 120.0
_SLOWEST_HZ = 1_000_000
"""The reference model does at least this many multiplications a second."""
_SCRIPT = Path(__file__).with_name("reference_model.py")


def reference_outputs(
    network: Network, samples: Sequence[Arrays], within_s: float | None = None, steps: int = 0
) -> list[Arrays]:
    """Run samples through TOSA's reference model; return the outputs by tensor name.

    Raises InputError for inputs that do not fit the network, UnsupportedError if the reference
    model cannot run it, ToolError without its environment, LateError after `within_s`.
    """
    if variables_of(network.graphs):
        return _run_in_turn(network, samples, within_s, steps)
    return _run(network, samples, within_s)[0]


def _run_in_turn(
    network: Network, samples: Sequence[Arrays], within_s: float | None, steps: int
) -> list[Arrays]:
    """Run samples one by one, each with the variables' values after the one before."""
    names, values = list(variables_of(network.graphs)), dict[str, bytes]()
    kept, outputs = {tensor.name for tensor in network.outputs}, list[Arrays]()
    for number, sample in enumerate(samples):
        if steps and number % steps == 0:
            values = {}
        ((whole,), _) = _run(carried(network, values), [sample], within_s)
        ends = [array for name, array in whole.items() if name not in kept]
        values = {name: array.tobytes() for name, array in zip(names, ends, strict=True)}
        outputs.append({name: array for name, array in whole.items() if name in kept})
    return outputs


def unpredictable_outputs(network: Network, samples: Sequence[Arrays]) -> LeftOut | None:
    """Return the outputs that TOSA leaves open, None if there are none."""
    outputs, is_open = _run(network, samples, None)
    if not any(is_open):
        return None
    masks = [
        {name: np.ones(array.shape, bool) for name, array in sample.items()} if unknown else {}
        for sample, unknown in zip(outputs, is_open, strict=True)
    ]
    return LeftOut(masks, "TOSA calls the result unpredictable: a value leaves its type or range")


@cache
def version() -> str:
    """Return the version of the reference model; ToolError without its environment."""
    request = {"package": PACKAGE}
    try:
        reply = run_script(ENVIRONMENTS[_ENVIRONMENT], _SCRIPT, "find_version", request)
    except ChildError as error:
        raise ToolError(
            f"{PACKAGE} does not report its version ({error}); install it again"
        ) from None
    return str(reply.values["version"])


def _run(
    network: Network, samples: Sequence[Arrays], within_s: float | None
) -> tuple[list[Arrays], list[bool]]:
    """Return the outputs of each sample, and whether TOSA leaves them open."""
    from ethosgen.frontend.tosa import writer

    inputs = ordered_inputs(network, samples)
    arrays = {
        f"{i}.{j}": array.astype("float16") if network.inputs[j].is_half else array
        for i, sample in enumerate(inputs)
        for j, array in enumerate(sample)
    }
    request = {
        "samples": len(samples),
        "inputs": [tensor.name for tensor in network.inputs],
        "outputs": [tensor.name for tensor in network.outputs],
        "by_program": any(
            tensor.dtype == "int64" or tensor.is_packed
            for tensor in (*network.inputs, *network.outputs)
        ),
    }
    files = {FILE: writer.file_of(_rounded_once(network))}
    reply = _ask(network, request, arrays, files, within_s)
    runs = [
        [reply.arrays[f"{i}.{j}"].astype(tensor.dtype) for j, tensor in enumerate(network.outputs)]
        for i in range(len(samples))
    ]
    return named_outputs(network, runs), list(map(bool, reply.values["unpredictable"]))


def _rounded_once(network: Network) -> Network:
    """Return a network with SINGLE_ROUND, as we and Vela compute it, for INEXACT_ROUND.

    TOSA leaves the bits of INEXACT_ROUND open, and the reference model computes it in float32.
    """
    if not any(_is_inexact(op) for graph in network.graphs for op in graph.operators):
        return network
    once = {"rounding_mode": "SINGLE_ROUND"}
    graphs = []
    for graph in network.graphs:
        operators = (
            replace(op, options={**op.options, **once}) if _is_inexact(op) else op
            for op in graph.operators
        )
        graphs.append(replace(graph, operators=tuple(operators)))
    return network.edited(*graphs)


def _is_inexact(op: Operator) -> bool:
    return op.options.get("rounding_mode") == "INEXACT_ROUND"


def _ask(
    network: Network,
    request: Mapping[str, Any],
    arrays: Arrays,
    files: Mapping[str, bytes],
    within_s: float | None,
) -> ScriptReply:
    work = network.multiplications * request["samples"]
    limit_s = within_s or _START_S + work / _SLOWEST_HZ
    environment, script = ENVIRONMENTS[_ENVIRONMENT], _SCRIPT
    try:
        return run_script(environment, script, "run_model", request, arrays, files, limit_s)
    except ChildError as error:
        if error.how == "late" and within_s is not None:
            raise LateError(f"it took longer than {within_s:g} s") from None
        raise _refusal(network, error) from None


def _refusal(network: Network, error: ChildError) -> InputError:
    words = str(error).removeprefix("ValueError: ")
    return UnsupportedError(
        f"TOSA's reference model cannot run '{network.name}': {words}; nothing can be checked "
        "without its golden outputs"
    )
