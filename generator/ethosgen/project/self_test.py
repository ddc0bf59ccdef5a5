"""The templates' values for a network's self-test: its data, and its inference."""

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ethosgen.project.literals import array_text
from ethosgen.project.words import blob_symbol
from ethosgen.samples.known import GENERATED, MOST_RUNS, are_generated, known_samples
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program, Structs

_FAILURES = {"commands": "ETHOSGEN_SELF_TEST_COMMANDS", "weights": "ETHOSGEN_SELF_TEST_WEIGHTS"}

_CURVES = {"SIGMOID": (0, 9, 10, 1 << 14), "TANH": (0, 8, 8, 0)}
"""Numbers in the code of kernels, wherever the weights are: see ethosgen_curve.h."""
_OWN_CURVES = re.compile(r"^#define (SIGMOID|TANH) (\w+)$", re.MULTILINE)


def self_test_facts(
    program: Program,
    inputs: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
    streams: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the values; `inputs` and `outputs` are those of the ports, `streams` of the NPU's.

    With weights apart from the code, the file has the golden output's CRC-32, so the code depends
    only on the network's inputs.
    """
    parts = ([] if program.plan.apart else _parts(program)) + _curves(program)
    calls = [
        _stream(program, number, facts)
        for number, facts in enumerate(streams)
        if "regioncfg" in facts
    ]
    golden, network = program.golden, program.plan.original
    runs = min(network.period, MOST_RUNS)
    is_caller = program.io is IoStyle.CALLER
    ports = [*inputs, *outputs] if is_caller else []
    changed, results = ports[: len(inputs)], ports[len(inputs) :]
    taken = [_input(program, number, facts, runs) for number, facts in enumerate(inputs)]
    return {
        "parts": parts,
        "streams": calls,
        "headers": _headers(program),
        "bytes": sum(part["bytes"] for part in (*calls, *parts)),
        "has_run": program.plan.apart or golden.crc is not None,
        "crc": golden.crc,
        "oracle": golden.oracle or "an oracle",
        "absent": golden.absent,
        "runs": runs,
        "inputs": _numbered(taken),
        "generated": sum(facts["elements"] for facts in taken if not facts["stored"]),
        "outputs": outputs,
        "parameters": ", ".join(f"{port['ctype']} *{port['c_name']}" for port in ports),
        "arguments": ", ".join(port["c_name"] for port in ports),
        "written": [port["c_name"] for port in changed],
        "output_parameters": ", ".join(f"const {p['ctype']} *{p['c_name']}" for p in results),
        "output_arguments": ", ".join(port["c_name"] for port in results),
    }


def _parts(program: Program) -> list[dict[str, Any]]:
    """Return the arrays of commands and constants, with the CRC-32 of their contents."""
    blobs = [
        (blob_symbol(program, blob), blob.dtype, _words(blob.dtype, blob.data), _FAILURES[part])
        for part in _FAILURES
        for blob in program.plan.blobs
        if blob.part == part and blob.data
    ]
    constants = [
        (constant.c_name, constant.dtype, constant.data, _FAILURES["weights"])
        for constant in program.constants
        if constant.data
    ]
    arrays = [
        _part(symbol, f"{C_TYPES[dtype]} {symbol}[]", data, failure)
        for symbol, dtype, data, failure in (*blobs, *constants)
    ]
    return arrays + [_struct(c.c_name, c.structs) for c in program.structs if c.structs]


def _part(address: str, declared: str, data: bytes, failure: str) -> dict[str, Any]:
    crc = zlib.crc32(data)
    facts = {"address": address, "declared": declared, "bytes": len(data), "crc": crc}
    return {**facts, "failure": failure}


def _stream(program: Program, number: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a stream's table entry after the address of its words."""
    sizes = list(facts["base_bytes"])
    if program.plan.apart and facts["weights_base"] is not None:
        sizes[facts["weights_base"]] = 0
    size = 0 if program.plan.apart else facts["bytes"]
    data = struct.pack(f"<{3 + len(sizes)}I", size, facts["qconfig"], facts["regioncfg"], *sizes)
    address = f"&{program.name}_npu_streams[{number}].bytes"
    return _part(address, "", data, _FAILURES["commands"])


def _struct(symbol: str, structs: Structs) -> dict[str, Any]:
    """Return a struct of a kernel, or several, which have no padding."""
    length, address = (("", f"&{symbol}"), ("[]", symbol))[not structs.is_one]
    declared = f"{structs.ctype} {symbol}{length}"
    return _part(address, declared, structs.data, _FAILURES["weights"])


def _curves(program: Program) -> list[dict[str, Any]]:
    """Return the curves of the files of kernels that have some, each under a name of its own."""
    named = (match for text in program.sources.values() for match in _OWN_CURVES.findall(text))
    return [
        _part(name, f"int32_t {name}[]", struct.pack("<4i", *_CURVES[curve]), _FAILURES["weights"])
        for curve, name in named
    ]


def _headers(program: Program) -> list[str]:
    """Return the headers that declare the structs."""
    types = {constant.ctype for constant in program.structs}
    return [
        path
        for path, text in program.sources.items()
        if path.endswith(".h") and any(f"\n{each} {{" in text for each in types)
    ]


def _words(dtype: str, data: bytes) -> bytes:
    """Return data in the form of the C array: words are padded."""
    return data + bytes(-len(data) % 4) if dtype == "uint32" else data


def _input(program: Program, number: int, facts: Mapping[str, Any], runs: int) -> dict[str, Any]:
    """Return an input's values: the generator's parameters, or the stored values for all runs."""
    network = program.plan.original
    tensor = network.inputs[number]
    if are_generated(network)[number]:
        return {**facts, "stored": None, "kind": GENERATED[tensor.dtype], "first": 0}
    samples = known_samples(network)[:runs]
    data = b"".join(np.ascontiguousarray(sample[tensor.name]).tobytes() for sample in samples)
    return {**facts, "stored": array_text(tensor.dtype, data), "kind": None, "first": 0}


def _numbered(inputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the inputs with the number of the first element that each generates."""
    first, numbered = 0, []
    for facts in inputs:
        numbered.append({**facts, "first": first})
        first += 0 if facts["stored"] else facts["elements"]
    return numbered
