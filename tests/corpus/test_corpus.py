"""The NPU model against both oracles: a seeded part of the corpus, and the table that it makes."""

import copy
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from ethosgen.backend.ethosu.offload.errata_table import ERRATA, STREAM_ERRATA
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.values.errors import EthosgenError
from tests import ROOT
from tests.corpus import conditions, coverage, page, results
from tests.corpus.__main__ import CASES
from tests.corpus.choices import seeded
from tests.corpus.damage import WAYS, survivors
from tests.corpus.draft import Case, Draft
from tests.corpus.expectation import Inquiry
from tests.corpus.known import KNOWN, Known
from tests.corpus.oracles import ask
from tests.corpus.registry import OPERATORS, ROWS, products_of
from tests.corpus.rounding import rescaled
from tests.corpus.settings import NPUS, PRODUCTS, Setting
from tests.corpus.shrink import cases, run_once
from tests.corpus.site import OperatorSite, scale_of
from tests.corpus.trial import (
    Key,
    Run,
    case_of,
    explain_trials,
    judge,
    make_samples,
    run_case,
    run_keys,
    setting_of,
)
from tests.corpus.witnesses import FOUND
from tests.support.fresh import fresh_seed

SEED = 7000
SEEDS = 10_000_000
FRESH = 20
PARTS = 8
NEW_ON_U85 = (
    "resize-nearest",
    "reduce-dropped-axis-padding",
    "comparison-rounding",
    "order-int16",
    "div-stored",
    "div-stored-zero",
)
"""Known differences that U55 and U65 do not have."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_network_differs_without_a_known_reason(part: int) -> None:
    """One network of each row, the products in turn."""
    keys = [Key(*row, SEED) for row in ROWS[part::PARTS]]
    trials = [
        trial
        for turn, product in enumerate(NPUS)
        for trial in run_keys(keys[turn :: len(NPUS)], [product])
    ]
    assert sum(trial.where == "npu" for trial in trials) > len(trials) / 2
    assert not [text for trial in trials for text in trial.unexpected]


@pytest.mark.slow
def test_no_fresh_network_differs_without_a_known_reason() -> None:
    """A few rows with another seed each time: keep what fails in tests/corpus/witnesses.py."""
    seed = fresh_seed(SEEDS)
    rows = np.random.default_rng(seed).permutation(len(ROWS))[:FRESH]
    trials = run_keys([Key(*ROWS[int(row)], seed) for row in rows], [[*NPUS][seed % len(NPUS)]])
    assert len(trials) == FRESH
    texts = [text for trial in trials for text in trial.unexpected]
    assert not texts, f"CORPUS_SEED={seed} repeats this"


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["CONV_2D", "ADD"])
def test_hypothesis_finds_no_difference(operator: str) -> None:
    @hypothesis.settings(
        max_examples=5, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
    )  # fmt: skip
    @hypothesis.given(cases(operator, "int8"))
    def check(case: Case) -> None:
        assert not run_once(Key(operator, "int8", 0), case, "u55").unexpected

    check()


def test_a_key_names_one_network_and_one_setting() -> None:
    key = Key("CONV_2D", "int8", 1)
    assert case_of(key) == case_of(key)
    assert case_of(key) != case_of(Key("CONV_2D", "int8", 2))
    assert setting_of(key, "u65") == setting_of(key, "u65")
    assert setting_of(key, "u65").npu in PRODUCTS["u65"]


def test_a_uint8_network_has_an_int8_twin() -> None:
    assert case_of(Key("ADD", "int8", 0)).twin is None
    assert case_of(Key("ADD", "uint8", 0)).twin is not None


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """Return the results of the committed run of the whole corpus."""
    figures: dict[str, Any] = json.loads(results.RESULTS.read_text())
    return figures


def test_the_page_is_what_the_generator_writes(measured: dict[str, Any]) -> None:
    assert page.page(measured) == page.PAGE.read_text(), "run: python -m tests.corpus render"


def test_every_erratum_is_explained_on_the_page() -> None:
    """By a reason that predicts values; else by its sentence and its smallest network."""
    reasons = {entry.name for entry in KNOWN}
    text = page.PAGE.read_text()
    for erratum in (*ERRATA, *STREAM_ERRATA):
        if page.OTHER_NAMES.get(erratum.name, erratum.name) not in reasons:
            assert f"`{erratum.name}`: " in text
            assert (ROOT / "tests" / "errata" / f"{erratum.name}.tflite").is_file()
    assert set(page.OTHER_NAMES.values()) <= reasons


def test_the_page_says_how_to_draw_the_same_networks_again(measured: dict[str, Any]) -> None:
    figures = copy.deepcopy(measured)
    for row in figures["rows"]:
        row["start"] = 1234
    assert "`python -m tests.corpus table --start 1234` draws these again" in _unwrapped(figures)
    figures["rows"][0]["start"] = 5
    assert "(but ABS int8: 5)" in _unwrapped(figures)


def test_the_page_counts_what_is_refused_as_a_project(measured: dict[str, Any]) -> None:
    figures = copy.deepcopy(measured)
    product = figures["rows"][0]["products"]["u55"]
    product["projects"] = {"networks": 0, "elements": 0, "mismatches": 0, "largest": 0}
    product["projects"] |= {"refused": 7, "faults": 0, "errata": []}
    assert "| 0 | 0 | 7 refused | 20 |" in page.page(figures)
    product["projects"] |= {"networks": 13, "elements": 90}
    assert "| 0 | 0 | 0, 7 refused | 20 |" in page.page(figures)
    product["projects"] |= {"mismatches": 3, "largest": 2}
    assert "| 3 of 90, ≤ 2, 7 refused |" in page.page(figures)


def _unwrapped(figures: dict[str, Any]) -> str:
    return " ".join(page.page(figures).split())


def test_the_committed_run_covers_every_row(measured: dict[str, Any]) -> None:
    assert [(row["operator"], row["dtype"]) for row in measured["rows"]] == ROWS
    for row in measured["rows"]:
        wanted = products_of(row["operator"], row["dtype"])
        assert tuple(row["products"]) == wanted, (row["operator"], row["dtype"])


def test_the_committed_run_found_nothing_unexpected(measured: dict[str, Any]) -> None:
    assert not [text for row in measured["rows"] for text in results.unexpected(row)]


UNSTEADY = {("SUM", "int16", "litert")}
"""Oracles whose outputs differ from run to run: three runs gave three counts."""


@pytest.mark.slow
def test_a_row_of_the_committed_run_is_what_a_new_run_finds(measured: dict[str, Any]) -> None:
    """Another row and two products for each commit: the test must not rest on the file alone."""
    seed = fresh_seed(len(measured["rows"]))
    row = measured["rows"][seed]
    products = [name for turn, name in enumerate(NPUS) if turn != seed % len(NPUS)]
    products = [name for name in products if name in row["products"]] or [*row["products"]]
    keys = [Key(row["operator"], row["dtype"], row["start"] + i) for i in range(CASES)]
    again = results.summarize(row["operator"], row["dtype"], row["start"], run_keys(keys, products))
    for product in products:
        figures = row["products"][product]
        for name in ("networks", "faults", "crashes"):
            assert again["products"][product][name] == figures[name], (row["operator"], product)
        assert again["products"][product]["oracles"].keys() == figures["oracles"].keys()
        for oracle, stored in figures["oracles"].items():
            if (row["operator"], row["dtype"], oracle) not in UNSTEADY:
                counted = again["products"][product]["oracles"][oracle]
                assert counted == stored, (row["operator"], product, oracle)


def test_every_operator_of_vela_is_in_the_corpus() -> None:
    """Vela's list for TFLite, SUPPORTED_OPS.md of 5.2.0: U55's and U65's, then what U85 adds."""
    listed = """
        ABS ADD ARG_MAX AVERAGE_POOL_2D BATCH_MATMUL CONCATENATION CONV_2D DEPTHWISE_CONV_2D ELU EXP
        EXPAND_DIMS FULLY_CONNECTED GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC MAXIMUM MAX_POOL_2D MEAN
        MINIMUM MIRROR_PAD MUL NEG PACK PAD PADV2 PRELU QUANTIZE REDUCE_MAX REDUCE_MIN RELU RELU6
        RELU_0_TO_1 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 RSQRT
        SLICE SOFTMAX SPLIT SPLIT_V SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM TANH TILE
        TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK

        CAST DIV EQUAL GATHER GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_NOT
        LOGICAL_OR NOT_EQUAL REDUCE_ALL REDUCE_ANY SCATTER_ND SELECT SELECT_V2
    """
    assert list(OPERATORS) == sorted(listed.split())


