"""Pieces of random networks, from the builders of the corpus and the tests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.corpus.choices import Choices
from tests.corpus.registry import NETWORKS, OPERATORS
from tests.support import control_networks, stream_networks
from tests.support.catalogue import layers, recurrent
from tests.support.catalogue.bench import LEAST, Bench
from tests.support.catalogue.cases import CASES
from tests.support.network_file import Layout, Spec
from tests.support.networks import NetworkBuilder

Range = tuple[float, float]

MAX_ELEMENTS = 40_000
"""The limit for a tensor; larger ones cost time and find nothing more."""

WHOLE = {"int32": 1 << 20, "int64": 1 << 20, "uint32": 1 << 20, "uint64": 1 << 20}
"""The largest magnitude of samples of wide types: sums stay exact, and most products."""

LARGE = ("cascade", "heavy")
"""Networks of the corpus that are too large for pieces."""

NO_ORACLE = {
    ("NEG", "uint8"), ("EXP", "uint8"), ("RELU_N1_TO_1", "int16"), ("RELU_0_TO_1", "int16"),
    ("LOG", "uint8"), ("RSQRT", "uint8"), ("ELU", "int16"),
}  # fmt: skip
"""Operators and types of the corpus that neither oracle supports."""

STREAMS = (stream_networks.delays, stream_networks.rings)
"""Builders of streams whose outputs are defined from the first sample on."""


@dataclass
class Fragment:
    """A small network; inputs in `ranges` have limits and are not connected to other tensors."""

    net: NetworkBuilder | Layout
    outputs: Sequence[int]
    ranges: Mapping[str, Range] = field(default_factory=dict)


class OfferBench(Bench):
    """A Bench that uses shapes and quantizations of offered tensors."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices.integer(0, 1 << 16))
        self.offers = choices.offers
        self.narrow: dict[str, Range] = {}

    def sizes(self, rank: int, least: int = LEAST) -> tuple[int, ...]:
        """Draw a shape, or choose an offered one."""
        drawn = super().sizes(rank, least)
        for spec in self.offers:
            fits = len(spec.shape) == rank and min(spec.shape, default=1) >= least
            if fits and math.prod(spec.shape) < 2000 and max(spec.shape, default=1) <= 24:
                return spec.shape
        return drawn

    def feed(
        self,
        shape: Sequence[int],
        dtype: str,
        low: float | None = None,
        high: float | None = None,
        scale: float | None = None,
        zero_point: int | None = None,
        name: str | None = None,
    ) -> int:
        """Add an input, and record whether its elements are restricted."""
        if scale is None and zero_point is None:
            for spec in self.offers:
                same = (spec.shape, spec.dtype) == (tuple(shape), dtype)
                if same and isinstance(spec.scale, float) and isinstance(spec.zero_point, int):
                    scale, zero_point = spec.scale, spec.zero_point
        index = super().feed(shape, dtype, low, high, scale, zero_point, name)
        if low is not None or high is not None:
            name = self.tensors[index].name or ""
            self.narrow[name] = self.ranges[name]
        return index


def draw_fragment(choices: Choices, dtype: str, *, special: bool) -> Fragment | None:
    """Draw a piece that computes mostly on a type; return None if the type has no such piece.

    `special` allows a piece with subgraphs or a stream, of which a network has at most one.
    """
    kind = choices.integer(0, 31)
    if kind == 31 and special and choices.chance(2):
        return _special(choices)
    if kind >= 28:
        return _recurrent(choices, dtype)
    if kind >= 22:
        return _layer(choices, dtype)
    if kind >= 12:
        return _bench(choices, dtype)
    if kind == 11:
        return _corpus(choices, dtype, NETWORKS)
    return _corpus(choices, dtype, OPERATORS)


def _corpus(choices: Choices, dtype: str, table: Mapping[str, Any]) -> Fragment | None:
    names = [n for n, (_, dtypes) in table.items() if dtype in dtypes and n not in LARGE]
    names = [n for n in names if (n, dtype) not in NO_ORACLE]
    if not names:
        return None
    case = table[choices.pick(names)][0](choices, dtype)
    choices.high_rank = False
    net = case.layout
    wide = {n: r for n, r in case.ranges.items() if not _is_whole(net, n, r)}
    return Fragment(net, net.outputs, wide)


