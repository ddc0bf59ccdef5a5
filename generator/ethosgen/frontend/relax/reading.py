"""Reads a Relax module into a graph of our dialect: each composite becomes one operator."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Constant as RelaxConstant

from ethosgen.frontend.relax.composite import CompositeIsland, take_apart
from ethosgen.frontend.relax.draft import Draft, DraftConstant, Operand, Value, channels_last
from ethosgen.frontend.relax.normal import bindings_of, operator_name
from ethosgen.frontend.relax.patterns import FLOAT, RESCALING
from ethosgen.frontend.relax.site import TRANSLATORS, NoIntegerForm, Site, ints, quantize
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Quantization

_LOG = logging.getLogger(__name__)

_FAMILIES = (
    "layers",
    "pools",
    "elementwise",
    "functions",
    "moves",
    "norms",
    "selection",
    "resizing",
)
_SHIFTED = {"uint8": ("int8", 128), "uint16": ("int16", 32768)}
"""Unsigned types, their signed ones and the difference: the same values with another zero point."""


@cache
def translators() -> Mapping[str, Any]:
    """Return the translators of all families by the operator's name."""
    for family in _FAMILIES:
        import_module(f"ethosgen.frontend.relax.{family}")
    return TRANSLATORS


@dataclass
class Reading:
    """A module under translation; `in_float` names results that stay float, and why.

    If it `is_signed`, unsigned inputs and outputs are signed in the graph, less the difference.
    """

    module: tvm.IRModule
    is_signed: bool = False
    draft: Draft = field(default_factory=Draft)
    values: dict[Any, Any] = field(default_factory=dict)
    in_float: dict[str, str] = field(default_factory=dict)
    last: frozenset[Any] = frozenset()

    def graph(
        self, name: str, inputs: Sequence[str], outputs: Sequence[str], is_last: bool = False
    ) -> Graph:
        """Return the graph of main; inputs and outputs get the user's names.

        If `is_last`, the graph's inputs have their channels last.
        """
        function = self.module["main"]
        for parameter, tensor in zip(function.params, inputs, strict=True):
            shape, dtype = shape_of(parameter)
            dtype = _SHIFTED[dtype][0] if self.is_signed and dtype in _SHIFTED else dtype
            order = channels_last(len(shape)) if is_last and len(shape) > 2 else None
            self.values[parameter] = self.draft.add_input(tensor, shape, dtype, order)
        self.last = last_of(function)
        self.run(function)
        results = self.evaluate(function.body.body)
        listed = results if isinstance(results, tuple) else (results,)
        types = _types_of(function)
        if len(listed) != len(outputs) or not all(types):
            raise UnsupportedError("an output is a sequence or a shape, not a tensor")
        ends = [self.output(*end) for end in zip(listed, outputs, types, strict=True)]
        return self.draft.graph(name, ends)

    def owners(self, graph: Graph) -> list[str]:
        """Return the composite of each operator of the graph that `graph` returned.

        An operator outside composites has that of the operator that writes its first input.
        """
        of_name = {self.draft.tensors[i].name: owner for i, owner in self.draft.owners.items()}
        names: dict[int, str] = {}
        for op in graph.operators:
            owner = of_name[graph.tensors[op.outputs[0]].name]
            names[op.outputs[0]] = owner or names.get(op.inputs[0], "")
        return list(names.values())

    def run(self, function: Any) -> None:
        """Translate the bindings of a function, in order."""
        for binding in bindings_of(function):
            if isinstance(binding, relax.MatchCast):
                raise UnsupportedError(f"'{binding.var.name}' has a shape known only at run time")
            self.draft.name = binding.var.name
            self.values[binding.var] = self.bound(binding.value, binding.var)

    def bound(self, expression: Any, variable: Any) -> Any:
        if not isinstance(expression, relax.Call):
            return self.evaluate(expression)
        if isinstance(expression.op, relax.GlobalVar):
            return self.composite(expression, variable)
        try:
            return self.operator(expression, variable)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"'{variable.name}' ({operator_name(expression).removeprefix('relax.')}) "
                f"cannot be imported: {error}"
            ) from None

    def evaluate(self, expression: Any) -> Any:
        """Return the operand that an argument represents."""
        if isinstance(expression, relax.Var):
            if expression not in self.values:  # a size that the module computes
                raise UnsupportedError("its shape is known only at run time")
            return self.values[expression]
        if isinstance(expression, RelaxConstant) and hasattr(expression.value, "numpy"):
            return DraftConstant(np.array(expression.value.numpy()))
        if isinstance(expression, relax.Tuple):
            return tuple(self.evaluate(part) for part in expression.fields)
        if isinstance(expression, relax.TupleGetItem):
            return self.evaluate(expression.tuple_value)[expression.index]
        return expression

    def composite(self, call: Any, variable: Any) -> Operand:
        """Translate a composite to integers, or its operators one by one to floats."""
        function = self.module[call.op]
        self.draft.owner = call.op.name_hint
        try:
            return self.translated_composite(function, call, variable in self.last)
        finally:
            self.draft.owner = ""

    def translated_composite(self, function: Any, call: Any, is_last: bool) -> Operand:
        for parameter, argument in zip(function.params, call.args, strict=True):
            self.values[parameter] = self.evaluate(argument)
        operands = [self.values[parameter] for parameter in function.params]
        is_constant = all(isinstance(operand, DraftConstant) for operand in operands)
        kind = str(function.attrs["Composite"])
        if is_constant or kind == RESCALING:
            return self.inlined(function)
        island = take_apart(function)
        if kind.endswith(FLOAT):
            return self.in_floats(island, function)
        self.draft.name = island.name
        try:
            return self.in_integers(island, is_last)
        except NoIntegerForm as reason:
            # Additions so far stay: later operators may share them, else the graph drops them.
            why = str(reason)
            _LOG.info("'%s' stays float: %s", island.name, reason)
        first = len(self.draft.operators)
        result = self.inlined(function)
        self.explain(first, why)
        return result

    def inlined(self, function: Any) -> Operand:
        """Translate the operators of a composite one by one."""
        self.run(function)
        result = self.evaluate(function.body.body)
        assert isinstance(result, (Value, DraftConstant))
        return result

    def explain(self, first: int, why: str) -> None:
        """Record why the operators from `first` on compute floats."""
        for operator in self.draft.operators[first:]:
            for index in operator.outputs:
                self.in_float[self.draft.tensors[index].name] = why

    def in_floats(self, island: CompositeIsland, function: Any) -> Operand:
        """Translate a composite on floats: a layer with its bias and clamp as one operator."""
        if island.bias is None and island.clamp is None:
            return self.inlined(function)
        self.draft.name = island.name
        result = self.translated(self.site(island))
        assert isinstance(result, Value)
        return result

    def in_integers(self, island: CompositeIsland, is_last: bool) -> Value:
        scale, dtype = quantization(island.quantize)
        if not scale.is_per_tensor:
            raise NoIntegerForm("its result has several scales")
        if dtype == "int16" and any(scale.zero_point):
            raise NoIntegerForm("its int16 result has a zero point that is not 0")
        if dtype not in ("int8", "int16"):
            raise NoIntegerForm(f"its result is {dtype}")
        site = replace(self.site(island), dtype=dtype, scale=scale, is_last=is_last)
        result = self.translated(site)
        assert isinstance(result, Value)
        if result.stands_for != scale:  # operators that only move elements keep the scale
            result = self.draft.rescaled(result, scale, dtype)
        return replace(result, is_real=False)

    def site(self, island: CompositeIsland) -> Site:
        """Return the place of a composite's main operator, on floats."""
        for step in island.arranging:
            self.values[step.var] = self.bound(step.value, step.var)
        shape, dtype = shape_of(island.anchor)
        return Site(
            self.draft,
            island.anchor,
            tuple(self.evaluate(argument) for argument in island.operands),
            shape,
            dtype,
            bias=None if island.bias is None else self.evaluate(island.bias),
            clamp=island.clamp,
            kind=island.kind,
            numbers=island.numbers,
        )

    def translated(self, site: Site) -> Any:
        translate = translators().get(
            f"relax.{site.kind}" if site.kind else operator_name(site.call)
        )
        if translate is None:
            raise UnsupportedError("ethosgen has no such operator")
        return translate(site)

    def operator(self, call: Any, variable: Any) -> Any:
        """Translate an operator outside composites, on floats or by moving elements."""
        name = operator_name(call)
        if name == "relax.quantize":
            return self.quantized(call)
        if name == "relax.dequantize":
            return self.dequantized(call)
        operands = tuple(self.evaluate(argument) for argument in call.args)
        folded = self.folded(call, operands)
        if folded is not None:
            return folded
        shape, dtype = shape_of(variable) if not is_tuple(variable) else ((), "float32")
        before = len(self.draft.operators)
        result = self.translated(Site(self.draft, call, operands, shape, dtype))
        if any(operator.code == "DEQUANTIZE" for operator in self.draft.operators[before:]):
            what = name.removeprefix("relax.").removeprefix("nn.")
            self.explain(before, f"no pattern of quantized operators has its {what}")
        return result

    def folded(
        self, call: Any, operands: tuple[Any, ...]
    ) -> DraftConstant | tuple[DraftConstant, ...] | None:
        """Compute an operator on constants alone with TVM; None if an operand is not constant."""
        known = [
            operand for operand in operands if isinstance(operand, (Value, DraftConstant, tuple))
        ]
        if not known or not all(isinstance(operand, DraftConstant) for operand in known):
            return None
        if operator_name(call) in ("relax.reshape", "relax.permute_dims", "relax.expand_dims"):
            return None  # their translators keep scales
        return compute(call, operands)

    def quantized(self, call: Any) -> Operand:
        operand: Operand = self.evaluate(call.args[0])
        scale, dtype = quantization(call)
        if isinstance(operand, DraftConstant):
            if not scale.is_per_tensor:
                raise UnsupportedError("a constant is quantized with several scales")
            return DraftConstant(quantize(operand.real(), scale, dtype), scale)
        if not scale.is_per_tensor:
            raise UnsupportedError("an activation is quantized with several scales")
        if operand.stands_for == scale and operand.dtype == dtype:
            return replace(operand, is_real=False)
        rescaled = self.draft.rescaled(operand, scale, dtype)
        return replace(rescaled, is_real=False)

    def dequantized(self, call: Any) -> Operand:
        operand: Operand = self.evaluate(call.args[0])
        scale, _ = quantization(call)
        if isinstance(operand, DraftConstant):
            if operand.dtype in _SHIFTED:
                shifted, difference = _SHIFTED[operand.dtype]
                array = (operand.array.astype(np.int32) - difference).astype(shifted)
                operand = DraftConstant(array)
            return replace(operand, scale=scale, is_real=True)
        if operand.scale is None:
            operand = self.requantized(operand, scale)
        theirs = operand.scale
        if theirs is not None and scale not in (theirs, operand.stands_for):
            raise UnsupportedError(
                f"its operand is quantized with {theirs.scale[0]:g} and dequantized with "
                f"{scale.scale[0]:g}: give both the same scale and zero point"
            )
        return replace(operand, is_real=True)

    def requantized(self, operand: Value, scale: Quantization) -> Value:
        """Give integers from outside their quantization; uint8 becomes int8."""
        tensor = self.draft.tensors[operand.tensor]
        if operand.dtype in _SHIFTED:
            signed, difference = _SHIFTED[operand.dtype]
            theirs = replace(scale, zero_point=tuple(z + difference for z in scale.zero_point))
            self.draft.tensors[operand.tensor] = replace(tensor, quantization=theirs)
            return self.draft.rescaled(operand, scale, signed)
        self.draft.tensors[operand.tensor] = replace(tensor, quantization=scale)
        return replace(operand, scale=scale)

    def output(self, result: Any, name: str, dtype: str) -> int:
        """Return the tensor of an output, in logical order and with the user's name and type."""
        if isinstance(result, DraftConstant):
            raise UnsupportedError(f"the output '{name}' is constant")
        self.draft.name = name
        if result.stands_for is not None and not result.is_real:
            result = self.draft.rescaled(result, result.stands_for, result.dtype)
        value = self.draft.real(self.draft.plain(result))
        signed, difference = _SHIFTED.get(dtype, (dtype, 0))
        if value.scale is not None and value.dtype == signed != dtype and not self.is_signed:
            zero_points = tuple(zero + difference for zero in value.scale.zero_point)
            scale = replace(value.scale, zero_point=zero_points)
            value = self.draft.rescaled(value, scale, dtype)
        if value.tensor in self.draft.inputs:
            raise UnsupportedError(f"the output '{name}' is an input as well")
        tensor = self.draft.tensors[value.tensor]
        self.draft.tensors[value.tensor] = replace(tensor, name=name)
        return value.tensor


