"""A place in a graph where an accelerator may run: its tensors, and the terms of declarations.

Terms are the names in predicates, formulas and arguments. The main operator is the first that a
chain requires: its tensors and options have no prefix. The others' have one, such as relu6_ for
RELU6. A PAD before the main operator counts as part of it: `input` is the PAD's.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.wrapped.expressions import Value
from ethosgen.values.dialect import OPS
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor
from ethosgen.values.rescaling import (
    activation_range,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)

LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
TRANSPOSED = "TRANSPOSE_CONV"
"""A layer too, but its input comes last."""
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
SUMS = ("ADD", "SUB")
CLAMPS = ("RELU", "RELU6", "RELU_N1_TO_1")
"""Operators that only narrow activation_min and activation_max if they keep the scale."""
PAD = "PAD"

ORDERS = {
    "CONV_2D": "OHWI",
    "TRANSPOSE_CONV": "OHWI",
    "DEPTHWISE_CONV_2D": "IHWO",
    "FULLY_CONNECTED": "OI",
}
"""TFLite's order of the dimensions of weights: O outputs, H height, W width, I inputs."""

SHORTER = {
    "fused_activation_function": "activation",
    "dilation_h_factor": "dilation_h",
    "dilation_w_factor": "dilation_w",
    "filter_height": "kernel_h",
    "filter_width": "kernel_w",
}
"""Options that have a shorter name here."""
ATTRIBUTES = (
    *("shape", "rank", "elements", "bytes", "batches", "h", "w", "channels"),
    *("scale", "zero_point", "is_constant"),
)
"""The endings of a tensor's terms, such as input_h. `channels` is its last dimension."""
HELIUM = "has_helium"
INSTANCE = "instance"
"""The term for the number of the device that a call drives: only for arguments."""
"""The term that says whether the processor has Helium."""
_ADD_SHIFT = {"int8": 20, "int16": 15}
"""The left shift of ADD and SUB (TFLite Micro's add_common.cc)."""


