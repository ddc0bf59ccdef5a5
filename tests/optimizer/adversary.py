"""Samples against a network's constant channels: they drive the sums inside a network outwards.

A probe computes each layer twice: as it is, and with its sums at a scale at which none of them
clips. The search changes parts of a picture, and keeps what moves the sums of channels that never
changed so far towards their ends. It knows nothing of the optimizer's intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ethosgen.oracle.answers import Question, answer
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Quantization, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.verdict.equality import samples_for

Array = np.ndarray[Any, Any]

LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def probe_of(network: Network) -> Network:
    """Return a network whose outputs are the unclipped sums of all layers."""
    graph = network.graph
    tensors, operators, outputs = list(graph.tensors), list[Operator](), list[int]()
    for operator in graph.operators:
        operators.append(replace(operator, index=len(operators)))
        if operator.code not in LAYERS:
            continue
        target = graph.tensors[operator.outputs[0]]
        twin = replace(
            target,
            index=len(tensors),
            name=f"{target.name}:sums",
            quantization=Quantization((_wide_scale(operator, graph),), (0,)),
        )
        tensors.append(twin)
        outputs.append(twin.index)
        options = {**operator.options, "fused_activation_function": "NONE"}
        index = len(operators)
        operators.append(replace(operator, index=index, outputs=(twin.index,), options=options))
    probe = Graph(graph.name, tuple(tensors), tuple(operators), graph.inputs, tuple(outputs))
    return network.edited(probe)


def _wide_scale(operator: Operator, graph: Graph) -> float:
    """Return an output scale at which no sum of a layer clips."""
    source, weights = (graph.tensors[i] for i in operator.inputs[:2])
    assert source.quantization is not None and weights.quantization is not None
    axis = weights.quantization.axis
    values = np.abs(np.moveaxis(weights.array().astype(np.float64), axis, 0))
    sums = 255 * values.reshape(len(values), -1).sum(axis=1)
    if len(operator.inputs) > 2 and operator.inputs[2] != ABSENT:
        sums += np.abs(graph.tensors[operator.inputs[2]].array().astype(np.float64))
    factor = source.quantization.scale[0] * max(weights.quantization.scale)
    return float(sums.max() * factor / 120)


@dataclass
class Adversary:
    """The search for one network; `samples` are all that it tried."""

    network: Network
    seed: int = 0
    width: int = 12
    samples: list[Arrays] = field(default_factory=list)
    best: dict[tuple[str, int, int], tuple[int, Arrays]] = field(default_factory=dict)
    """The outermost sum of each channel in each direction, and its sample."""

    def search(self, rounds: int) -> None:
        """Try the checker's samples, then changes of the best ones."""
        random, probe = np.random.default_rng(self.seed), probe_of(self.network)
        self._try(probe, samples_for(self.network))
        for _ in range(rounds):
            keys = list(self.best)
            chosen = random.choice(len(keys), self.width)
            self._try(probe, [self._changed(self.best[keys[i]][1], random) for i in chosen])

    def _try(self, probe: Network, samples: Sequence[Arrays]) -> None:
        for sample, outputs in zip(samples, answer(Question(probe, samples)).outputs, strict=True):
            self.samples.append(sample)
            for name, sums in outputs.items():
                flat = sums.reshape(-1, sums.shape[-1]).astype(np.int64)
                for sign in (-1, 1):
                    for channel, value in enumerate((sign * flat).max(axis=0)):
                        key = name, channel, sign
                        if key not in self.best or value > self.best[key][0]:
                            self.best[key] = int(value), sample

    def _changed(self, sample: Arrays, random: np.random.Generator) -> Arrays:
        """Set a block of each input to one end of its type, to random values, or one by one."""
        return {t.name: _with_block(sample[t.name], t, random) for t in self.network.inputs}


def _with_block(values: Array, tensor: Tensor, random: np.random.Generator) -> Array:
    info = np.iinfo(tensor.dtype)
    block = tuple(
        slice(start := int(random.integers(size)), start + 1 + int(random.integers(size)))
        for size in tensor.shape
    )
    changed = values.copy()
    shape = changed[block].shape
    fresh = random.integers(info.min, info.max, shape, endpoint=True)
    way = random.integers(4)
    changed[block] = (info.min, info.max, fresh, np.where(fresh > 0, info.max, info.min))[way]
    return changed
