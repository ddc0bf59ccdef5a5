"""What is known of a plan is used for this plan alone, and never after a difference."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.host.folders import NO_CACHE
from ethosgen.oracle import Oracle
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict import driven, mending
from tests.support.networks import NetworkBuilder

UNCHECKED = PlanSettings(None, OffloadOptions(check=False))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.delenv(NO_CACHE, raising=False)
    monkeypatch.setattr(driven, "cache_folder", lambda: tmp_path)
    return tmp_path / "driven"


def planned(npu: str, scale: float = 0.1, seed: int = 1) -> tuple[Network, Plan]:
    from ethosgen.backend import find_accelerator

    net = NetworkBuilder("n", seed=seed)
    y = net.conv2d(net.input((1, 8, 8, 4)), 8, scale=scale)
    network = parse_network(net.build(y), "n")
    settings = replace(UNCHECKED, accelerator=find_accelerator(npu))
    return network, make_plan(network, settings, Watch())


def test_a_plan_is_known_until_anything_of_it_changes(folder: Path) -> None:
    network, plan = planned("ethos-u55-128")
    assert driven.remembered(network, plan).count is None
    driven.remembered(network, plan).keep(3)
    assert driven.remembered(*planned("ethos-u55-128")).count == 3
    for other in (("ethos-u55-256",), ("ethos-u55-128", 0.2), ("ethos-u55-128", 0.1, 2)):
        assert driven.remembered(*planned(*other)).count is None
    for oracle in ("litert", "tosa"):
        options = replace(plan.options, oracle=oracle)
        assert driven.remembered(network, replace(plan, options=options)).count is None
    assert len([*folder.iterdir()]) == 1


def test_a_damaged_file_and_a_turned_off_cache_are_as_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, plan = planned("ethos-u55-128")
    driven.remembered(network, plan).keep(1)
    (file,) = folder.iterdir()
    file.write_text("x")
    assert driven.remembered(network, plan).count is None
    driven.remembered(network, plan).keep(1)
    monkeypatch.setenv(NO_CACHE, "1")
    assert driven.remembered(network, plan).count is None


def test_the_number_of_files_is_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driven, "MOST_FILES", 2)
    network, plan = planned("ethos-u55-128")
    for count in range(4):
        driven.remembered(network, replace(plan, memory_mode=f"mode {count}")).keep(count)
    assert len([*folder.iterdir()]) == 2


def test_only_a_trial_without_a_difference_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ethosgen.backend import find_accelerator

    net = NetworkBuilder("n", seed=5)
    network = parse_network(net.build(net.conv2d(net.input((1, 8, 8, 4)), 8)), "n")
    settings = PlanSettings(find_accelerator("ethos-u55-128"), OffloadOptions())
    trials = []
    real = mending.differing_at_ends

    def counted(*arguments: object) -> object:
        trials.append(real(*arguments))  # type: ignore[arg-type]
        return trials[-1]

    monkeypatch.setattr(mending, "differing_at_ends", counted)
    first = make_plan(network, settings, Watch())
    again = make_plan(network, settings, Watch())
    assert len(trials) == 1 and first.check is not None and again.check is not None
    assert first.check.driven == again.check.driven == 1
    monkeypatch.setattr(mending, "differing_at_ends", lambda *_: (1, {0: "it differs"}))
    for file in folder.iterdir():
        file.unlink()
    make_plan(network, settings, Watch())
    assert not [*folder.iterdir()]


def test_no_oracle_is_asked_for_that_may_not_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(Oracle, "version", property(lambda self: asked.append(self.name) or "1"))
    driven.remembered(*planned("ethos-u55-128"))
    assert asked == ["tflm", "litert"]
