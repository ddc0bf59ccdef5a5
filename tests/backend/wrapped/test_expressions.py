"""Predicates and formulas: what they compute, and what is refused."""

from typing import Any

import pytest

from ethosgen.backend.wrapped.expressions import AbsentError, Expression, Value

TERMS: dict[str, Value] = {"h": 7, "w": 5, "padding": "SAME", "shape": (1, 7, 5, 3), "deep": True}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("h * w + 1", 36),
        ("-h // 2", -4),
        ("h / 2", 3.5),
        ("(h + 15) // 16 * 16", 16),
        ("round_up(h, 4) + round_up(8, 4)", 16),
        ("2 ** 5 % 7", 4),
        ("padding == 'SAME' and not h > w + 2", True),
        ("h == 1 or deep", True),
        ("w < h <= 7", True),
        ("w in (1, 3, 5)", True),
        ("padding not in ('VALID',)", True),
        ("shape[1] if deep else shape[-1]", 7),
        ("max(h, w) - min(h, w) + abs(-1) + ceil(1.5) + floor(1.5)", 6),
        ("log2(8)", 3.0),
    ],
)
def test_it_computes(text: str, value: Any) -> None:
    assert Expression(text).evaluate(TERMS) == value


def test_it_names_what_it_reads() -> None:
    assert Expression("max(h, shape[0]) + depth").names == {"h", "shape", "depth"}
    with pytest.raises(AbsentError, match="depth"):
        Expression("depth + 1").evaluate(TERMS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h +", "is not an expression"),
        ("h = 1", "is not an expression"),
        ("__import__('os')", "calls no known function"),
        ("h.real", "is not allowed"),
        ("[h]", "is not allowed"),
        ("lambda: 1", "is not allowed"),
        ("h << 2", "an operator that is not allowed"),
        ("shape[0:1]", "not allowed"),
        ("f'{h}'", "is not allowed"),
        ("1" * 2000, "at most 1,000 characters"),
        ("(" * 300 + "1" + ")" * 300, "is not an expression"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Expression(text)


@pytest.mark.parametrize("text", ["h / 0", "shape[9]", "padding + 1", "9 ** 65", "log2(0)"])
def test_arithmetic_without_a_value_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"has no value"):
        Expression(text).evaluate(TERMS)
