"""Stored costs: each core with a model has a pace."""

from ethosgen.cycles.models import MODELS
from ethosgen.cycles.pace import PACE


def test_each_core_with_a_model_has_a_pace() -> None:
    assert PACE.keys() == MODELS.keys()
    assert all(0.5 < pace < 4 for pace in PACE.values())
