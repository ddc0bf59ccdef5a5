"""Predicates and formulas of a declaration: a small part of Python's expressions, safely evaluated.

Numbers, texts in quotes, names, names with [an index], + - * / // % **, comparisons, and, or, not,
"x if c else y", in (a, b), and the functions of FUNCTIONS.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up

Value = bool | int | float | str | tuple[int, ...]

LONGEST = 1000
"""Most characters of an expression."""
MOST_POWER = 64
"""Most exponent."""


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > MOST_POWER or abs(base) > 1 << MOST_POWER:
        raise ValueError("the power is too large")
    return base**exponent


def _round_up(value: Any, to: Any) -> int:
    return int(rounded_up(value, to))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round_up": _round_up,
}
"""The functions by name; round_up(x, 16) is the next multiple of 16."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class AbsentError(Exception):
    """A name that these operators do not have: a bias, a height."""


class Expression:
    """One expression; ValueError names the part of the text that is not allowed."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"an expression has at most {counted(LONGEST, 'character')}")
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"'{text}' is not an expression") from None
        self.ordered_names = tuple(dict.fromkeys(_names(self._tree, text)))
        self.names = frozenset(self.ordered_names)

    @property
    def whole_numbers(self) -> frozenset[int]:
        """The whole numbers in it."""
        constants = (n.value for n in ast.walk(self._tree) if isinstance(n, ast.Constant))
        return frozenset(n for n in constants if isinstance(n, int) and not isinstance(n, bool))

    def evaluate(self, terms: Mapping[str, Value]) -> Any:
        """Return the value; AbsentError for a name without one, ValueError for bad arithmetic."""
        try:
            return _value(self._tree, terms)
        except (TypeError, ArithmeticError, ValueError, IndexError) as error:
            raise ValueError(f"'{self.text}' has no value: {error}") from None


def _names(node: ast.expr, text: str) -> list[str]:
    """Return the names in an expression; ValueError for invalid syntax."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        return []
    if isinstance(node, ast.Name):
        return [] if node.id in FUNCTIONS else [node.id]
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords:
            raise ValueError(
                f"'{ast.unparse(node)}' calls no known function; there are: {', '.join(FUNCTIONS)}"
            )
    elif not isinstance(
        node,
        ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Tuple | ast.Subscript,
    ):
        raise ValueError(f"'{ast.unparse(node)}' is not allowed in an expression")
    for part in ast.iter_child_nodes(node):
        unknown = isinstance(part, ast.operator) and type(part) not in _BINARY
        unknown |= isinstance(part, ast.unaryop) and type(part) not in _UNARY
        unknown |= isinstance(part, ast.cmpop) and type(part) not in _COMPARE
        if unknown or isinstance(part, ast.Slice | ast.Starred):
            raise ValueError(f"'{text}' has an operator that is not allowed")
    parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    return [name for part in parts for name in _names(part, text)]


def _value(node: ast.expr, terms: Mapping[str, Value]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in terms:
            raise AbsentError(node.id)
        return terms[node.id]
    return _EVALUATE[type(node)](node, terms)


def _call(node: Any, terms: Mapping[str, Value]) -> Any:
    return FUNCTIONS[node.func.id](*(_value(item, terms) for item in node.args))


def _either(node: Any, terms: Mapping[str, Value]) -> Any:
    return _value(node.body if _value(node.test, terms) else node.orelse, terms)


def _joined(node: Any, terms: Mapping[str, Value]) -> bool:
    parts = (_value(item, terms) for item in node.values)
    return all(parts) if isinstance(node.op, ast.And) else any(parts)


def _binary(node: Any, terms: Mapping[str, Value]) -> Any:
    return _BINARY[type(node.op)](_value(node.left, terms), _value(node.right, terms))


def _compared(node: ast.Compare, terms: Mapping[str, Value]) -> bool:
    left = _value(node.left, terms)
    for kind, item in zip(node.ops, node.comparators, strict=True):
        right = _value(item, terms)
        if not _COMPARE[type(kind)](left, right):
            return False
        left = right
    return True


_EVALUATE: Mapping[type[ast.expr], Callable[[Any, Mapping[str, Value]], Any]] = {
    ast.Tuple: lambda node, terms: tuple(_value(item, terms) for item in node.elts),
    ast.Subscript: lambda node, terms: _value(node.value, terms)[_value(node.slice, terms)],
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.UnaryOp: lambda node, terms: _UNARY[type(node.op)](_value(node.operand, terms)),
    ast.IfExp: _either,
    ast.BoolOp: _joined,
    ast.Compare: _compared,
}
