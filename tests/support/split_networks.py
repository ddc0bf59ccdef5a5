"""Random networks to cut into parts, random ways to cut them, and the comparison by an oracle."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.answers import Question, answer
from ethosgen.samples.drawing import draw_samples
from ethosgen.splitting.grid import Grid
from ethosgen.splitting.network import network_of
from ethosgen.splitting.parts import OperatorPart, parts_of, runs_of
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder

_WINDOWS = ("conv", "depthwise", "max_pool", "average_pool")
_OTHERS = ("relu", "add", "hard_swish", "pad", "residual", "mul", "concatenation")


def random_network(seed: int, dtype: str = "int8") -> Network:
    """Return a network of windows of random sizes, strides, paddings and dilations."""
    rng = random.Random(seed)
    net = NetworkBuilder(f"random_{seed}", seed)
    shape = 1, rng.randint(5, 20), rng.randint(5, 14), rng.choice((1, 3, 4, 6))
    x = net.input(shape, dtype)
    for _ in range(rng.randint(2, 5)):
        x = _layer(net, x, rng, rng.choice((*_WINDOWS, *_OTHERS)))
    if rng.random() < 0.5:
        x = net.mean(x) if rng.random() < 0.5 else x
        size = math.prod(net.tensors[x].shape)
        x = net.fully_connected(net.reshape(x, (1, size)), rng.randint(2, 12))
        x = net.softmax(x) if rng.random() < 0.3 and dtype == "int8" else x
    return parse_network(net.build(x), net.name)


def _layer(net: NetworkBuilder, x: int, rng: random.Random, kind: str) -> int:
    _, height, width, depth = net.tensors[x].shape
    kernel = rng.randint(1, min(5, height)), rng.randint(1, min(5, width))
    stride = rng.randint(1, 3), rng.randint(1, 2)
    padding = rng.choice(("SAME", "VALID"))
    dilation = (1, 1)
    if kind in ("conv", "depthwise") and rng.random() < 0.3:
        fits = 2 * kernel[0] - 1 <= height and 2 * kernel[1] - 1 <= width
        dilation, stride = ((2, 2), (1, 1)) if fits else ((1, 1), stride)
    layer: dict[str, Any] = {
        "kernel": kernel, "stride": stride, "padding": padding,
        "activation": rng.choice(("NONE", "RELU", "RELU6")),
    }  # fmt: skip
    if kind == "conv":
        return net.conv2d(
            x, rng.randint(1, 16), **layer, dilation=dilation, bias=rng.random() < 0.8
        )
    if kind == "depthwise":
        return net.depthwise(x, **layer, dilation=dilation, multiplier=rng.choice((1, 1, 2, 3)))
    if kind == "residual":
        y = net.conv2d(x, depth, (3, 3), activation="RELU")
        return net.add(x, net.conv2d(y, depth, (1, 1)))
    if kind == "pad":
        return net.pad(x, ((0, 0), (rng.randint(0, 2), 1), (1, rng.randint(0, 2)), (0, 0)))
    if kind in ("max_pool", "average_pool"):
        pool = net.max_pool if kind == "max_pool" else net.average_pool
        return pool(x, kernel, stride, padding=padding)
    if kind == "concatenation":
        return net.concat([x, net.relu(x)])
    if kind in ("add", "mul"):
        return (net.add if kind == "add" else net.mul)(x, net.relu(x))
    return (
        net.relu(x)
        if kind == "relu" or net.tensors[x].dtype != "int8"
        else net.unary("HARD_SWISH", x)
    )


def random_parts(network: Network, seed: int) -> tuple[list[OperatorPart], list[Grid]]:
    """Cut a network into runs, and each of them into parts."""
    rng = random.Random(seed)
    count = len(network.graph.operators)
    inner = sorted(rng.sample(range(1, count), rng.randint(0, min(3, count - 1))))
    parts, cuts = list[OperatorPart](), list[Grid]()
    for run in runs_of(network.graph, [0, *inner, count]):
        shape = network.graph.tensors[run.results[-1]].shape
        pieces = None
        while pieces is None:
            limits = [rng.randint(1, min(4, most)) for most in Grid.limits(shape)]
            kept = [n if rng.random() < 0.6 else 1 for n in limits]
            cut = Grid(*kept)
            pieces = parts_of(network.graph, run, cut)
        parts += pieces
        cuts.append(cut)
    return parts, cuts


def differing(network: Network, parts: Sequence[OperatorPart]) -> int:
    """Return the number of outputs that differ from the parts', for random and extreme samples."""
    samples = draw_samples(network, 4, 7)
    for end in ("min", "max"):
        samples.append({
            tensor.name: np.full(tensor.shape, getattr(np.iinfo(tensor.dtype), end), tensor.dtype)
            for tensor in network.inputs
        })  # fmt: skip
    whole = answer(Question(network, samples, "tflm"))
    return whole.against(
        answer(Question(network_of(network, parts).network, samples, "tflm")).outputs
    ).mismatches
