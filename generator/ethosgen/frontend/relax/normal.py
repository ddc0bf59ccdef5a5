"""Brings a Relax module into the form that the patterns expect."""

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Constant

from ethosgen.values.errors import UnsupportedError

_MOVES = frozenset({"relax.reshape", "relax.permute_dims", "relax.expand_dims"})
"""Operators that arrange a constant for the operator that uses it."""


def bindings_of(function: Any) -> Iterator[Any]:
    """Yield the bindings of a function without control flow; UnsupportedError for others."""
    if not isinstance(function.body, relax.SeqExpr):
        raise UnsupportedError(
            "the function is not in A-normal form; run relax.transform.Normalize"
        )
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.If):
                raise UnsupportedError("the network has an If, which ethosgen does not import")
            yield binding


def operator_name(expression: Any) -> str:
    """Return the name of a call's operator, "" for anything else."""
    return getattr(getattr(expression, "op", None), "name", "")


def normalized(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with a dequantize for each use, and without dead code.

    A dequantized value with several users would be in no composite: each user gets its own.
    Constants are repeated likewise.
    """
    return _Separation(module).module()


class _Separation:
    """Emits main again."""

    def __init__(self, module: tvm.IRModule) -> None:
        self.function = module["main"]
        self.others = [(v, f) for v, f in module.functions_items() if v.name_hint != "main"]
        self.builder = relax.BlockBuilder()
        self.replaced: dict[Any, Any] = {}
        self.repeated: dict[Any, Any] = {}

    def module(self) -> tvm.IRModule:
        function, builder = self.function, self.builder
        with builder.function("main", list(function.params), attrs=dict(function.attrs or {})):
            with builder.dataflow():
                for binding in bindings_of(function):
                    self.bind(binding)
                result = builder.emit_output(self.own(function.body.body))
            builder.emit_func_output(result)
        normal = builder.get()
        for variable, other in self.others:
            normal.update_func(variable, other)
        return relax.transform.DeadCodeElimination(["main"])(normal)

    def bind(self, binding: Any) -> None:
        value = binding.value
        if isinstance(value, relax.Call):
            if self.is_repeatable(value):
                self.repeated[binding.var] = value
                return
            value = self.copied(value)
        elif isinstance(value, relax.TupleGetItem):
            value = relax.TupleGetItem(self.own(value.tuple_value), value.index)
        else:
            self.replaced[binding.var] = self.own(value)
            return
        self.replaced[binding.var] = self.builder.emit(value, binding.var.name)

    def is_repeatable(self, call: Any) -> bool:
        name = operator_name(call)
        if name == "relax.dequantize":
            return True
        return name in _MOVES and self.is_constant(call.args[0])

    def is_constant(self, expression: Any) -> bool:
        if isinstance(expression, Constant):
            return True
        call = self.repeated.get(expression) if isinstance(expression, relax.Var) else None
        return call is not None and self.is_constant(call.args[0])

    def copied(self, call: Any) -> Any:
        arguments = [self.own(argument) for argument in call.args]
        return relax.Call(call.op, arguments, call.attrs, call.ty_args)

    def own(self, expression: Any) -> Any:
        """Return an argument in the new function, with a dequantize of its own."""
        if isinstance(expression, relax.Tuple):
            return relax.Tuple([self.own(field) for field in expression.fields])
        if not isinstance(expression, relax.Var):
            return expression
        if expression in self.repeated:
            return self.builder.emit(self.copied(self.repeated[expression]), expression.name)
        return self.replaced.get(expression, expression)
