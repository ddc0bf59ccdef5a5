"""Joins pieces to a random network of 1 to 30 operators."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from ethosgen.aot import cpu_operators
from tests.corpus.choices import Choices, seeded
from tests.corpus.wild.fragments import Fragment, Range, draw_fragment, is_fit
from tests.support.network_file import Layout, OperatorSpec, Spec
from tests.support.networks import NetworkBuilder

MOST = 30
"""The largest number of operators in a network."""
ATTEMPTS = 60
"""The largest number of pieces that are drawn for a network."""
WORLDS = ("int8",) * 9 + ("int16",) * 3 + ("float32", "float32", "uint8", "int32", "bool")
"""The main type of a network."""
GUESTS = ("int8", "int8", "int16", "uint8", "int32", "float32", "int64", "bool")
"""Other types for some of its operators."""

REQUANTIZING = {
    "ADD", "SUB", "MUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV",
    "BATCH_MATMUL", "LEAKY_RELU", "PRELU", "QUANTIZE", "MEAN", "SUM", "HARD_SWISH", "RELU",
    "SQUARED_DIFFERENCE",
}  # fmt: skip
"""Operators whose output may have any scale."""
BY_CHANNEL = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "TRANSPOSE_CONV": 0}
QUANTIZED = ("int8", "int16", "uint8")
REQUANTIZATIONS = {
    ("int8", "int8"), ("int8", "int16"), ("int8", "uint8"), ("uint8", "int8"), ("int16", "int8"),
    ("int16", "int16"), ("float32", "int8"), ("float32", "int16"), ("int32", "int8"),
    ("int32", "int16"),
}  # fmt: skip
CASTS = {"int8", "int16", "int32", "bool"}
PADDABLE = ("int8", "int16", "int32", "float32")
SLICEABLE = (*PADDABLE, "uint8", "bool")


@dataclasses.dataclass(frozen=True)
class WildNetwork:
    """A random network: its file, the ranges of its inputs, and its pieces."""

    data: bytes
    ranges: dict[str, Range]
    net: NetworkBuilder
    outputs: tuple[int, ...]


def make_network(seed: int) -> WildNetwork:
    """Build the network of a seed."""
    choices = seeded(seed, 0)
    grown = _Growth(choices)
    grown.grow(choices.pick((2, 4, 8, 8, 14, MOST)))
    return grown.finish()


class _Growth:
    """A network that grows by pieces; `live` are the tensors that can be read."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.net = NetworkBuilder("wild", choices.integer(0, 1 << 16))
        self.world = choices.pick(WORLDS)
        self.ranges: dict[str, Range] = {}
        self.live: list[int] = []
        self.values: list[int] = []
        self.read: set[int] = set()
        self.special = False
        self.tolerances = cpu_operators()

    def grow(self, most: int) -> None:
        """Add pieces until there are about `most` operators."""
        wanted = self.choices.integer(1, most)
        for _ in range(ATTEMPTS):
            room = min(MOST, wanted + 2) - len(self.net.operators)
            if len(self.net.operators) >= wanted:
                return
            dtype = self.choices.pick(GUESTS) if self.choices.chance(6) else self.world
            self.choices.offers = self._offers()
            try:
                piece = draw_fragment(self.choices, dtype, special=not self.special)
            finally:
                self.choices.offers = ()
            if piece is not None and len(piece.net.operators) <= room and is_fit(piece.net):
                self._graft(piece, room - len(piece.net.operators))

    def _offers(self) -> list[Spec]:
        tensors = self.net.tensors
        small = [tensors[i] for i in self.live if math.prod(tensors[i].shape) <= 8000]
        return [self.choices.pick(small) for _ in range(min(len(small), 2))]

    def _graft(self, piece: Fragment, room: int) -> None:
        """Add a piece: connect its inputs, copy its tensors and operators."""
        source = piece.net
        needed = {i for o in source.operators for i in (*o.inputs, *o.outputs, *o.intermediates)}
        places = {-1: -1}
        for index in source.inputs:
            if index in needed:
                places[index], used = self._feed(piece, index, room)
                room -= used
        for index in sorted(needed - places.keys()):
            name = f"t{len(self.net.tensors)}"
            places[index] = self.net.tensor(dataclasses.replace(source.tensors[index], name=name))
        for operator in source.operators:
            self._operate(operator, places)
        if source.others:
            self.special = True
            self.net.others = [*source.others]
        self._stretch(source.operators, places)
        kept = [places[i] for o in source.operators for i in o.outputs]
        kept = [i for i in kept if self._is_value(self.net.tensors[i])]
        self.values += kept
        if self._is_exact(source):
            self.live += kept

    def _operate(self, operator: OperatorSpec, places: dict[int, int]) -> None:
        inputs, outputs, between = (
            tuple(places[i] for i in some)
            for some in (operator.inputs, operator.outputs, operator.intermediates)
        )
        self.read.update(inputs)
        self.net.operators.append(
            dataclasses.replace(operator, inputs=inputs, outputs=outputs, intermediates=between)
        )

    @staticmethod
    def _is_value(spec: Spec) -> bool:
        return spec.dtype != "resource" and not spec.is_variable

    def _is_exact(self, source: NetworkBuilder | Layout) -> bool:
        """Return whether no operator computes floats that may differ in their last bits."""
        reals = {i for i, spec in enumerate(source.tensors) if spec.dtype == "float32"}
        return not source.others and not any(
            self.tolerances.get(o.code, {}).get("float32") and reals & {*o.inputs, *o.outputs}
            for o in source.operators
        )

    # ---- connections -----------------------------------------------------------------------------

    def _feed(self, piece: Fragment, index: int, room: int) -> tuple[int, int]:
        """Return a tensor for an input of a piece, and the number of operators added for it."""
        spec = piece.net.tensors[index]
        name = f"input_{len(self.net.tensors)}"
        if (spec.name or "") not in piece.ranges and not self.choices.chance(7):
            connected = self._connect(spec, room)
            if connected is not None:
                return connected
        place = self.net.tensor(dataclasses.replace(spec, name=name))
        self.net.inputs.append(place)
        if (spec.name or "") in piece.ranges:
            self.ranges[name] = piece.ranges[spec.name or ""]
        else:
            self.live.append(place)
        return place, 0

    def _connect(self, wanted: Spec, room: int) -> tuple[int, int] | None:
        """Find the tensor that becomes an input with the fewest added operators, at most two."""
        candidates = [self.choices.pick(self.live) for _ in range(min(8, len(self.live)))]
        candidates += [i for i in self.live[-4:] if i not in self.read]
        ways = [(way, i) for i in candidates if (way := self._way(self.net.tensors[i], wanted))]
        ways = [(way, i) for way, i in ways if len(way) - 1 <= min(2, room)]
        if not ways:
            return None
        way, index = min(ways, key=lambda pair: len(pair[0]))
        for step in way[1:]:
            index = self._adapt(index, step)
        return index, len(way) - 1

    def _way(self, have: Spec, wanted: Spec) -> list[Spec]:
        """Return the tensors from one to the other, both included; empty if they do not connect."""
        way = [have]
        if not _same_type(have, wanted):
            if not _is_convertible(have, wanted):
                return []
            way.append(dataclasses.replace(_bare(wanted), shape=have.shape))
        if have.shape != wanted.shape:
            dtype = wanted.dtype
            equal = math.prod(have.shape) == math.prod(wanted.shape)
            same_rank = len(have.shape) == len(wanted.shape) and 1 <= len(have.shape) <= 4
            pairs = [*zip(have.shape, wanted.shape, strict=False)]
            cut = same_rank and all(a >= b for a, b in pairs) and dtype in SLICEABLE
            pad = same_rank and all(a <= b for a, b in pairs) and dtype in PADDABLE
            if not (equal or cut or pad):
                return []
            way.append(_bare(wanted))
        return way

    def _adapt(self, x: int, target: Spec) -> int:
        """Add the operator that converts x to a tensor like `target`."""
        have = self.net.tensors[x]
        self.read.add(x)
        code, inputs, options = self._adapter(x, have, target)
        target = dataclasses.replace(target, name=f"t{len(self.net.tensors)}")
        (adapted,) = self.net.operator(code, inputs, [target], options)
        self.values.append(adapted)
        self.live.append(adapted)
        return adapted

    def _adapter(
        self, x: int, have: Spec, target: Spec
    ) -> tuple[str, list[int], dict[str, object]]:
        if have.shape == target.shape:
            if target.dtype == "float32" and have.dtype in QUANTIZED:
                return "DEQUANTIZE", [x], {}
            if target.scale is not None:
                return "QUANTIZE", [x], {}
            return "CAST", [x], {"in_data_type": have.dtype, "out_data_type": target.dtype}
        if math.prod(have.shape) == math.prod(target.shape):
            return "RESHAPE", [x, self._integers(target.shape)], {"new_shape": list(target.shape)}
        spare = [abs(a - b) for a, b in zip(have.shape, target.shape, strict=True)]
        first = [self.choices.integer(0, n) for n in spare]
        if math.prod(have.shape) > math.prod(target.shape):
            return "SLICE", [x, self._integers(first), self._integers(target.shape)], {}
        pairs = [[a, n - a] for a, n in zip(first, spare, strict=True)]
        return "PAD", [x, self._integers(pairs)], {}

    def _integers(self, values: object) -> int:
        return self.net.constant(np.array(values), "int32", name=f"t{len(self.net.tensors)}")

    # ---- quantization that is seldom met ---------------------------------------------------------

    def _stretch(self, operators: Sequence[OperatorSpec], places: dict[int, int]) -> None:
        """Sometimes give an output, or a channel's weights, an unusual scale or zero point."""
        tensors = self.net.tensors
        for operator in operators:
            out = places[operator.outputs[0]] if operator.outputs else -1
            free = operator.code in REQUANTIZING and tensors[out].dtype in QUANTIZED
            if free and isinstance(tensors[out].scale, float) and self.choices.chance(6):
                odd = self.choices.pick(
                    (1.0, 1.0, 1 - 2.0**-24, self.choices.integer(500, 2000) / 1e3)
                )
                self._scale(out, None, odd * 2.0 ** self.choices.integer(-24, 20))
            if free and isinstance(tensors[out].zero_point, int) and self.choices.chance(8):
                self._move(out)
            if operator.code in BY_CHANNEL and self.choices.chance(12):
                self._shrink_channel(
                    places[operator.inputs[1]], [places[i] for i in operator.inputs[2:]]
                )

    def _move(self, index: int) -> None:
        """Put the zero point of an 8-bit tensor at an end of its range."""
        ends = {"int8": (-128, 127), "uint8": (0, 255)}.get(self.net.tensors[index].dtype)
        if ends is not None:
            spec = self.net.tensors[index]
            self.net.tensors[index] = dataclasses.replace(spec, zero_point=self.choices.pick(ends))

    def _shrink_channel(self, weights: int, others: Sequence[int]) -> None:
        scale = self.net.tensors[weights].scale
        if not isinstance(scale, tuple) or len(scale) < 2 or self.net.tensors[weights].data is None:
            return
        channel = self.choices.integer(0, len(scale) - 1)
        factor = 2.0 ** -self.choices.integer(4, 30)
        for index in (weights, *others):
            have = self.net.tensors[index].scale
            if isinstance(have, tuple) and len(have) == len(scale):
                self._scale(index, channel, factor)

    def _scale(self, index: int, channel: int | None, factor: float) -> None:
        spec = self.net.tensors[index]
        scale = spec.scale
        assert scale is not None
        if isinstance(scale, tuple):
            scale = tuple(
                float(np.float32(s * factor)) if i == channel else s for i, s in enumerate(scale)
            )
        else:
            scale = float(np.float32(scale * factor))
        self.net.tensors[index] = dataclasses.replace(spec, scale=scale)

    # ---- the end ---------------------------------------------------------------------------------

    def finish(self) -> WildNetwork:
        """Choose the outputs: all tensors without a reader, and some others."""
        unread = [i for i in self.values if i not in self.read]
        others = [i for i in self.values if i in self.read and self.choices.chance(8)]
        outputs = (*dict.fromkeys(unread + others),)
        data = self.net.build(*outputs)
        return WildNetwork(data, self.ranges, self.net, outputs)


def _bare(spec: Spec) -> Spec:
    return Spec(spec.shape, spec.dtype, spec.scale, spec.zero_point)


def _same_type(have: Spec, wanted: Spec) -> bool:
    if have.dtype != wanted.dtype:
        return False
    return wanted.scale is None or (have.scale, have.zero_point) == (
        wanted.scale,
        wanted.zero_point,
    )


def _is_convertible(have: Spec, wanted: Spec) -> bool:
    """Return whether QUANTIZE, DEQUANTIZE or CAST converts one tensor to the other."""
    if wanted.dtype == "float32" and have.dtype in QUANTIZED:
        return isinstance(have.scale, float)
    if wanted.scale is not None:
        quantized = isinstance(have.scale, float) or have.dtype == "float32"
        return quantized and (have.dtype, wanted.dtype) in REQUANTIZATIONS
    return have.dtype in CASTS and wanted.dtype in ("int32", "float32", "int8", "int16")