def _is_whole(net: Layout, name: str, limits: Range) -> bool:
    (dtype,) = {spec.dtype for spec in net.tensors if spec.name == name}
    return dtype in WHOLE and limits[1] >= WHOLE[dtype]


def _bench(choices: Choices, dtype: str) -> Fragment | None:
    names = [name for name, (_, kind, _) in CASES.items() if kind == dtype]
    if not names:
        return None
    net = OfferBench(choices)
    outputs = CASES[choices.pick(names)][2](net, dtype)
    chosen = choices.pick(outputs)
    net.keep([chosen])
    operator = net.operators[-1]
    if operator.code == "FLOOR_DIV":
        # The lowest value divided by -1 is undefined in C++; LiteRT's result depends on the index.
        net.narrow = {n: (low, -2 if high == -1 else high) for n, (low, high) in net.narrow.items()}
    return Fragment(net, [*operator.outputs], net.narrow)


def _layer(choices: Choices, dtype: str) -> Fragment | None:
    if dtype not in ("int8", "int16", "float32"):
        return None
    net = NetworkBuilder("layer", choices.integer(0, 1 << 16))
    output = choices.pick(layers.LAYERS)(net, dtype)
    return Fragment(net, [output])


def _recurrent(choices: Choices, dtype: str) -> Fragment | None:
    if dtype not in ("int8", "int16", "float32"):
        return None
    net = NetworkBuilder("recurrent", choices.integer(0, 1 << 16))
    scale = None if dtype == "float32" else 0.05 if dtype == "int8" else 2.0**-13
    batch, features = choices.integer(1, 3), choices.integer(1, 12)
    if dtype != "int16" and choices.chance(2):
        x = net.input((batch, features), dtype, scale)
        state = choices.pick(("int8", "int16"))
        output = recurrent.svdf(
            net, x, choices.integer(1, 8), choices.integer(1, 6),
            rank=choices.integer(1, 2), state=state,
        )  # fmt: skip
    else:
        x = net.input((batch, choices.integer(1, 4), features), dtype, scale)
        by_time, clip = choices.chance(3), choices.pick((0.0, 0.0, 2.0))
        output = recurrent.lstm(net, x, choices.integer(1, 10), by_time=by_time, cell_clip=clip)
    return Fragment(net, [output])


def _special(choices: Choices) -> Fragment:
    net = NetworkBuilder("special", choices.integer(0, 1 << 16))
    if choices.chance(3):
        outputs = choices.pick(STREAMS)(net)
    else:
        outputs = choices.pick([*control_networks.NETWORKS.values()])(net)
    return Fragment(net, outputs, {net.tensors[i].name or "": (-128, 127) for i in net.inputs})


def is_fit(net: NetworkBuilder | Layout) -> bool:
    """Return whether no tensor is too large, and no tensor that is read is empty.

    TFLite Micro would read address 0, as for REVERSE_V2 along no axis.
    """
    read = {i for operator in net.operators for i in operator.inputs if i >= 0}
    is_full = all(math.prod(net.tensors[i].shape) for i in read)
    return is_full and all(math.prod(spec.shape) <= MAX_ELEMENTS for spec in net.tensors)


def draw_values(random: np.random.Generator, spec: Spec, limits: Range | None, how: int) -> Any:
    """Draw a sample of an input: over its whole range, near the zero point, or at the ends."""
    kind = np.dtype(spec.dtype)
    if kind.kind == "b":
        return random.integers(0, 2, spec.shape).astype(bool)
    if kind.kind == "f":
        reals = random.uniform(*(limits or (-4.0, 4.0)), spec.shape)
        return (np.round(reals * 4) / 4 if how == 1 and limits is None else reals).astype(kind)
    info = np.iinfo(kind)
    most = WHOLE.get(spec.dtype, int(info.max))
    low, high = map(int, limits or (max(int(info.min), -most), min(int(info.max), most)))
    low, high = max(low, int(info.min)), min(high, int(info.max))
    values = random.integers(low, high, spec.shape, np.int64, endpoint=True)
    if how == 1:
        point = spec.zero_point if isinstance(spec.zero_point, int) else 0
        values = np.clip(point + values // 16, low, high)
    elif how == 2:
        values = np.where(values * 2 > low + high, high, low)
    return values.astype(kind)