def _types_of(function: Any) -> list[str]:
    """Return the types of a function's results, "" for anything but a tensor."""
    result = function.ret_ty
    fields = result.fields if hasattr(result, "fields") else [result]
    return [str(field.dtype) if isinstance(field, relax.TensorType) else "" for field in fields]


def last_of(function: Any) -> frozenset[Any]:
    """Return the variables on which only outputs depend, directly or through a dequantize."""
    values = {binding.var: binding.value for binding in bindings_of(function)}
    users: dict[Any, int] = {}
    for value in values.values():
        for argument in getattr(value, "args", ()):
            if isinstance(argument, relax.Var):
                users[argument] = users.get(argument, 0) + 1
    body = function.body.body
    while body in values and not isinstance(values[body], relax.Call):
        body = values[body]  # a tuple, or another name
    waiting = list(body.fields) if isinstance(body, relax.Tuple) else [body]
    last = set()
    while waiting:
        expression = waiting.pop()
        value = values.get(expression)
        if users.get(expression, 0) > 1 or value is None:
            continue
        last.add(expression)
        if operator_name(value) == "relax.dequantize" or isinstance(value, relax.Var):
            waiting.append(value if isinstance(value, relax.Var) else value.args[0])
    return frozenset(last)


def is_tuple(variable: Any) -> bool:
    """Return whether a variable is a tuple."""
    return isinstance(variable.ty, relax.TupleType)


