"""Einsum, as products of matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import relax

from ethosgen.frontend.onnx.converters import Node
from ethosgen.values.errors import UnsupportedError

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class _Term:
    """A value of Einsum, with a letter for each axis."""

    value: Any
    letters: str


class _Einsum:
    """One Einsum: `sizes` are those of the axes, by their letters."""

    def __init__(self, node: Node) -> None:
        self._node = node
        equation = node.text("equation", "").replace(" ", "")
        left, arrow, right = equation.partition("->")
        shapes = [node.shape(number) for number in range(len(node.inputs))]
        free = [letter for letter in _LETTERS if letter not in equation]
        written = left.split(",")
        ranks = [
            len(shape) - len(letters.replace("...", "")) if "..." in letters else 0
            for shape, letters in zip(shapes, written, strict=True)
        ]
        more = "".join(free[: max(ranks)])
        terms = [
            letters.replace("...", more[len(more) - rank :])
            for letters, rank in zip(written, ranks, strict=True)
        ]
        once = "".join(sorted(c for c in set("".join(terms)) if "".join(terms).count(c) == 1))
        self.result = right.replace("...", more) if arrow else more + once.translate(_without(more))
        self.sizes = self._sizes(terms, shapes)
        values = zip(node.inputs, terms, strict=True)
        self.terms = [_Term(value, letters) for value, letters in values]

    def _sizes(self, terms: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for letters, shape in zip(terms, shapes, strict=True):
            if len(set(letters)) != len(letters):
                raise UnsupportedError(f"its equation has an axis twice in '{letters}'")
            for letter, size in zip(letters, shape, strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise UnsupportedError(f"its axis {letter} is broadcast")
        return sizes

    def emit(self, value: Any) -> Any:
        return self._node.builder.normalize(value)

    def converted(self) -> Any:
        """Join the operands from the left; each step sums the axes that no later operand needs."""
        joined = self.terms[0]
        for place, term in enumerate(self.terms[1:], 2):
            later = {*self.result, *"".join(term.letters for term in self.terms[place:])}
            joined = self.product(
                self.summed(joined, later | set(term.letters)),
                self.summed(term, later | set(joined.letters)),
                later,
            )
        return self.permuted(self.summed(joined, set(self.result)), self.result)

    def summed(self, term: _Term, wanted: set[str]) -> _Term:
        """Sum the axes that nothing else has."""
        axes = [i for i, letter in enumerate(term.letters) if letter not in wanted]
        if not axes:
            return term
        left = "".join(letter for letter in term.letters if letter in wanted)
        return _Term(self.emit(relax.op.sum(term.value, axes)), left)

    def permuted(self, term: _Term, letters: str) -> Any:
        if letters == term.letters:
            return term.value
        axes = [term.letters.index(letter) for letter in letters]
        return self.emit(relax.op.permute_dims(term.value, axes))

    def reshaped(self, value: Any, *parts: Sequence[str]) -> Any:
        """Give each letter of the first part its axis, and each other part one for all."""
        shape = [self.sizes[letter] for letter in parts[0]]
        shape += [prod(self.sizes[letter] for letter in part) for part in parts[1:]]
        if [len(part) for part in parts[1:]] == [1] * (len(parts) - 1):
            return value
        return self.emit(relax.op.reshape(value, shape))

    def product(self, first: _Term, second: _Term, later: set[str]) -> _Term:
        """Multiply two operands, as matrices in the axes that only one of them has."""
        both = [letter for letter in first.letters if letter in second.letters]
        batch = "".join(letter for letter in both if letter in later)
        inner = "".join(letter for letter in both if letter not in later)
        rows = "".join(letter for letter in first.letters if letter not in both)
        columns = "".join(letter for letter in second.letters if letter not in both)
        left = self.permuted(first, batch + rows + inner)
        right = self.permuted(second, batch + inner + columns)
        left = self.reshaped(left, batch, rows, inner)
        right = self.reshaped(right, batch, inner, columns)
        operator = relax.op.matmul if inner else relax.op.multiply
        expression = self.emit(operator(left, right))
        letters = batch + rows + columns
        if (len(rows), len(columns)) != (1, 1):
            expression = self.emit(
                relax.op.reshape(expression, [self.sizes[letter] for letter in letters])
            )
        return _Term(expression, letters)


def _without(letters: str) -> dict[int, None]:
    return dict.fromkeys(map(ord, letters))


def einsum(node: Node) -> Any:
    """Convert to products of matrices, with permuted and summed axes."""
    return _Einsum(node).converted()
