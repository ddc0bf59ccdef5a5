"""Small networks of TOSA's operators, built in a test.

    net = TosaBuilder("layer", seed=1)
    x = net.input((1, 8, 8, 4))
    x = net.conv2d(x, 8, (3, 3), pad=(1, 1, 1, 1))
    x = net.rescale(x, "int8", 0.01)
    network = net.network(x)

Every method returns the index of the tensor that it adds.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.tosa import TOSA_OPS

Array = np.ndarray[Any, Any]
Shape = Sequence[int]

ACCUMULATOR = {"int8": "int32", "int16": "int48"}
WIDE = {"int8": "int32", "int16": "int64"}


class TosaBuilder:
    """One network under construction; see the module's docstring."""

    def __init__(self, name: str = "network", seed: int = 0) -> None:
        self.name = name
        self.random = np.random.default_rng(seed)
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs: list[int] = []
        self.spans: dict[int, tuple[int | None, int]] = {}

    def tensor(self, shape: Shape, dtype: str, data: bytes | None = None, **more: Any) -> int:
        """Add a tensor; one of float16 is float32 that is marked, as in our graphs."""
        index = len(self.tensors)
        is_half = dtype == "float16"
        dtype = "float32" if is_half else dtype
        name, sizes = f"t{index}", tuple(map(int, shape))
        self.tensors.append(Tensor(index, name, sizes, dtype, None, data, is_half=is_half, **more))
        return index

    def kind_of(self, index: int) -> str:
        """Return the type of a tensor as the file has it, unless it is int4 or int48."""
        tensor = self.tensors[index]
        return "float16" if tensor.is_half else tensor.dtype

    def input(
        self, shape: Shape, dtype: str = "int8", low: int | None = None, high: int = 0
    ) -> int:
        """Add an input of the network, whose samples are in [low, high] if that is given."""
        self.inputs.append(self.tensor(shape, dtype))
        self.spans[self.inputs[-1]] = (low, high)
        return self.inputs[-1]

    def sample(self) -> dict[str, Array]:
        """Draw one sample for all inputs."""
        tensors = [self.tensors[i] for i in self.inputs]
        return {
            t.name: self.drawn(t.shape, self.kind_of(t.index), *self.spans[t.index])
            for t in tensors
        }

    def constant(self, values: Any, dtype: str, **more: Any) -> int:
        """Add a constant."""
        array = np.array(values, dtype)
        if dtype == "float16":
            array = array.astype(np.float32)
        return self.tensor(array.shape, dtype, array.tobytes(), **more)

    def drawn(self, shape: Shape, dtype: str, low: int | None = None, high: int = 0) -> Array:
        """Draw values of a type, from all of them or from [low, high]; float16 as float32."""
        if dtype.startswith("float"):
            values = self.random.uniform(-1 if low is None else low, high, shape)
            return np.asarray(values.astype(dtype).astype(np.float32))
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        info = np.iinfo(dtype)
        low, high = (int(info.min), int(info.max)) if low is None else (low, high)
        return self.random.integers(low, high, shape, dtype, endpoint=True)

    def op(self, name: str, inputs: Sequence[int], shape: Shape, dtype: str, **options: Any) -> int:
        """Add an operator with one output; attributes that are not given have their defaults."""
        known = TOSA_OPS[f"TOSA_{name}"]
        values = {
            attribute.name: options.pop(attribute.name, attribute.default)
            for attribute in known.attributes
        }
        assert not options, options
        output = self.tensor(shape, dtype)
        index = len(self.operators)
        self.operators.append(Operator(index, known.code, tuple(inputs), (output,), options=values))
        return output

    def conv2d(
        self,
        x: int,
        channels: int,
        kernel: Shape,
        *,
        pad: Shape = (0, 0, 0, 0),
        stride: Shape = (1, 1),
        dilation: Shape = (1, 1),
        zero_point: int = 0,
        weight_zero_point: int = 0,
        weights: str = "int8",
        bias: int = 2000,
        one_bias: bool = False,
    ) -> int:
        """Add a CONV2D."""
        n, h, w, depth = self.tensors[x].shape
        shape = (channels, *kernel, depth)
        sizes = self.slid((h, w), kernel, pad, stride, dilation)
        return self.layer(
            "CONV2D",
            x,
            shape,
            (n, *sizes, channels),
            biases=1 if one_bias else channels,
            bias=bias,
            zero_point=zero_point,
            weight_zero_point=weight_zero_point,
            kind=weights,
            pad=tuple(pad),
            stride=tuple(stride),
            dilation=tuple(dilation),
        )

    def layer(
        self,
        name: str,
        x: int,
        weights: Shape,
        shape: Shape,
        *,
        biases: int = 0,
        bias: int = 2000,
        zero_point: int = 0,
        weight_zero_point: int = 0,
        kind: str = "int8",
        **options: Any,
    ) -> int:
        """Add an operator with random weights and biases, by default one for each weights[0]."""
        dtype = self.tensors[x].dtype
        is_packed = kind == "int4"
        low, high = (-7, 7) if is_packed else (-128, 127)
        inputs = [
            x,
            self.constant(self.drawn(weights, "int8", low, high), "int8", is_packed=is_packed),
            self.constant(
                self.drawn((biases or weights[0],), WIDE[dtype], -bias, bias), WIDE[dtype]
            ),
            self.constant([zero_point], dtype),
            self.constant([weight_zero_point], "int8", is_packed=is_packed),
        ]
        return self.op(name, inputs, shape, WIDE[dtype], acc_type=ACCUMULATOR[dtype], **options)

    @staticmethod
    def slid(source: Shape, kernel: Shape, pad: Shape, stride: Shape, dilation: Shape) -> list[int]:
        """Return the sizes of a window's output."""
        return [
            (size - 1 + pad[2 * i] + pad[2 * i + 1] - (kernel[i] - 1) * dilation[i]) // stride[i]
            + 1
            for i, size in enumerate(source)
        ]

    def rescale(
        self,
        x: int,
        dtype: str,
        factor: float | Sequence[float],
        *,
        input_zp: int = 0,
        output_zp: int = 0,
        rounding: str = "SINGLE_ROUND",
        scale32: bool | None = None,
        input_unsigned: bool = False,
        output_unsigned: bool = False,
    ) -> int:
        """Add a RESCALE by a factor, or by one for each channel."""
        source = self.tensors[x]
        wide = source.dtype != "int64" if scale32 is None else scale32
        factors = [factor] if isinstance(factor, float) else list(factor)
        pairs = [self.split(each, wide) for each in factors]
        inputs = [
            x,
            self.constant([m for m, _ in pairs], "int32" if wide else "int16"),
            self.constant([s for _, s in pairs], "int8"),
            self.constant([input_zp], source.dtype),
            self.constant([output_zp], dtype),
        ]
        return self.op(
            "RESCALE",
            inputs,
            source.shape,
            dtype,
            scale32=wide,
            rounding_mode=rounding,
            per_channel=not isinstance(factor, float),
            input_unsigned=input_unsigned,
            output_unsigned=output_unsigned,
        )

    @staticmethod
    def split(factor: float, wide: bool) -> tuple[int, int]:
        """Return a factor as multiplier and right shift."""
        bits = 31 if wide else 15
        fraction, exponent = math.frexp(factor)
        mantissa = round(fraction * (1 << bits))
        if mantissa == 1 << bits:
            mantissa, exponent = mantissa // 2, exponent + 1
        return mantissa, bits - exponent

    def network(self, *outputs: int) -> Network:
        """Return the network as the reader reads it from the writer's file."""
        graph = Graph(
            "main",
            tuple(self.tensors),
            tuple(self.operators),
            tuple(self.inputs),
            outputs or (len(self.tensors) - 1,),
        )
        network = Network(self.name, (graph,))
        return parse_network(write_network(network), self.name)
