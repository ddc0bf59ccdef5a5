"""Convert uint8 operators to int8: subtract 128 from every value and zero point (flip a bit).

uint8 then uses the int8 kernels, including those for Helium, and the only cost is a QUANTIZE at
each input and output that flips the sign bit. TFLite Micro has no uint8 kernels, so LiteRT's
reference kernels are the oracle; the option `UNSIGNED` selects their arithmetic in kernels where
it differs from TFLite Micro's int8 arithmetic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ethosgen.aot.registry import deciding_dtype, registry
from ethosgen.aot.tir.kernel import UNSIGNED
from ethosgen.values.network import ABSENT, Graph, Operator, Quantization, Tensor

_MOVING = frozenset(
    "BATCH_TO_SPACE_ND BROADCAST_TO CONCATENATION DEPTH_TO_SPACE EXPAND_DIMS GATHER GATHER_ND "
    "MIRROR_PAD PACK RESHAPE RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SELECT SELECT_V2 SLICE "
    "SPACE_TO_DEPTH SPLIT SPLIT_V SQUEEZE STRIDED_SLICE TILE TRANSPOSE UNPACK".split()
)
"""Operators that only move bytes, so their tensors need no quantization."""

TWINS = _MOVING | frozenset(
    "ADD ARG_MAX ARG_MIN AVERAGE_POOL_2D CONV_2D DEPTHWISE_CONV_2D DEQUANTIZE DIV EQUAL "
    "FULLY_CONNECTED GELU GREATER GREATER_EQUAL HARD_SWISH L2_NORMALIZATION LEAKY_RELU LESS "
    "LESS_EQUAL LOGISTIC LOG_SOFTMAX MAXIMUM MAX_POOL_2D MEAN MINIMUM MUL NOT_EQUAL PAD PADV2 "
    "PRELU QUANTIZE REDUCE_MAX REDUCE_MIN RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 RESIZE_BILINEAR "
    "SOFTMAX SPACE_TO_BATCH_ND SUB SUM TANH TRANSPOSE_CONV".split()
)
"""Operators that LiteRT supports in uint8 and ethosgen computes in int8."""

FLIP = "QUANTIZE"
"""The operator that converts between uint8 and int8: with equal scales it flips the sign bit."""


def twin_builds() -> frozenset[tuple[str, str]]:
    """Return (code, "uint8") for each uint8 operator that is computed in int8."""
    known = registry()
    return frozenset((code, "uint8") for code in TWINS if (code, "uint8") not in known)


def sign(graph: Graph) -> Graph:
    """Return a graph with uint8 operators converted to int8, and QUANTIZEs at the boundaries.

    Operators with a uint8 kernel remain unchanged, unless they are next to int8 operators.
    """
    chosen = _choose(graph)
    return _Signing(graph, chosen).graph() if chosen else graph


def has_twin(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether an operator has uint8 inputs or outputs and can be computed in int8."""
    ends = _unsigned(operator, tensors)
    if operator.code not in TWINS or not ends or any(tensors[i].is_variable for i in ends):
        return False
    others = {tensors[i].dtype for i in (*operator.inputs, *operator.outputs) if i != ABSENT}
    if "int8" in others and operator.code != FLIP:
        return False
    return operator.code in _MOVING or all(tensors[i].quantization for i in ends)


def twin(operator: Operator, tensors: Sequence[Tensor]) -> tuple[Operator, tuple[Tensor, ...]]:
    """Return an operator that `has_twin` in int8, and the tensors with its own converted."""
    ends = _unsigned(operator, tensors)
    signed = (signed_tensor(t) if t.index in ends else t for t in tensors)
    return _marked(operator), tuple(signed)


def signed_tensor(tensor: Tensor) -> Tensor:
    """Return a uint8 tensor as int8."""
    quantization, data = tensor.quantization, tensor.data
    if quantization is not None:
        points = quantization.zero_point or (0,)
        quantization = Quantization(
            quantization.scale, tuple(point - 128 for point in points), quantization.axis
        )
    if data is not None:
        data = (np.frombuffer(data, np.uint8) ^ 0x80).tobytes()
    return replace(tensor, dtype="int8", quantization=quantization, data=data)


def _marked(operator: Operator) -> Operator:
    return replace(operator, options={**operator.options, UNSIGNED: True})


def _unsigned(operator: Operator, tensors: Sequence[Tensor]) -> frozenset[int]:
    """Return the uint8 tensors among an operator's inputs and outputs."""
    ends = (*operator.inputs, *operator.outputs)
    return frozenset(i for i in ends if i != ABSENT and tensors[i].dtype == "uint8")


def _choose(graph: Graph) -> frozenset[int]:
    """Return the indices of the operators to compute in int8."""
    tensors = graph.tensors
    able = [op for op in graph.operators if has_twin(op, tensors)]
    known = registry() if able else {}
    chosen = {op.index for op in able if (op.code, deciding_dtype(op, tensors)) not in known}
    size = -1
    while size != len(chosen):
        size = len(chosen)
        outputs = {i for op in graph.operators if op.index in chosen for i in op.outputs}
        read = {i for op in graph.operators if op.index in chosen for i in op.inputs}
        chosen |= {
            op.index
            for op in able
            if outputs & {*op.inputs} & _unsigned(op, tensors)
            or read & {*op.outputs} & _unsigned(op, tensors)
        }
    return frozenset(chosen)


class _Signing:
    """Builds a graph in which the chosen operators are int8."""

    def __init__(self, graph: Graph, chosen: frozenset[int]) -> None:
        self._graph = graph
        self._chosen = chosen
        self._tensors = list(graph.tensors)
        self._operators: list[Operator] = []
        self._free = max(operator.index for operator in graph.operators) + 1
        self._twins: dict[int, int] = {}

    def graph(self) -> Graph:
        """Return the converted graph."""
        wanted = {
            *self._graph.outputs,
            *(i for op in self._graph.operators if op.index not in self._chosen for i in op.inputs),
        }
        for operator in self._graph.operators:
            if operator.index in self._chosen:
                self._add(operator, wanted)
            else:
                self._operators.append(operator)
        return replace(self._graph, tensors=tuple(self._tensors), operators=tuple(self._operators))

    def _add(self, operator: Operator, wanted: set[int]) -> None:
        """Add an operator in int8, flip its uint8 inputs, and flip outputs `wanted` as uint8."""
        ends = _unsigned(operator, self._graph.tensors)
        for index in dict.fromkeys(i for i in operator.inputs if i in ends):
            if index not in self._twins:
                self._make_twin(index)
                if self._tensors[index].data is None:
                    self._flip(index, self._twins[index])
        for index in operator.outputs:
            if index in ends:
                self._make_twin(index)
        self._operators.append(_marked(_renamed(operator, {i: self._twins[i] for i in ends})))
        for index in operator.outputs:
            if index in ends and index in wanted:
                self._flip(self._twins[index], index)

    def _make_twin(self, index: int) -> None:
        signed = signed_tensor(self._tensors[index])
        name = f"{signed.name} (int8)"
        self._twins[index] = len(self._tensors)
        self._tensors.append(replace(signed, index=len(self._tensors), name=name))

    def _flip(self, source: int, target: int) -> None:
        self._operators.append(Operator(self._free, FLIP, (source,), (target,)))
        self._free += 1


def _renamed(operator: Operator, names: Mapping[int, int]) -> Operator:
    inputs = tuple(names.get(i, i) for i in operator.inputs)
    outputs = tuple(names.get(i, i) for i in operator.outputs)
    return replace(operator, inputs=inputs, outputs=outputs)
