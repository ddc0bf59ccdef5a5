"""evidence/kernels.md is what the benchmark by operator writes, and its figures are whole."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bench.shapes import __main__ as command
from bench.shapes import data, page
from bench.shapes.all import cases, fresh, shapes
from bench.shapes.data import CLANG, CMSIS_NN, CYCLES, FASTEST, OURS, REFERENCE
from bench.shapes.ours import CORES, SAMPLES, golden, measure, samples_of
from bench.shapes.plot import draw
from bench.shapes.published import NETWORKS, STREAMING_WINDOWS
from bench.shapes.shape import FLOAT, FRESH, INT8, INT16, conv
from bench.shapes.summary import summarize, worst
from ethosgen import frontend
from tests.support.drawings import marks, texts
from tests.support.needs import needs_extra
from tests.support.networks import NetworkBuilder


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return data.load()


def test_the_page_is_what_the_bench_writes(results: dict[str, Any]) -> None:
    assert page.PAGE.read_text() == page.page(results), "run python -m bench.shapes --render"


@needs_extra("plot")
def test_the_plot_shows_what_was_measured(results: dict[str, Any]) -> None:
    """Another Matplotlib may write other bytes, but the same text and as many dots."""
    rows = [row for row in data.rows(results) if row.dtype == INT8]
    plot, drawn = page.PLOT.read_bytes(), draw(rows)
    assert texts(plot) == texts(drawn), "run python -m bench.shapes --render"
    drawn_rows = [(row, core) for row in rows for core in CORES if row.figure(core, OURS)]
    compared = [(row.family, core) for row, core in drawn_rows if row.rival(core)]
    means, dots = len(set(compared)), len(compared)
    assert marks(plot, "fill: #8aa9d0") + marks(plot, "fill: #ffffff; stroke: #555555") == dots
    assert marks(plot, "fill: #111111") == means
    assert marks(plot) == marks(drawn)


def test_every_shape_of_int8_was_measured_and_nothing_differs(results: dict[str, Any]) -> None:
    known = {row.name: row for row in data.rows(results)}
    drawn = {case.name for case in cases(seed=results[FRESH])}
    assert {case.name for case in cases(INT8)} <= known.keys()
    assert known.keys() <= {case.name for case in cases()} | drawn
    assert len(shapes()) >= 300
    for row in known.values():
        ours = [row.figure(core, OURS) for core in CORES]
        assert any(ours)
        assert all(figure.elements and not figure.mismatches for figure in ours if figure), row.name


def test_a_fresh_draw_is_new_and_can_be_repeated() -> None:
    stored = {shape.name for shape in shapes()}
    first, again, other = ([shape.name for shape in fresh(seed)] for seed in (5, 5, 6))
    assert first == again != other
    assert len(first) == len(stored) // 3 and not stored & {*first, *other}
    assert {case.shape.origin for case in cases(INT8, seed=5)} == {FRESH}


def test_a_new_draw_takes_the_place_of_the_last_one(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    drawn = {name for name, row in changed["cases"].items() if row["origin"] == FRESH}
    data.draw_afresh(changed, results[FRESH])
    assert drawn and drawn <= changed["cases"].keys()
    data.draw_afresh(changed, results[FRESH] + 1)
    assert changed["cases"].keys() == results["cases"].keys() - drawn
    assert changed[FRESH] == results[FRESH] + 1


def test_layers_in_which_cmsis_nn_is_wrong_are_named(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    name = next(iter(changed["cases"]))
    values = [7, 1, 1, 3, 9, 0, 0, 7]
    measured = {"core": CORES[0], "whose": CLANG, "how": "", "empty": [0] * 8}
    data.add_theirs(changed, measured | {"cases": {name: values}})
    assert f"\n- {name}: 3 of " in page.page(changed)


def test_reference_kernels_on_the_board_equal_those_of_the_oracle(results: dict[str, Any]) -> None:
    """Those of integers: GCC fuses multiplications and additions of floats there."""
    known = [row for row in data.rows(results) if row.dtype != FLOAT]
    compared = [row.figure(core, REFERENCE) for row in known for core in CORES]
    assert sum(figure.elements for figure in compared if figure) > 0
    assert not sum(figure.mismatches for figure in compared if figure)


def test_figures_of_single_layers_add_up_to_those_of_a_network(results: dict[str, Any]) -> None:
    """TFLM takes 1,784,858 instructions for DS-CNN, with an interpreter, and CMSIS-NN at -O3."""
    known = {(row.family, row.sizes): row for row in data.rows(results) if row.dtype == INT8}
    first, depthwise, point, *rest = (
        known[layer.family, layer.sizes].figure(CORES[0], CMSIS_NN) for layer in NETWORKS["ds-cnn"]
    )
    assert first and depthwise and point
    total = first.instructions + 4 * (depthwise.instructions + point.instructions)
    total += sum(figure.instructions for figure in rest if figure)
    assert total == pytest.approx(1_784_858, rel=0.01)


def test_streaming_windows_are_among_the_shapes() -> None:
    names = {shape.name for shape in shapes() if shape.origin == "streaming-keywords"}
    for window in STREAMING_WINDOWS:
        for channels in (40, 128):
            assert f"depthwise kx1, 1xk {window}x1x{channels}_k{window}x1_valid" in names


def test_shapes_are_the_same_each_time() -> None:
    some = cases()[::101]
    assert [case.file for case in some] == [case.file for case in some]
    assert len({case.name for case in cases()}) == len(cases())
    assert {case.dtype for case in cases()} == {INT8, INT16, FLOAT}


def test_a_layer_in_groups_and_one_of_floats_are_what_they_say() -> None:
    layer = conv((4, 4, 8), 6, (3, 3), groups=2)
    net = NetworkBuilder("grouped")
    layer.build(net, FLOAT)
    assert layer.family == "convolution in groups"
    assert net.tensors[1].shape == (6, 3, 3, 4) and net.tensors[1].dtype == FLOAT


def test_summary_takes_the_geometric_mean_of_those_compared(results: dict[str, Any]) -> None:
    rows = [row for row in data.rows(results) if row.dtype == INT8]
    some = [row for row in rows if row.figure(CORES[0], CMSIS_NN)]
    first, second = some[0].ratio(CORES[0], CMSIS_NN), some[1].ratio(CORES[0], CMSIS_NN)
    summary = summarize(some[:2], CORES[0], CMSIS_NN)
    assert summary and first and second
    assert summary.mean == pytest.approx((first * second) ** 0.5)
    assert summarize(some[:2], "cortex-m0", CMSIS_NN) is None
    top = worst(rows, CORES[0], 3)
    assert len(top) == 3 and top[0].figure(CORES[0], OURS) is not None


def test_interpreter_is_taken_off_theirs(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    name = next(iter(changed["cases"]))
    stored = changed["cases"][name][CORES[0]][CMSIS_NN]
    empty = changed["theirs"][CORES[0]][CMSIS_NN]["empty"]
    row = next(data.rows(changed))
    figure = row.figures[CORES[0]][CMSIS_NN]
    assert (
        figure.instructions == stored[0] - empty[0]
        and figure.code == stored[data.COLUMNS.index("code")]
    )
    of_one = {"empty": [0] * 6, "cases": {name: [7] * 6}}
    data.add_theirs(changed, {"core": CORES[0], "whose": CMSIS_NN, "how": ""} | of_one)
    row = next(data.rows(changed))
    assert row.figures[CORES[0]][CMSIS_NN].instructions == 7


def test_the_fastest_build_is_the_rival_in_cycles_and_in_instructions(
    results: dict[str, Any],
) -> None:
    """A record has instructions, bytes, ..., and since there are cycles, those last."""
    changed = copy.deepcopy(results)
    name = next(iter(changed["cases"]))
    of_one = {OURS: (50, 500), CMSIS_NN: (100, 1000), CLANG: (200, 800)}
    for whose, (instructions, cycles) in of_one.items():
        values = [instructions, 1, 1, 0, 1, 0, 0, cycles]
        if whose == OURS:
            changed["cases"][name][CORES[0]][whose] = values
        else:
            measured = {"core": CORES[0], "whose": whose, "how": "", "empty": [0] * 8}
            data.add_theirs(changed, measured | {"cases": {name: values}})
    row = next(data.rows(changed))
    assert row.ratio(CORES[0], FASTEST, CYCLES) == pytest.approx(500 / 800)
    assert row.ratio(CORES[0], FASTEST) == pytest.approx(50 / 100)
    summary = summarize([row], CORES[0], FASTEST, CYCLES)
    assert summary and summary.mean == pytest.approx(500 / 800)
    assert worst([row], CORES[0], 1, CYCLES) == [row]
    text = page.page(changed)
    assert "LLVM's model of the Cortex-M55" in text and "| 500 | 1,000 | 800 | 0.62 |" in text


def test_records_without_cycles_stay_valid(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    stored = next(iter(changed["cases"].values()))[CORES[0]]
    stored[OURS] = stored[OURS][:6]
    row = next(data.rows(changed))
    figure = row.figure(CORES[0], OURS)
    assert figure and figure.cycles is None and figure.instructions == stored[OURS][0]
    assert row.figure(CORES[0], OURS, CYCLES) is None
    assert row.ratio(CORES[0], FASTEST, CYCLES) is None
    ratios = [ratio for build in (CMSIS_NN, CLANG) if (ratio := row.ratio(CORES[0], build))]
    assert row.ratio(CORES[0], FASTEST) == max(ratios)


def test_floats_have_no_kernel_of_cmsis_nn(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    row = next(iter(changed["cases"].values()))
    row["dtype"] = FLOAT
    assert next(data.rows(changed)).figure(CORES[0], CMSIS_NN) is None


def test_results_are_stored_a_line_for_each_case(
    results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "RESULTS", tmp_path / "kernels.json")
    assert data.load()["cases"] == {}
    data.store(results)
    assert data.load() == results
    lines = data.RESULTS.read_text().splitlines()
    assert sum('"family"' in line for line in lines) == len(results["cases"])


def test_networks_are_written_for_other_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = cases(INT8)[:2]
    monkeypatch.setattr(command, "cases", lambda seed: some)
    command.export(tmp_path / "all")
    index = json.loads((tmp_path / "all" / "index.json").read_text())
    assert index["cases"] == [case.name for case in some]
    network = frontend.read(tmp_path / "all" / "0001.tflite")
    inputs = (tmp_path / "all" / "0001.bin").read_bytes()
    assert len(inputs) == SAMPLES * sum(tensor.bytes for tensor in network.inputs)
    assert len(golden(network)) == len(samples_of(network)) == SAMPLES


LOOSE = pytest.mark.loose_stack(
    "the sums of the layer in int16 are not in parts (multiply_parts())"
)


@pytest.mark.compiler
@pytest.mark.qemu
@pytest.mark.parametrize(
    "core", [pytest.param(core, marks=[LOOSE] if core == "cortex-m33" else []) for core in CORES]
)
def test_a_few_shapes_run(core: str) -> None:
    some = [*cases(INT8)[4:6], cases(INT16)[4]]
    measured = list(measure(some, core))
    assert len(measured) == len(some)
    for figures in measured:
        assert figures["elements"] and not figures["mismatches"]
        assert figures["instructions"] > 0
        assert figures["loaded"] > figures["outputs"] > 0 < figures["stored"]
        assert 0 < figures["code"] < 100_000
