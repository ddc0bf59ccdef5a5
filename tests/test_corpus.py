"""The NPU model against both oracles: a seeded part of the corpus, and the table that it makes."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from corpus import coverage, page, results  # noqa: E402
from corpus.draft import Case  # noqa: E402
from corpus.known import KNOWN, unneeded  # noqa: E402
from corpus.registry import OPERATORS, ROWS  # noqa: E402
from corpus.settings import PRODUCTS  # noqa: E402
from corpus.shrink import cases, run_once  # noqa: E402
from corpus.trial import (  # noqa: E402
    Key,
    case_of,
    explain_trials,
    judge,
    run_case,
    run_keys,
    setting_of,
)
from ethosgen.errors import EthosgenError  # noqa: E402

SEED = 7000
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_no_network_differs_without_a_known_reason(part: int) -> None:
    """One network of each row, the products in turn."""
    keys = [Key(*row, SEED) for row in ROWS[part::PARTS]]
    trials = [
        trial
        for product, mine in zip(PRODUCTS, (keys[0::2], keys[1::2]), strict=True)
        for trial in run_keys(mine, [product])
    ]
    assert sum(trial.where == "npu" for trial in trials) > len(trials) / 2
    assert not [text for trial in trials for text in trial.unexpected]


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
    """What the committed run of the whole corpus found."""
    figures: dict[str, Any] = json.loads(results.RESULTS.read_text())
    return figures


def test_the_page_is_what_the_generator_writes(measured: dict[str, Any]) -> None:
    assert page.page(measured) == page.PAGE.read_text(), "run: python -m corpus render"


def test_the_committed_run_covers_every_row(measured: dict[str, Any]) -> None:
    assert [(row["operator"], row["dtype"]) for row in measured["rows"]] == ROWS
    assert all(tuple(row["products"]) == tuple(PRODUCTS) for row in measured["rows"])


def test_the_committed_run_found_nothing_unexpected(measured: dict[str, Any]) -> None:
    assert not [text for row in measured["rows"] for text in row["unexpected"]]


def test_every_operator_of_vela_is_in_the_corpus() -> None:
    """Vela's list for TFLite on Ethos-U55 and U65, SUPPORTED_OPS.md of 5.2.0."""
    listed = """
        ABS ADD ARG_MAX AVERAGE_POOL_2D BATCH_MATMUL CONCATENATION CONV_2D DEPTHWISE_CONV_2D ELU EXP
        EXPAND_DIMS FULLY_CONNECTED GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC MAXIMUM MAX_POOL_2D MEAN
        MINIMUM MIRROR_PAD MUL NEG PACK PAD PADV2 PRELU QUANTIZE REDUCE_MAX REDUCE_MIN RELU RELU6
        RELU_0_TO_1 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 RSQRT
        SLICE SOFTMAX SPLIT SPLIT_V SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM TANH TILE
        TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK
    """
    assert list(OPERATORS) == sorted(listed.split())


def test_each_known_difference_is_still_needed(measured: dict[str, Any]) -> None:
    assert unneeded(page.met(measured["rows"])) == []


def test_witnesses_show_what_most_runs_do_not_meet() -> None:
    entries = [entry for entry in KNOWN if entry.witness is not None]
    trials = run_keys([Key(*entry.witness) for entry in entries if entry.witness], [*PRODUCTS])
    for entry in entries:
        found = [t for t in trials if t.key == Key(*(entry.witness or ("", "", 0)))]
        assert not [text for trial in found for text in trial.unexpected]
        assert any(entry.name in trial.known.values() for trial in found), entry.name


@pytest.mark.parametrize(
    ("operator", "dtype", "name"),
    [("TRANSPOSE", "uint8", "transpose-uint8"), ("MUL", "int32", "mul-int32"),
     ("SUM", "int8", "sum-several-axes"), ("RELU6", "int8", "relu6-scale")],
)  # fmt: skip
def test_a_known_difference_excuses_its_own_values_only(
    operator: str, dtype: str, name: str
) -> None:
    runs = []
    for seed in range(20):
        key = Key(operator, dtype, seed)
        runs.append(run_case(key, case_of(key), [setting_of(key, "u55")]))
        judge(runs[-1:])
        explain_trials(runs[-1:])
        if name in runs[-1].trials[0].known.values():
            break
    run, (trial,) = runs[-1], runs[-1].trials
    assert trial.known["tflm" if "tflm" in trial.known else "litert"] == name
    assert trial.outputs is not None
    values = trial.outputs[0][run.model.outputs[0].name].reshape(-1)
    values[0] ^= 64
    judge([run])
    trial.known.clear()
    explain_trials([run])
    assert name not in trial.known.values()
    assert trial.unexpected


def test_the_corpus_covers_what_vela_lists_for_every_type() -> None:
    text = coverage.PAGE.read_text()
    for code, cells in coverage.types():
        assert "MISSING" not in cells.values(), code
        assert f"| {code} | {' | '.join(cells.values())} |" in text, (
            "run: python -m corpus coverage"
        )


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
