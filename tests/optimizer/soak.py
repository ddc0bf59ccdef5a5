"""One random network, optimized: both versions run in this process, by both interpreters."""

from typing import Any

import numpy as np

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.frontend.tflite.writer import write_network
from ethosgen.optimizer import optimize
from ethosgen.oracle.litert import run_litert
from ethosgen.oracle.tflm import arena_bytes, run_tflite_micro
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.network import Network
from tests.support.thinned_networks import thinned_network

SAMPLES = 12


def soak(seed: int) -> str:
    """Return "unchanged", "equal", "refused" by the interpreter, or "BAD" with the reason."""
    dtype = "int16" if seed % 6 == 5 else None
    network = decode_network(thinned_network(seed, dtype), f"thinned_{seed}")
    optimized = optimize(network)
    if optimized is None:
        return "unchanged"
    by_litert = seed % 4 == 0 or network.inputs[0].dtype == "uint8"
    if by_litert and _shares_outputs(network):
        return "refused"
    samples = draw_samples(network, SAMPLES, seed)
    inputs = [[sample[tensor.name] for tensor in network.inputs] for sample in samples]
    try:
        golden = _run(network, inputs, by_litert=by_litert)
    except RuntimeError:
        return "refused"
    try:
        ours = _run(optimized.network, inputs, by_litert=by_litert)
    except RuntimeError as error:
        return f"BAD: refused: {error}"
    same = all(
        np.array_equal(array, other)
        for pair in zip(ours, golden, strict=True)
        for array, other in zip(*pair, strict=True)
    )
    return "equal" if same else f"BAD: {optimized.facts.text()}"


def _shares_outputs(network: Network) -> bool:
    """Return whether a RESHAPE reads an output: in LiteRT both share memory that is used again."""
    graph = network.graph
    return any(op.code == "RESHAPE" and op.inputs[0] in graph.outputs for op in graph.operators)


def _run(network: Network, inputs: list[list[Any]], *, by_litert: bool) -> list[list[Any]]:
    data = write_network(network)
    if by_litert:
        return run_litert(data, inputs)
    return run_tflite_micro(data, inputs, len(network.outputs), arena_bytes(network))
