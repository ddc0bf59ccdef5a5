"""What accelerators cost: formulas may depend on Helium, and a call's start on its operator."""

from pathlib import Path

import pytest

from ethosgen import aot, frontend
from ethosgen.backend.wrapped.accelerator import load_wrapped
from ethosgen.values.extension import Extension
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support.toy_accelerator import TOML, changed, sums_file, write_folder

BY_CORE = changed(
    'cycles = "output_elements"',
    'cycles = "6 if has_helium else 60"\nstart = "output_elements + 1"',
)


@pytest.mark.parametrize(("has_helium", "cycles"), [(True, 6), (False, 60)])
def test_a_formula_may_depend_on_helium(has_helium: bool, cycles: int, tmp_path: Path) -> None:
    network = frontend.read(sums_file(tmp_path / "sums.tflite"))
    toy = load_wrapped(str(write_folder(tmp_path / "toy", BY_CORE))).beside(has_helium)
    offers = toy.offers(plan_cpu_only(network, IoStyle.ARENA), {}).values()
    taken = [(offer.cycles, offer.start) for offer in offers if not offer.refusal]
    assert taken == [(cycles, 7), (cycles, 7)]


def test_a_predicate_may_need_helium(tmp_path: Path) -> None:
    toml = changed("where = [", 'where = [\n    "has_helium",', TOML)
    network = frontend.read(sums_file(tmp_path / "sums.tflite"))
    toy = load_wrapped(str(write_folder(tmp_path / "toy", toml)))
    plan = plan_cpu_only(network, IoStyle.ARENA)
    assert not all(offer.refusal for offer in toy.offers(plan, {}).values())
    refusals = {offer.refusal for offer in toy.beside(has_helium=False).offers(plan, {}).values()}
    assert "has_helium is not true (toy, line 11)" in refusals


def test_our_kernels_cost_more_without_helium(tmp_path: Path) -> None:
    graph = frontend.read(sums_file(tmp_path / "sums.tflite")).graph
    for operator in graph.operators:
        with_helium, without = (
            aot.cpu_cycles(operator, graph, extension)
            for extension in (Extension.HELIUM, Extension.NONE)
        )
        assert with_helium is not None and without is not None and without >= with_helium