@cache
def witness_of(entry: Known) -> Run:
    """Run the network that shows a known difference."""
    products = [*NPUS] if entry.name in NEW_ON_U85 else [*PRODUCTS]
    key = Key(*entry.witness)
    run = run_case(key, case_of(key), [setting_of(key, product) for product in products])
    judge([run])
    explain_trials([run])
    return run


@pytest.mark.slow
@pytest.mark.parametrize("entry", KNOWN, ids=lambda entry: entry.name)
def test_a_witness_shows_each_known_difference(entry: Known) -> None:
    trials = witness_of(entry).trials
    assert not [text for trial in trials for text in trial.unexpected]
    assert any(entry.name in names for trial in trials for names in trial.known.values())


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "entry", [entry for entry in KNOWN if not entry.fault], ids=lambda entry: entry.name
)
def test_a_known_difference_excuses_no_other_values(entry: Known, way: str) -> None:
    """`python -m tests.corpus damage` does this for all networks that an entry excuses."""
    assert not [*survivors(witness_of(entry), way)]


@pytest.mark.slow
@pytest.mark.parametrize("entry", [entry for entry in KNOWN if entry.fault], ids=lambda e: e.name)
def test_a_known_fault_excuses_no_other_fault(entry: Known) -> None:
    run = copy.deepcopy(witness_of(entry))
    faults = [trial for trial in run.trials if trial.where == "fault"]
    assert faults
    for trial in faults:
        trial.why, trial.known = "NPU fault at stream offset 0x0: some other one", {}
    explain_trials([run])
    assert all(trial.unexpected for trial in faults)


