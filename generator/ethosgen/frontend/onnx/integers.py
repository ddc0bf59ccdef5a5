"""Operators of ONNX on integers, which become operators between dequantize and quantize.

ONNX Runtime writes them with QuantFormat.QOperator and with dynamic quantization.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ethosgen.values.errors import UnsupportedError

Rewrite = Callable[["_Rewriting", Any], None]


@dataclass(frozen=True)
class _Form:
    """The places of a QLinear operator's parts.

    `operands` are the first of three inputs each: tensor, scale, zero point. `result` is the scale
    of the output. `channels` are the axes of scales for each channel, by operand.
    """

    name: str
    operands: tuple[int, ...]
    result: int
    channels: tuple[int, ...] = (1, 1)
    bias: int | None = None
    plain: int = 0
    """The inputs before the first operand, which are not numbers."""


_FORMS = {
    "QLinearConv": _Form("Conv", (0, 3), 6, (1, 0), bias=8),
    "QLinearMatMul": _Form("MatMul", (0, 3), 6, (-1, -1)),
    "QGemm": _Form("Gemm", (0, 3), 7, (-1, -1), bias=6),
    "QLinearAdd": _Form("Add", (0, 3), 6),
    "QLinearMul": _Form("Mul", (0, 3), 6),
    "QLinearSigmoid": _Form("Sigmoid", (0,), 3),
    "QLinearLeakyRelu": _Form("LeakyRelu", (0,), 3),
    "QLinearSoftmax": _Form("Softmax", (0,), 3),
    "QLinearAveragePool": _Form("AveragePool", (0,), 3),
    "QLinearGlobalAveragePool": _Form("GlobalAveragePool", (0,), 3),
    "QLinearWhere": _Form("Where", (1, 4), 7, plain=1),
}
_TINY = np.float32(1e-37)
"""The scale of inputs that are all zero: their steps must be 0 and no NaN."""


def in_plain_operators(model: Any) -> None:
    """Replace a model's operators on integers; UnsupportedError if they have no other form."""
    rewriting = _Rewriting(model.graph)
    rewriting.run()