_GATES = ("input", "forget", "cell", "output")
RECURRENT = {
    "SVDF": ("input", "weights_feature", "weights_time", "bias", "state"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (
        "input",
        *(f"input_to_{gate}_weights" for gate in _GATES),
        *(f"recurrent_to_{gate}_weights" for gate in _GATES),
        *(f"cell_to_{gate}_weights" for gate in ("input", "forget", "output")),
        *(f"{gate}_gate_bias" for gate in _GATES),
        *("projection_weights", "projection_bias", "output_state", "cell_state"),
    ),
}
"""The names of the inputs of operators with a state."""


@dataclass(frozen=True)
class Member:
    """One operator of a chain; the prefix of its terms is "" for the main operator."""

    operator: Operator
    prefix: str = ""


@dataclass(frozen=True)
class ChainSite:
    """A chain of operators in a graph. `optional` are the codes of absent optional members."""

    graph: Graph
    members: tuple[Member, ...]
    absent: tuple[str, ...] = ()
    extra: dict[str, Value] = field(default_factory=dict, compare=False)
    """Terms that a Python class adds."""

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators in order."""
        return tuple(member.operator for member in self.members)

    @property
    def main(self) -> Operator:
        """The main operator."""
        return next(member.operator for member in self.members if not member.prefix)

    @property
    def inner(self) -> frozenset[int]:
        """The tensors between the operators."""
        return frozenset(i for op in self.operators[:-1] for i in op.outputs)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The tensors that the chain writes."""
        return self.operators[-1].outputs

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors outside the chain, by name; absent optional ones are omitted."""
        by_name: dict[str, Tensor] = {}
        for member in self.members:
            if member.operator.code == PAD and member is not self._main_member:
                continue
            roles = zip(roles_of(member.operator.code), member.operator.inputs, strict=False)
            for role, operand in roles:
                index = self._before_padding(operand)
                if index != ABSENT and index not in self.inner:
                    by_name[f"{member.prefix}{role}"] = self.graph.tensors[index]
        for number, index in enumerate(self.outputs, 1):
            by_name[f"output{number if number > 1 else ''}"] = self.graph.tensors[index]
        return by_name

    @property
    def terms(self) -> dict[str, Value]:
        """The values of all terms that these operators have, and those of a Python class."""
        return {**self._own_terms, **self.extra}

    @cached_property
    def _own_terms(self) -> dict[str, Value]:
        terms: dict[str, Value] = {}
        for name, tensor in self._described().items():
            terms |= {f"{name}_{key}": value for key, value in _attributes(tensor)}
        for member in self.members:
            options = member.operator.options.items()
            terms |= {
                f"{member.prefix}{SHORTER.get(key, key)}": value
                for key, value in options
                if isinstance(value, bool | int | float | str)
            }
        present = (m.prefix[:-1] for m in self.members if m.prefix)
        terms |= {f"has_{name}": True for name in present}
        terms |= {f"has_{code.lower()}": False for code in self.absent}
        terms["dtype"] = self.source.dtype
        for compute in (_geometry, _bounds, _rescaling):
            terms |= compute(self)
        return terms

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The computed constant arrays: multipliers and shifts, per output channel."""
        if self.main.code not in (*LAYERS, TRANSPOSED) or not self.is_quantized:
            return {}
        source, weights = self.source, self.graph.tensors[self.main.inputs[1]]
        target = self.graph.tensors[self.main.outputs[0]]
        scales = weights.scales
        channels = target.shape[-1]
        each = scales if len(scales) == channels else scales * channels
        factors = [quantize_multiplier(scale_of(source) * s / scale_of(target)) for s in each]
        return {
            "multipliers": np.array([factor.mantissa for factor in factors], np.int32),
            "shifts": np.array([factor.shift for factor in factors], np.int32),
        }

    @property
    def source(self) -> Tensor:
        """The main operator's first input with data, at the operator itself."""
        return self.graph.tensors[source_of(self.main)]

    @property
    def is_quantized(self) -> bool:
        """Whether the main operator's first input and output are quantized integers."""
        ends = (self.source, self.graph.tensors[self.main.outputs[0]])
        return all("int" in t.dtype and t.quantization and t.quantization.scale for t in ends)

    @property
    def padding_before(self) -> NDArray[Any] | None:
        """The sizes of the PAD before the main operator, None without one."""
        first = self.members[0].operator
        if first.code != PAD or first is self.main:
            return None
        return self.graph.tensors[first.inputs[1]].array()

    @property
    def _main_member(self) -> Member:
        return next(member for member in self.members if not member.prefix)

    def _before_padding(self, index: int) -> int:
        first = self.members[0].operator
        is_padded = first.code == PAD and first is not self.main and index in first.outputs
        return first.inputs[0] if is_padded else index

    def _described(self) -> dict[str, Tensor]:
        """Return the tensors that have terms: those outside, and inputs of later members."""
        more = {
            f"{member.prefix}{role}": self.graph.tensors[index]
            for member in self.members
            for role, index in zip(
                roles_of(member.operator.code), member.operator.inputs, strict=False
            )
            if member.prefix and index != ABSENT
        }
        return {**more, **self.tensors}


def roles_of(code: str) -> tuple[str, ...]:
    """Return the names of an operator's inputs."""
    if code in LAYERS:
        return ("input", "weights", "bias")
    if code == TRANSPOSED:
        return ("output_shape", "weights", "input", "bias")
    if code in RECURRENT:
        return RECURRENT[code]
    return ("input", *(f"input{i}" for i in range(2, 9)))


def source_of(operator: Operator) -> int:
    """Return the tensor that decides an operator's type: TRANSPOSE_CONV reads a shape first."""
    return operator.inputs[2 if operator.code == TRANSPOSED else 0]


def known_terms(codes: Sequence[str], main: int) -> frozenset[str]:
    """Return all terms that chains of these operators may have, with any shapes."""
    terms = {"dtype", HELIUM, INSTANCE, *(f"has_{code.lower()}" for code in codes)}
    tensors = [f"output{i}" for i in ("", *range(2, 5))]
    for place, code in enumerate(codes):
        prefix = "" if place == main else f"{code.lower()}_"
        tensors += [f"{prefix}{role}" for role in roles_of(code)]
        terms |= {f"{prefix}{SHORTER.get(o.name, o.name)}" for o in OPS[code].options}
    terms |= {f"{tensor}_{key}" for tensor in tensors for key in ATTRIBUTES}
    return frozenset(terms | set(_COMPUTED) | _KERNEL)


def known_pointers(codes: Sequence[str], main: int) -> frozenset[str]:
    """Return the names of all tensors and arrays that such chains may have."""
    pointers = {"output", "output2", "output3", "output4", "scratch", "multipliers", "shifts"}
    for place, code in enumerate(codes):
        prefix = "" if place == main else f"{code.lower()}_"
        pointers |= {f"{prefix}{role}" for role in roles_of(code)}
    return frozenset(pointers)


_KERNEL = {"kernel_h", "kernel_w", "pad_top", "pad_left", "pad_bottom", "pad_right"}
_COMPUTED = (
    *("activation_min", "activation_max", "per_channel", "multiplier", "shift", "left_shift"),
    *("input_multiplier", "input_shift", "input2_multiplier", "input2_shift"),
    *("output_multiplier", "output_shift", "feature_multiplier", "feature_shift"),
)


def _attributes(tensor: Tensor) -> Iterator[tuple[str, Value]]:
    yield "shape", tensor.shape
    yield "rank", len(tensor.shape)
    yield "elements", tensor.elements
    yield "bytes", tensor.bytes
    yield "is_constant", tensor.data is not None
    if tensor.shape:
        yield "batches", tensor.shape[0]
        yield "channels", tensor.shape[-1]
    if len(tensor.shape) == 4:
        yield "h", tensor.shape[1]
        yield "w", tensor.shape[2]
    quantization = tensor.quantization
    if quantization and quantization.scale:
        if len(quantization.scale) == 1:
            yield "scale", quantization.scale[0]
        points = set(quantization.zero_point) or {0}
        if len(points) == 1:
            yield "zero_point", points.pop()


def _geometry(site: ChainSite) -> dict[str, Value]:
    """Return kernel sizes and paddings of the main operator."""
    main = site.main
    options: Mapping[str, Any] = main.options
    if main.code in (*LAYERS, TRANSPOSED) and main.code != "FULLY_CONNECTED":
        kernel = site.graph.tensors[main.inputs[1]].shape[1:3]
    elif main.code in POOLS:
        kernel = (int(options["filter_height"]), int(options["filter_width"]))
    else:
        return {}
    source = site.source.shape
    target = site.graph.tensors[main.outputs[0]].shape
    if main.code == TRANSPOSED:
        source, target = target, source
    terms: dict[str, Value] = {"kernel_h": kernel[0], "kernel_w": kernel[1]}
    more = site.padding_before
    for axis, (letter, names) in enumerate(
        (("h", ("pad_top", "pad_bottom")), ("w", ("pad_left", "pad_right")))
    ):
        reach = (kernel[axis] - 1) * int(options.get(f"dilation_{letter}_factor", 1)) + 1
        stride = int(options[f"stride_{letter}"])
        total = max((target[axis + 1] - 1) * stride + reach - source[axis + 1], 0)
        total = total if options.get("padding") == "SAME" else 0
        before = [total // 2, total - total // 2]
        if more is not None:
            before = [size + int(extra) for size, extra in zip(before, more[axis + 1], strict=True)]
        terms |= dict(zip(names, before, strict=True))
    return terms


def _bounds(site: ChainSite) -> dict[str, Value]:
    """Return the bounds of the output, of fused activations and clamps in the chain."""
    target = site.graph.tensors[site.main.outputs[0]]
    if target.dtype not in ("int8", "int16") or not target.quantization:
        return {}
    try:
        low, high = activation_range(site.main, target)
        for member in site.members[site.operators.index(site.main) + 1 :]:
            if member.operator.code in CLAMPS:
                output = site.graph.tensors[member.operator.outputs[0]]
                named = {"fused_activation_function": member.operator.code}
                least, most = activation_range(Operator(0, "", (), (), options=named), output)
                low, high = min(max(low, least), most), min(max(high, least), most)
    except UnsupportedError:
        return {}
    return {"activation_min": low, "activation_max": high}


def _rescaling(site: ChainSite) -> dict[str, Value]:
    """Return multipliers and shifts as TFLite computes them."""
    code = site.main.code
    rescale: Callable[[ChainSite], dict[str, float]] | None = None
    terms: dict[str, Value] = {}
    if code in (*LAYERS, TRANSPOSED):
        weights = site.graph.tensors[site.main.inputs[1]]
        scales = weights.scales
        terms["per_channel"] = len(scales) > 1
        arrays = site.arrays
        if arrays and len(scales) == 1:
            terms |= {
                "multiplier": int(arrays["multipliers"][0]),
                "shift": int(arrays["shifts"][0]),
            }
        return terms
    if code in SUMS:
        terms["left_shift"] = _ADD_SHIFT.get(site.graph.tensors[site.main.outputs[0]].dtype, 0)
        rescale = _sum_ratios
    elif code == "SVDF":
        rescale = _svdf_ratios
    elif code == "MUL":
        rescale = _product_ratios
    elif len(site.main.inputs) == 1:
        rescale = _only_ratio
    if rescale is None or not site.is_quantized:
        return terms
    try:
        for name, real in rescale(site).items():
            multiplier = quantize_multiplier(real)
            terms |= {f"{name}_multiplier": multiplier.mantissa, f"{name}_shift": multiplier.shift}
    except UnsupportedError:
        return {}
    return terms


def _scales(site: ChainSite) -> list[float]:
    return [scale_of(site.graph.tensors[i]) for i in (*site.main.inputs, *site.main.outputs)]


def _sum_ratios(site: ChainSite) -> dict[str, float]:
    first, second, output = _scales(site)
    twice = 2.0 * max(first, second)
    left = 1 << _ADD_SHIFT[site.graph.tensors[site.main.outputs[0]].dtype]
    return {"input": first / twice, "input2": second / twice, "output": twice / (left * output)}


def _svdf_ratios(site: ChainSite) -> dict[str, float]:
    source, feature, time = (scale_of(site.graph.tensors[i]) for i in site.main.inputs[:3])
    state = scale_of(site.graph.tensors[site.main.inputs[4]])
    output = scale_of(site.graph.tensors[site.main.outputs[0]])
    return {"feature": source * feature / state, "output": state * time / output}


def _product_ratios(site: ChainSite) -> dict[str, float]:
    first, second, output = _scales(site)
    return {"output": first * second / output}


def _only_ratio(site: ChainSite) -> dict[str, float]:
    source, *_, output = _scales(site)
    return {"output": source / output}


def keeps_values(graph: Graph, operator: Operator) -> bool:
    """Return whether a clamp neither rescales nor moves its input."""
    source, target = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
    if source.dtype == target.dtype == "float32":
        return True
    try:
        same = (scale_of(source), zero_point_of(source)) == (
            scale_of(target),
            zero_point_of(target),
        )
    except UnsupportedError:
        return False
    return same and source.dtype == target.dtype and math.prod(source.shape) == target.elements