@pytest.mark.parametrize(("scale", "saturates"), [(7.9, False), (8.0, True), (14.0, True)])
@pytest.mark.parametrize("code", ["LOGISTIC", "TANH"])
def test_tflm_takes_a_real_0_for_saturated_from_a_step_of_8(
    code: str, scale: float, saturates: bool
) -> None:
    net = Draft(seeded(1), "int8")
    x = net.feed((3,), scale=scale, zero_point=0)
    case = net.case(net.logistic(x) if code == "LOGISTIC" else net.tanh(x))
    graph = decode_network(case.data, code).graph
    site = OperatorSite(graph, graph.operators[0], Setting("ethos-u55-128"))
    assert conditions.saturates_at_once(site) is saturates
    ((how, rows),) = ask("tflm", [(case.data, [[np.zeros(3, np.int8)]], 1)])
    assert how == "ok"
    assert bool(np.any(rows[0][0] != 0)) is saturates


def test_tflm_divides_scales_in_double_and_litert_in_float() -> None:
    """RELU of int16 on all values: the cause of RELU int16 77003."""
    values = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    random = np.random.default_rng(0)
    differ = 0
    for _ in range(8):
        first, second = (np.float32(s) for s in 10 ** random.uniform(-4.3, -4, 2))
        net = Draft(seeded(1), "int16")
        x = net.feed(values.shape, scale=float(first))
        data = net.case(net.relu(x, scale=float(second))).data
        factors = {"tflm": float(first) / float(second), "litert": float(first / second)}
        foretold = {o: np.clip(rescaled(values, f), 0, 32767) for o, f in factors.items()}
        for oracle, wanted in foretold.items():
            ((how, rows),) = ask(oracle, [(data, [[values]], 1)])
            assert how == "ok"
            assert np.array_equal(rows[0][0], wanted), oracle
        differ += not np.array_equal(foretold["tflm"], foretold["litert"])
    assert differ