@dataclass
class _Rewriting:
    """One graph; `constants` are its known tensors, `nodes` the nodes built so far.

    `floats` has the name of the same whole numbers in float, for integers that came from floats.
    """

    graph: Any
    constants: dict[str, Any] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    floats: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        self.constants = dict(_constants(self.graph))
        before = list(self.graph.node)
        for node in before:
            self.rewrite(node)
        if self.nodes != before:
            del self.graph.node[:]
            self.graph.node.extend(self.nodes)

    def rewrite(self, node: Any) -> None:
        if node.op_type in _FORMS:
            self.between_scales(node, _FORMS[node.op_type])
        elif node.op_type in _OTHERS:
            _OTHERS[node.op_type](self, node)
        elif node.op_type == "Cast" and node.input[0] in self.floats and _is_to_float(node):
            self.add("Identity", [self.floats[node.input[0]]], node.output[0])
        else:
            self.nodes.append(node)

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, array: Any) -> str:
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def known(self, node: Any, number: int) -> Any:
        """Return a constant input."""
        name = node.input[number]
        if name not in self.constants:
            raise UnsupportedError(
                f"cannot import '{node.output[0]}' ({node.op_type}): its input '{name}' is not "
                "constant"
            )
        return self.constants[name]

    def real(self, node: Any, first: int, axis: int) -> str:
        """Return the dequantized operand whose tensor is input `first`."""
        inputs = [name for name in node.input[first : first + 3] if name]
        operand = f"{node.output[0]}_operand{first}"
        if np.size(self.known(node, first + 1)) == 1:
            return self.add("DequantizeLinear", inputs, operand)
        rank = np.ndim(self.known(node, first))
        return self.add("DequantizeLinear", inputs, operand, axis=axis % rank)

    def between_scales(self, node: Any, form: _Form) -> None:
        """Replace a QLinear operator by its plain one."""
        plain = _attributes(node)
        if plain.pop("channels_last", 0):
            raise UnsupportedError(f"cannot import '{node.output[0]}': its channels are last")
        plain.pop("opset", None)
        axes = _weights_axes(form, plain)
        operands = [self.real(node, i, axis) for i, axis in zip(form.operands, axes, strict=False)]
        self.finish(node, form, [*node.input[: form.plain], *operands], plain)

    def finish(self, node: Any, form: _Form, operands: list[str], plain: dict[str, Any]) -> None:
        if form.bias is not None and len(node.input) > form.bias and node.input[form.bias]:
            operands.append(self.bias(node, form, plain.get("alpha", 1.0)))
        scales = [name for name in node.input[form.result : form.result + 2] if name]
        if not scales:  # QGemm without an output scale computes floats
            self.add(form.name, operands, node.output[0], **plain)
            return
        real = self.add(form.name, operands, f"{node.output[0]}_real", **plain)
        self.add("QuantizeLinear", [real, *scales], node.output[0])

    def bias(self, node: Any, form: _Form, alpha: float) -> str:
        """Return the dequantized bias, whose scale is the product of the operands' scales."""
        first, second = (self.known(node, place + 1) for place in form.operands)
        scale = np.ravel(np.float32(alpha) * first * second).astype(np.float32)
        scale = scale.reshape(()) if scale.size == 1 else scale
        name = node.output[0]
        assert form.bias is not None
        zero = np.zeros(scale.shape, np.int32)
        return self.add(
            "DequantizeLinear",
            [
                node.input[form.bias],
                self.constant(f"{name}_bias_scale", scale),
                self.constant(f"{name}_bias_zero", zero),
            ],
            f"{name}_bias",
            **({"axis": 0} if scale.shape else {}),
        )

    def concat(self, node: Any) -> None:
        """Replace a QLinearConcat, which has its result's scale first."""
        operands = [self.real(node, first, 1) for first in range(2, len(node.input), 3)]
        joined = self.add("Concat", operands, f"{node.output[0]}_real", **_attributes(node))
        self.add("QuantizeLinear", [joined, *node.input[:2]], node.output[0])

    def dynamic(self, node: Any) -> None:
        """Replace a DynamicQuantizeLinear by its formula on floats, with floats that are whole."""
        (x,), (y, scale, zero) = node.input, (*node.output, "", "")[:3]
        scale, zero = scale or f"{y}_scale", zero or f"{y}_zero"
        low, high = (self.constant(f"{y}_{n}", np.float32(n)) for n in (0, 255))
        top = self.add("ReduceMax", [x], f"{y}_top", keepdims=0)
        bottom = self.add("ReduceMin", [x], f"{y}_bottom", keepdims=0)
        top = self.add("Max", [top, low], f"{y}_highest")
        bottom = self.add("Min", [bottom, low], f"{y}_lowest")
        width = self.add("Sub", [top, bottom], f"{y}_width")
        width = self.add("Div", [width, high], f"{y}_step")
        self.add("Max", [width, self.constant(f"{y}_tiny", _TINY)], scale)
        below = self.add("Sub", [low, bottom], f"{y}_below")
        below = self.add("Div", [below, scale], f"{y}_place")
        below = self.add("Round", [below], f"{y}_rounded")
        self.whole([below, low, high], zero)
        steps = self.add("Div", [x, scale], f"{y}_steps")
        steps = self.add("Round", [steps], f"{y}_whole")
        steps = self.add("Add", [steps, self.floats[zero]], f"{y}_shifted")
        self.whole([steps, low, high], y)

    def whole(self, clipped: list[str], name: str) -> None:
        """Clip whole floats, and make them uint8 as well."""
        self.floats[name] = self.add("Clip", clipped, f"{name}_float")
        self.add("Cast", [self.floats[name]], name, to=onnx.TensorProto.UINT8)

    def integer_product(self, node: Any) -> None:
        """Replace a MatMulInteger or ConvInteger by a product of whole floats, exact below 2^24."""
        name = node.output[0]
        first, second = (self.less(node, place) for place in (0, 1))
        kind = node.op_type.removesuffix("Integer")
        product = self.add(kind, [first, second], f"{name}_real", **_attributes(node))
        self.floats[name] = product
        self.add("Cast", [product], name, to=onnx.TensorProto.INT32)

    def less(self, node: Any, place: int) -> str:
        """Return an operand less its zero point, in float."""
        held, name = node.input[place], f"{node.output[0]}_operand{place}"
        zero = node.input[place + 2] if len(node.input) > place + 2 else ""
        if held in self.constants and (not zero or zero in self.constants):
            array = self.constants[held].astype(np.float32)
            points = self.constants[zero].astype(np.float32) if zero else np.float32(0)
            if node.op_type == "ConvInteger" and place == 1 and points.ndim:
                points = points.reshape(-1, *[1] * (array.ndim - 1))
            return self.constant(name, array - points)
        real = self.in_float(held, f"{name}_float")
        return self.add("Sub", [real, self.in_float(zero, f"{name}_zero")], name) if zero else real

    def in_float(self, held: str, name: str) -> str:
        """Return integers in float, by a Cast of that name where no floats are known."""
        return self.floats.get(held) or self.add("Cast", [held], name, to=onnx.TensorProto.FLOAT)


_OTHERS: dict[str, Rewrite] = {
    "QLinearConcat": _Rewriting.concat,
    "DynamicQuantizeLinear": _Rewriting.dynamic,
    "MatMulInteger": _Rewriting.integer_product,
    "ConvInteger": _Rewriting.integer_product,
}


def _weights_axes(form: _Form, attributes: dict[str, Any]) -> tuple[int, ...]:
    """Return the axis of each operand's scales; a Gemm may have its weights transposed."""
    if form.name == "Gemm" and attributes.get("transB"):
        return (form.channels[0], 0)
    return form.channels


def _is_to_float(node: Any) -> bool:
    return bool(_attributes(node)["to"] == onnx.TensorProto.FLOAT)


def _attributes(node: Any) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _constants(graph: Any) -> Iterator[tuple[str, Any]]:
    for constant in graph.initializer:
        yield constant.name, numpy_helper.to_array(constant)
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            yield node.output[0], numpy_helper.to_array(node.attribute[0].t)
