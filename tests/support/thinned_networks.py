"""Random networks with many dead values: zero weights, saturated biases, branches nobody reads.

They have what the optimizer looks for, and what must stop it: padded borders beside constants,
biases at the ends of int32, channels that meet in a sum, outputs in the middle.
"""

import dataclasses
from typing import Any

import numpy as np

from tests.support.networks import NetworkBuilder

Array = np.ndarray[Any, Any]

_FAR = (1 << 31) - 1
_FARTHER = ((1 << 39) - 1,)
"""Of the 40 bits that an NPU's biases have; only int64 holds it."""
_PADS = (((1, 0), (0, 1)), ((0, 1), (0, 1)), ((1, 1), (1, 1)))
_ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def thinned_network(seed: int, dtype: str | None = None) -> bytes:
    """Return a network of 4 to 12 operators, with one to three outputs."""
    return _Growth(seed, dtype or ("uint8" if seed % 5 == 4 else "int8")).grown()


class _Growth:
    def __init__(self, seed: int, dtype: str) -> None:
        self.random = np.random.default_rng(seed)
        self.net = NetworkBuilder(f"thinned_{seed}", seed)
        self.dtype = dtype
        self.tensors: list[int] = []

    def grown(self) -> bytes:
        rows, depth = self._one_of((1, 3, 4, 6)), self._one_of((1, 2, 3, 8))
        self.tensors = [self.net.input((1, rows, self._one_of((1, 4, 5)), depth), self.dtype)]
        for _ in range(int(self.random.integers(4, 13))):
            self.tensors.append(self._next())
        if self._chance(0.5):
            self.tensors.append(self._dense(self.tensors[-1]))
        inner = self.random.choice(self.tensors[1:], int(self.random.integers(0, 3)))
        return self.net.build(*dict.fromkeys([self.tensors[-1], *map(int, inner)]))

    def _one_of(self, choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def _chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def _next(self) -> int:
        x = self.tensors[-1] if self._chance(0.7) else self._one_of(self.tensors)
        if len(self.net.tensors[x].shape) != 4:
            return self._dense(x)
        steps = (
            *((self._convolved,) * 4),
            *((self._depthwise,) * 3),
            *((self._joined,) * 3),
            self._pooled,
            self._moved,
            self._unary,
            self._still,
            self._turned,
            self._of_constants,
        )
        return int(self._one_of(steps)(x))

    def _range(self) -> dict[str, Any]:
        """Return an output's quantization, often with zero at an end of the type."""
        if self.dtype == "int16":
            return {"scale": float(np.float32(10 ** self.random.uniform(-5, -2))), "zero_point": 0}
        low = 0 if self.dtype == "uint8" else -128
        point = low if self._chance(0.6) else int(self.random.integers(low, low + 256))
        return {"scale": float(np.float32(10 ** self.random.uniform(-3, 0))), "zero_point": point}

    def _has_bias(self) -> bool:
        return self.dtype == "uint8" or self._chance(0.8)

    def _convolved(self, x: int) -> int:
        spec = self.net.tensors[x]
        kernel = self._one_of(((1, 1), (1, 1), (3, 3), (2, 3)))
        is_small = min(spec.shape[1:3]) < 3
        padding = "SAME" if is_small or self._chance(0.5) else "VALID"
        y = self.net.conv2d(
            x,
            self._one_of((1, 2, 4, 5, 8)),
            kernel,
            self._one_of(((1, 1), (1, 1), (2, 2))),
            padding,
            self._one_of(_ACTIVATIONS),
            bias=self._has_bias(),
            per_channel=self.dtype != "uint8",
            **self._range(),
        )
        return self._thinned(y)

    def _depthwise(self, x: int) -> int:
        is_small = min(self.net.tensors[x].shape[1:3]) < 3
        y = self.net.depthwise(
            x,
            (3, 3),
            padding="SAME" if is_small or self._chance(0.6) else "VALID",
            activation=self._one_of(_ACTIVATIONS),
            multiplier=self._one_of((1, 1, 1, 2)),
            bias=self._has_bias(),
            per_channel=self.dtype != "uint8",
            **self._range(),
        )
        return self._thinned(y)

    def _dense(self, x: int) -> int:
        shape = self.net.tensors[x].shape
        if len(shape) == 4 and self._chance(0.5):
            x = self.net.reshape(x, (1, int(np.prod(shape))))
        y = self.net.fully_connected(
            x, self._one_of((1, 3, 6)), self._one_of(_ACTIVATIONS), **self._range()
        )
        return self._thinned(y)

    def _joined(self, x: int) -> int:
        spec = self.net.tensors[x]
        alike = [i for i in self.tensors if self.net.tensors[i].shape == spec.shape]
        other = self._one_of(alike)
        if self._chance(0.3):
            values = self.net.random_integers((spec.shape[-1],), self.dtype)
            other = self.net.constant(values, None, 0.02, spec.zero_point)
        way = self._one_of(("add", "add", "add", "sub", "mul", "concat"))
        if way == "concat":
            quantized = {"scale": spec.scale, "zero_point": spec.zero_point}
            same = [
                i
                for i in alike
                if {k: getattr(self.net.tensors[i], k) for k in quantized} == quantized
            ]
            return self.net.concat([x, self._one_of(same)], self._one_of((-1, -1, 1)))
        if way == "sub" and self.dtype == "uint8":
            way = "add"
        output = getattr(self.net, way)(
            x, other, self._one_of(_ACTIVATIONS[:3]), **self._sum(x, other, way)
        )
        return int(output)

    def _sum(self, x: int, other: int, way: str) -> dict[str, Any]:
        """Return an output's quantization that TFLite accepts for a sum or a product."""
        scales = [float(np.max(self.net.tensors[i].scale)) for i in (x, other)]  # type: ignore[arg-type]
        base = scales[0] * scales[1] * 100 if way == "mul" else max(scales)
        return {**self._range(), "scale": base * float(self.random.uniform(0.5, 2))}

    def _pooled(self, x: int) -> int:
        rows, columns = self.net.tensors[x].shape[1:3]
        kernel = (min(2, rows), min(2, columns))
        pool = self._one_of((self.net.max_pool, self.net.average_pool))
        return int(pool(x, kernel, activation=self._one_of(_ACTIVATIONS[:3])))

    def _moved(self, x: int) -> int:
        if self._chance(0.4) and self.net.tensors[x].shape[1] < 12:
            return self.net.pad(x, ((0, 0), *self._one_of(_PADS), (0, 0)))
        if self._chance(0.3) and self.net.tensors[x].shape[-1] < 12:
            return self.net.pad(x, ((0, 0), (0, 0), (0, 0), (1, 0)))
        if self._chance(0.5):
            batch, rows, columns, depth = self.net.tensors[x].shape
            return self.net.reshape(x, (batch, columns, rows, depth))
        return self.net.transpose(x, self._one_of(((0, 2, 1, 3), (0, 3, 1, 2))))

    def _still(self, x: int) -> int:
        """Add an operator that may change nothing."""
        shape, spec = self.net.tensors[x].shape, self.net.tensors[x]
        way = self._one_of(("slice", "pool", "pad", "join", "twice", "there and back"))
        if way == "slice":
            return self.net.apply("SLICE", x, (0,) * 4, shape)
        if way == "pool":
            pool = self._one_of((self.net.max_pool, self.net.average_pool))
            return int(pool(x, (1, 1), activation=self._one_of(_ACTIVATIONS[:3])))
        if way == "pad":
            return self.net.pad(x, ((0, 0),) * 4)
        if way == "join":
            return self.net.concat([x])
        if way == "twice":
            return self.net.apply(self._one_of(("MAXIMUM", "MINIMUM")), x, x)
        assert isinstance(spec.zero_point, int)
        scale = float(np.max(spec.scale))  # type: ignore[arg-type]
        finer = scale / self._one_of((1, 1, 3, 64))
        middle = self._one_of((self.dtype, "int16")) if self.dtype == "int8" else self.dtype
        wide = middle == "int16"
        y = self.net.quantize(x, middle, finer if wide else scale, 0 if wide else spec.zero_point)
        return self.net.quantize(y, self.dtype, scale, spec.zero_point)

    def _turned(self, x: int) -> int:
        """Add elementwise operators between two TRANSPOSEs, or behind two of one order."""
        order = self._one_of(((0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1)))
        y = self.net.transpose(x, order)
        if self._chance(0.3):
            other = self.net.transpose(self._unary(x) if self._chance(0.5) else x, order)
            if self.net.tensors[other].shape == self.net.tensors[y].shape:
                return self.net.add(y, other, **self._sum(y, other, "add"))
        for _ in range(int(self.random.integers(1, 3))):
            spec = self.net.tensors[y]
            sizes = [self._one_of((1, size)) for size in spec.shape[1:]]
            values = self.net.random_integers(sizes, self.dtype)
            other = self.net.constant(values, None, 0.02, spec.zero_point)
            ways = (
                lambda y, c: self.net.add(y, c, **self._sum(y, c, "add")),
                lambda y, c: self.net.mul(y, c, **self._sum(y, c, "mul")),
                lambda y, _: self.net.logistic(y),
                lambda y, _: self.net.unary("RELU", y),
            )
            y = self._one_of(ways)(y, other)
        return self.net.transpose(y, self._one_of(((0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1))))

    def _of_constants(self, x: int) -> int:
        """Add a constant that operators compute."""
        spec = self.net.tensors[x]
        depth = spec.shape[-1]
        values = self.net.random_integers((1, depth, 2), self.dtype)
        c = self.net.constant(values, None, 0.02, 0 if self.dtype == "int16" else 3)
        c = self._unary_of(c)
        c = self.net.apply("SLICE", self.net.transpose(c, (0, 2, 1)), (0, 1, 0), (1, 1, depth))
        c = self.net.reshape(c, (depth,))
        return self.net.add(x, c, **self._sum(x, c, "add"))

    def _unary_of(self, c: int) -> int:
        way = self._one_of(("RELU", "QUANTIZE", "add", "mul"))
        if way == "RELU":
            return self.net.unary("RELU", c)
        if way == "QUANTIZE":
            return self.net.quantize(c, self.dtype, **self._range())
        return int(getattr(self.net, way)(c, c, **self._sum(c, c, way)))

    def _unary(self, x: int) -> int:
        ways = ["RELU", "RELU6", "mean", "logistic", "MAXIMUM", "MINIMUM", "QUANTIZE"]
        if self.dtype == "int8":
            ways += ["tanh", "HARD_SWISH", "LEAKY_RELU"]
        way = self._one_of(ways)
        if way == "tanh":
            return self.net.tanh(x)
        if way == "LEAKY_RELU":
            return self.net.unary(way, x, {"alpha": float(self.random.uniform(0.01, 1))})
        if way == "mean":
            return self.net.mean(x, keep_dims=True)
        if way == "logistic":
            return self.net.logistic(x)
        if way == "QUANTIZE":
            return self.net.quantize(x, self.dtype, **self._range())
        if way in ("MAXIMUM", "MINIMUM"):
            spec = self.net.tensors[x]
            values = self.net.random_integers((spec.shape[-1],), self.dtype)
            return self.net.apply(
                way, x, self.net.constant(values, None, spec.scale, spec.zero_point)
            )
        return self.net.unary(way, x)

    def _thinned(self, y: int) -> int:
        """Take weights from the layer that was added last, and move its biases far away."""
        inputs = self.net.operators[-1].inputs
        weights = self.net.tensors[inputs[1]]
        assert weights.data is not None and isinstance(weights.zero_point, int | tuple)
        point = int(np.ravel(weights.zero_point)[0])
        values = np.frombuffer(weights.data, weights.dtype).reshape(weights.shape).copy()
        values[self.random.random(values.shape) < self._one_of((0, 0.3, 0.9))] = point
        for axis in (0, values.ndim - 1):
            gone = self.random.random(values.shape[axis]) < self._one_of((0, 0, 0.4, 0.8))
            np.moveaxis(values, axis, 0)[gone] = point
        has_twins = values.shape[0] > 1 and self._chance(0.3)
        scale = weights.scale
        if has_twins:
            values[1] = values[0] = (values[0] - point) // 2 + point  # sums of two fit the type
            if isinstance(scale, tuple) and len(scale) > 1:
                scale = (scale[0], scale[0], *scale[2:])
        changed = dataclasses.replace(weights, data=values.tobytes(), scale=scale)
        self.net.tensors[inputs[1]] = changed
        if len(inputs) > 2:
            bias = self.net.tensors[inputs[2]]
            assert bias.data is not None
            far = np.frombuffer(bias.data, bias.dtype).copy()
            moved = self.random.random(far.size) < self._one_of((0, 0.4, 0.8))
            reach = self._one_of(
                (3000, 100_000, 10_000_000, _FAR, *_FARTHER[: bias.dtype == "int64"])
            )
            far[moved] = self.random.integers(-reach, reach, int(moved.sum()), endpoint=True)
            if has_twins:
                far[1] = far[0]
            self.net.tensors[inputs[2]] = dataclasses.replace(bias, data=far.tobytes())
        return y