@pytest.mark.parametrize(
    "key",
    [Key("AVERAGE_POOL_2D", "uint8", 5952694), Key("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952692)],
    ids=str,
)
def test_a_uint8_convolution_multiplies_scales_in_float_and_its_twin_in_double(key: Key) -> None:
    """A 1x1 convolution, worked out with numpy: the cause of factor-uint8."""
    case = case_of(key)
    network = decode_network(case.data, str(key))
    samples = make_samples(network, case, key.seed)
    site = OperatorSite(network.graph, network.graph.operators[0], Setting("ethos-u55-128"))
    assert conditions.rounds_a_product(site)
    x, weights, bias = site.inputs
    columns = {x.index: [sample[x.name] for sample in samples]}
    wide = [column.astype(np.int64) - x.first_zero_point for column in columns[x.index]]
    taps = weights.array().reshape(-1, x.shape[3]).astype(np.int64) - weights.first_zero_point
    scales = [np.float32(scale_of(tensor)) for tensor in (x, weights)]
    products = {"litert": float(np.prod(scales)), "tflm": math.prod(map(float, scales))}
    foretold = {}
    for oracle, product in products.items():
        factor = product / scale_of(site.output)
        steps = [rescaled(values @ taps.T + bias.array(), factor) for values in wide]
        foretold[oracle] = np.clip(np.array(steps) + site.output.first_zero_point, 0, 255)
        answer = Inquiry(case).ask(oracle, columns, site.operator.outputs)
        assert answer is not None
        assert np.array_equal(answer[0], foretold[oracle]), oracle
    assert not np.array_equal(*foretold.values())


@pytest.mark.parametrize("operator", ["ADD", "SUB", "MUL", "NEG", "SUM"])
def test_rows_of_int32_use_the_whole_range_and_no_scale_of_1(operator: str) -> None:
    drawn = [case_of(Key(operator, "int32", seed)) for seed in range(20)]
    assert any(not case.ranges for case in drawn)
    assert any(case.layout.tensors[case.layout.inputs[0]].scale is None for case in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("product", NPUS)
def test_what_seeds_have_found_is_explained(product: str) -> None:
    trials = run_keys(FOUND, [product])
    assert not [text for trial in trials for text in trial.unexpected]


def test_the_corpus_covers_what_vela_lists_for_every_type() -> None:
    text = coverage.PAGE.read_text()
    for code, cells in coverage.types():
        assert "MISSING" not in cells.values(), code
        assert f"| {code} | {' | '.join(cells.values())} |" in text, (
            "run: python -m tests.corpus coverage"
        )


@pytest.mark.slow
def test_the_corpus_uses_every_mode_of_the_command_stream() -> None:
    rows = dict(
        re.findall(r"^\| ([^|]+) \| ([\d,-]+ \| [\d,-]+) \|$", coverage.PAGE.read_text(), re.M)
    )
    for mode, products in coverage.MODES.items():
        counts = dict(zip(PRODUCTS, rows[mode].replace(",", "").split(" | "), strict=True))
        assert all(counts[product] not in ("0", "-") for product in products), mode


@pytest.mark.parametrize(("operator", "dtype"), coverage.REFUSED)
def test_a_type_that_is_not_in_the_corpus_is_refused(operator: str, dtype: str) -> None:
    try:
        key = Key(operator, dtype, 0)
        run = run_case(key, case_of(key), [setting_of(key, "u55")])
    except (EthosgenError, KeyError, ValueError):
        return  # TFLite's own rules do not let such a network be built
    assert run.trials[0].where in ("cpu", "refused")


def test_known_differences_have_names_of_their_own() -> None:
    assert len({entry.name for entry in KNOWN}) == len(KNOWN)


def test_products_measured_alone_keep_the_others_of_the_same_networks(tmp_path: Path) -> None:
    path, order = tmp_path / "figures.json", [("ADD", "int8")]

    def row(start: int, **products: int) -> dict[str, Any]:
        figures = {name: {"networks": count} for name, count in products.items()}
        return {"operator": "ADD", "dtype": "int8", "start": start, "products": figures}

    results.save([row(7, u55=1, u65=2)], order, path)
    results.save([row(7, u85=3)], order, path)
    assert results.read(path) == [row(7, u55=1, u65=2, u85=3)]
    results.save([row(8, u85=4)], order, path)
    assert results.read(path) == [row(8, u85=4)]
