"""Every parameter of the functions for Python is in their docstrings, and nothing else is."""

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import ethosgen
from ethosgen import api
from ethosgen.api.runs import VerifyOptions

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: value
    for name in (*api.__all__, "place", "sweep")
    if inspect.isfunction(value := getattr(ethosgen if name in ("place", "sweep") else api, name))
}
OPTIONS = [api.FirmwareOptions, api.SampleOptions, api.ComparisonOptions, api.AccuracyOptions]
VALUES = [api.OffloadOptions, api.Schedule, api.Run]


def documented(text: str) -> dict[str, str]:
    """Return the names under "Args:" of a docstring, with what it says of them."""
    (_, *rest) = inspect.cleandoc(text).split("\nArgs:\n")
    parts = re.split(r"^ {4}(?=\S)", rest[0], flags=re.M)[1:] if rest else []
    return {name: said.strip() for name, said in (part.split(":", 1) for part in parts)}


def parameters(function: Callable[..., Any]) -> list[str]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    known = inspect.signature(function).parameters.values()
    return [f"{stars.get(parameter.kind, '')}{parameter.name}" for parameter in known]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_documents_its_parameters_in_their_order(name: str) -> None:
    told = documented(FUNCTIONS[name].__doc__ or "")
    assert list(told) == parameters(FUNCTIONS[name])
    assert all(len(said) > 8 and said.endswith((".", ".)")) for said in told.values()), told


def fields_with_a_text(kind: type) -> set[str]:
    """Return the fields of a class that a string follows."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id
        for field, text in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


@pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)
def test_an_option_has_a_text(kind: type) -> None:
    assert set(kind.__annotations__) == fields_with_a_text(kind)


def test_verify_has_no_option_of_its_own() -> None:
    firmware, samples = api.FirmwareOptions.__annotations__, api.SampleOptions.__annotations__
    assert set(VerifyOptions.__annotations__) == {*firmware, *samples}


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_a_field_of_a_value_is_documented(kind: type) -> None:
    fields = {field.name for field in dataclasses.fields(kind)}
    named = set(re.findall(r"`(\w+)`", kind.__doc__ or ""))
    assert fields <= named | fields_with_a_text(kind) | set(documented(kind.__doc__ or ""))


def test_the_check_finds_what_is_missing() -> None:
    def wrong(first: int, second: int) -> None:
        """Do it.

        Args:
            first: the first one.
        """

    assert list(documented(wrong.__doc__ or "")) == ["first"] != parameters(wrong)