def shape_of(expression: Any) -> tuple[tuple[int, ...], str]:
    """Return the shape and type of an expression; UnsupportedError if a size is open."""
    kind = expression.ty
    if not isinstance(kind, relax.TensorType) or kind.shape is None:
        raise UnsupportedError("its shape is known only at run time")
    return ints(kind.shape.values), str(kind.dtype)


def quantization(call: Any) -> tuple[Quantization, str]:
    """Return scale and type of a quantize or dequantize, unsigned types as signed ones."""
    if not all(isinstance(argument, RelaxConstant) for argument in call.args[1:3]):
        raise UnsupportedError("its scale or zero point is not constant")
    scales, zeros = (argument.value.numpy() for argument in call.args[1:3])
    dtype = str(zeros.dtype)
    difference = 0
    if dtype in _SHIFTED:
        dtype, difference = _SHIFTED[dtype]
    points = tuple(int(zero) - difference for zero in np.ravel(zeros))
    if len(points) == 1:
        points *= np.size(scales)
    axis = int(call.attrs.axis) if np.size(scales) > 1 else 0
    return Quantization(tuple(float(scale) for scale in np.ravel(scales)), points, axis), dtype


def compute(call: Any, operands: tuple[Any, ...]) -> DraftConstant | tuple[DraftConstant, ...]:
    """Compute an operator on constants with TVM on this machine."""
    builder = relax.BlockBuilder()
    arguments = [
        relax.const(operand.real()) if isinstance(operand, DraftConstant) else argument
        for operand, argument in zip(operands, call.args, strict=True)
    ]
    with builder.function("main", []):
        emitted = builder.emit(relax.Call(call.op, arguments, call.attrs, call.ty_args))
        builder.emit_func_output(emitted)
    executable = tvm.compile(builder.get(), target="llvm")
    result = relax.VirtualMachine(executable, tvm.cpu())["main"]()
    if hasattr(result, "numpy"):
        return DraftConstant(result.numpy())
    if not all(hasattr(part, "numpy") for part in result):
        raise UnsupportedError("it computes a shape, not a tensor")
    return tuple(DraftConstant(part.numpy()) for part in result)
