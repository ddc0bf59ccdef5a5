"""The choice of layers with int16 results, on figures of networks that exist only here."""

import re
from collections.abc import Sequence

import pytest

from ethosgen.quantization.mixing import MixtureBudget, mixture
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.quantization import Mixture, change_text

LOST = {"a": 0.08, "b": 0.05, "c": 0.03, "d": 0.0}
"""What each layer's int8 loses of the samples."""
EXTRA_MS = {"a": 4.0, "b": 1.0, "c": 1.0, "d": 0.1}
"""What each layer's int16 takes more."""
RATIOS = {"a": 10.0, "b": 12.0, "c": 15.0, "d": 60.0}
"""The outputs' ratio with a layer alone in int8."""


def loss(wide: Sequence[str]) -> float:
    return sum(lost for name, lost in LOST.items() if name not in wide)


def ms(wide: Sequence[str]) -> float:
    return 2.0 + sum(EXTRA_MS[name] for name in wide)


def ratios(choices: list[list[str]]) -> list[float]:
    kept = [next(name for name in LOST if name not in choice) for choice in choices]
    return [RATIOS[name] for name in kept]


def choose(max_loss: float, max_ms: float | None) -> Mixture:
    return mixture([*"dcba"], MixtureBudget(max_loss, max_ms), loss(()), ratios, loss, ms)


@pytest.mark.parametrize(
    ("max_loss", "max_ms", "wide", "milliseconds"),
    [
        (0.2, 2.0, (), 2.0),  # int8 suffices
        (0.1, 6.0, ("a",), 6.0),  # the fewest layers fit
        (0.1, 5.9, ("b", "c"), 4.0),  # they do not: two that cost less
        (0.12, 5.9, ("b",), 3.0),
        (0.0, 8.0, ("a", "b", "c"), 8.0),  # a layer that loses nothing stays int8
    ],
)
def test_a_budget_of_time_decides_which_layers_become_int16(
    max_loss: float, max_ms: float, wide: tuple[str, ...], milliseconds: float
) -> None:
    mixed = choose(max_loss, max_ms)
    assert mixed.wide == wide
    assert (mixed.ms_int8, mixed.ms) == (2.0, milliseconds)
    assert mixed.loss == pytest.approx(loss(wide))


def test_without_a_budget_of_time_none_is_estimated() -> None:
    mixed = choose(0.1, None)
    assert mixed.wide == ("a",)
    assert mixed.ms is mixed.ms_int8 is mixed.max_ms is None


@pytest.mark.parametrize(
    ("max_loss", "max_ms", "said"),
    [
        (
            0.05,
            5.0,
            "--max-loss 5.00% and --max-ms 5 cannot be met together; the nearest choices: int16 in "
            "2 layers with 3.00% lost and ≈ 7 ms, or int16 in 3 layers with 8.00% lost and "
            "≈ 4.1 ms; ",
        ),
        (
            0.05,
            2.05,
            "int16 in 2 layers with 3.00% lost and ≈ 7 ms, or int8 everywhere with 16.00% lost and "
            "≈ 2 ms; ",
        ),
        (
            0.2,
            1.5,
            "--max-ms 1.5 cannot be met: int8 everywhere already takes ≈ 2 ms (with 16.00% lost)",
        ),
    ],
)
def test_the_nearest_choices_are_named_if_none_keeps_both(
    max_loss: float, max_ms: float, said: str
) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        choose(max_loss, max_ms)


def test_a_gain_is_not_a_negative_loss() -> None:
    assert [change_text(lost) for lost in (0.0025, 0.0, -0.0025)] == [
        "0.25% lost",
        "0.00% lost",
        "0.25% gained",
    ]
