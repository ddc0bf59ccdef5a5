"""Differences in steps, the largest output, and the user's limit."""

from dataclasses import replace

import numpy as np
import pytest

from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.network import Graph, Network, Operator, Quantization, Tensor

SCALE = 0.5


def network(dtype: str = "float32", *, is_quantized: bool = True) -> Network:
    inner = Quantization((SCALE,), (3,)) if is_quantized else None
    tensors = (
        Tensor(0, "x", (1, 4), "int8", inner),
        Tensor(1, "y", (1, 4), dtype),
    )
    operators = (Operator(0, "DEQUANTIZE" if is_quantized else "ABS", (0,), (1,)),)
    return Network("net", (Graph("main", tensors, operators, (0,), (1,)),))


def compared(ours: list[float], theirs: list[float], net: Network | None = None) -> Fidelity:
    def as_output(values: list[float]) -> list[dict[str, np.ndarray]]:
        return [{"y": np.array([values], np.float32)}]

    return compare_fidelity(net or network(), as_output(ours), as_output(theirs), "R", "1", None)


def test_a_step_is_the_scale_of_the_output() -> None:
    fidelity = compared([0.0, 0.5, 1.5, 4.0], [0.0, 0.0, 0.5, 4.0])

    assert (fidelity.elements, fidelity.equal, fidelity.by_one, fidelity.most_steps) == (
        4,
        2,
        1,
        2.0,
    )
    assert fidelity.text() == (
        "2 of 4 outputs equal R 1's, 1 differ by one step, 1 by more, the largest by 2.0, "
        "same largest output in 1 of 1"
    )


@pytest.mark.parametrize(
    ("theirs", "same", "close"),
    [
        ([0.0, 0.0, 0.0, 5.0], 1, 0),
        ([4.5, 0.0, 0.0, 4.0], 0, 1),  # a lead of one step
        ([9.0, 0.0, 0.0, 4.0], 0, 0),
    ],
)
def test_the_largest_output_may_differ_where_its_lead_is_small(
    theirs: list[float], same: int, close: int
) -> None:
    fidelity = compared([0.0, 0.0, 0.0, 4.0], theirs)

    assert (fidelity.rows, fidelity.same_largest, fidelity.close_largest) == (1, same, close)


def test_a_float_output_has_the_steps_of_eight_bits() -> None:
    fidelity = compared([0.0, 1.0, 2.0, 255.0], [0.0, 1.0, 3.0, 255.0], network(is_quantized=False))

    assert (fidelity.equal, fidelity.by_one, fidelity.most_steps) == (3, 1, 1.0)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_a_step_is_finite_where_an_output_is_not(odd: float) -> None:
    """An infinite one would make all finite outputs equal."""
    net = network(is_quantized=False)
    fidelity = compared([odd, 0.0, 9.0, 0.0], [odd, 0.0, 0.0, 255.0], net)

    assert (fidelity.equal, fidelity.most_steps) == (2, 255.0)


def test_a_missing_output_is_not_near() -> None:
    fidelity = compare_fidelity(
        network(), [{}], [{"y": np.zeros((1, 4), np.float32)}], "R", "1", 5.0
    )

    assert fidelity.most_steps == np.inf
    assert not fidelity.passed


@pytest.mark.parametrize(("limit", "passed"), [(None, True), (2.0, True), (1.0, False)])
def test_only_a_limit_decides(limit: float | None, passed: bool) -> None:
    fidelity = replace(compared([0.0, 0.5, 1.5, 4.0], [0.0, 0.0, 0.5, 4.0]), limit=limit)

    assert fidelity.passed is passed


def test_nothing_compared_does_not_pass_a_limit() -> None:
    assert not Fidelity("R", limit=1.0).passed
    assert not Fidelity("R", limit=1.0, skipped="it is not installed").passed
