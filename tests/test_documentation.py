"""The documents: their tables are generated, their links, commands and paths exist."""

import copy
import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from bench import comparison, cpu_only, frontends, npu_model, pipeline, tables
from bench.limits import NPUS, SIZES, TIMES
from ethosgen.cli import cli
from tests import ROOT
from tests.support.command_line import commands

AT_THE_ROOT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
EVIDENCE = ROOT / "evidence" / "README.md"
PAGES = sorted([*AT_THE_ROOT, *ROOT.glob("docs/**/*.md"), *ROOT.glob("evidence/*.md")])
CODE = re.compile(r"^ {4}(.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*)`")


def lines_of_code(page: Path) -> list[str]:
    return [line.split("#")[0].strip() for line in CODE.findall(page.read_text())]


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """Return the figures of the committed bench."""
    measured: dict[str, Any] = json.loads(tables.RESULTS.read_text())
    return measured


def test_the_bench_page_is_what_the_generator_writes(results: dict[str, Any]) -> None:
    assert tables.PAGE.read_text() == tables.page(results), "run python -m bench --render"


def test_the_readme_table_is_what_the_generator_writes(results: dict[str, Any]) -> None:
    readme = tables.README.read_text()
    assert readme == tables.with_section(readme, results), "run python -m bench --render"


def test_the_committed_bench_covers_every_npu_and_the_demo(results: dict[str, Any]) -> None:
    assert "digits_int8" in [network["name"] for network in results["models"]]
    assert all(tuple(network["simulate"]) == NPUS for network in results["models"])


def test_the_page_of_front_ends_is_what_the_generator_writes() -> None:
    results = json.loads(frontends.RESULTS.read_text())
    assert frontends.PAGE.read_text() == frontends.page(results), (
        "run python -m bench.frontends --render"
    )
    rows = [row for suite in results.values() for part in suite.values() for row in part]
    measured = [row for row in rows if "refused" not in row]
    assert len(measured) > 100
    assert all(row["elements"] > 0 for row in measured)
    undecided = [row for row in measured if row["mismatches"] != 0]
    assert all(row["mismatches"] is None and row["partitions"] > 1 for row in undecided)
    assert all(row.get("most", 0) < 1.5 or row["known"] for row in measured)


def test_the_figures_of_pipelines_are_what_the_generator_writes() -> None:
    rows = json.loads(pipeline.RESULTS.read_text())
    page = pipeline.PAGE.read_text()
    assert page == pipeline.with_section(page, rows), "run python -m bench.pipeline --render"
    assert all(row["verdict"] == "PASS" and row["elements"] > 0 for row in rows)
    assert all(row["mismatches"] == 0 for row in rows)
    assert {row["count"] for row in rows} == set(pipeline.ELEMENTS)
    assert "digits_int8" in {row["network"] for row in rows}


def test_the_tables_of_comparisons_are_what_the_generator_writes() -> None:
    results = json.loads(comparison.RESULTS.read_text())
    page = comparison.PAGE.read_text()
    assert page == comparison.with_tables(page, results), "run python -m bench.comparison --render"
    assert comparison.misses(results) == []
    assert results.keys() == comparison.PARTS.keys()
    assert all(part["passed"] for part in results.values())


def test_what_was_shown_has_the_figures_of_its_pages() -> None:
    rows = re.findall(r"^\| (.+?) \| \[.+?\]\((\S+\.md)\)", EVIDENCE.read_text(), re.MULTILINE)
    assert {page for _, page in rows} | {"README.md"} == {
        path.name for path in EVIDENCE.parent.glob("*.md")
    }
    for claim, page in rows:
        text = (EVIDENCE.parent / page).read_text()
        for figure in re.findall(r"\b\d[\d,]*,\d{3}\b|\b\d+\.\d+\b|\b\d{2,}\b", claim):
            assert figure in text, f"{page} lacks {figure}"


def test_the_readme_is_short() -> None:
    assert len(tables.README.read_text().splitlines()) <= 120


def test_each_of_ten_steps_has_its_function_and_its_value() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    named = [re.findall(r"`([\w./]+)`", row) for row in re.findall(r"^\| (\d+ \|.*)$", page, re.M)]
    assert len(named) == 10
    for function, room, *values in named:
        assert re.search(rf"^def {function}\(", (ROOT / room).read_text(), re.M), function
        path = ROOT / values[-1]
        assert re.search(rf"^class {values[0]}\b", path.read_text(), re.M), values


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [t for t in LINK.findall(page.read_text()) if not (page.parent / t).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    named = [path for path in PATH.findall(page.read_text()) if path.split("/")[0] in tops()]
    broken = [path for path in named if not list(ROOT.glob(path.rstrip("/")))]
    assert not broken


def tops() -> set[str]:
    """Directories of the repository: a path that starts otherwise is in somebody else's.

    build/ is not one of them: its files are made, here and in every project.
    """
    return {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_real(page: Path) -> None:
    for line in lines_of_code(page):
        if re.match(r"(\$ )?(\S+/)?ethosgen ", line):
            words = shlex.split(line.removeprefix("$ "))
            assert isinstance(cli, click.Group)
            command = commands().get(words[1])
            assert command is not None, f"no such command: {line}"
            if isinstance(command, click.Group) and len(words) > 2:
                command = command.commands.get(words[2])
                assert command is not None, f"no such command: {line}"
            known = {option for parameter in command.params for option in parameter.opts}
            options = {word for word in words if word.startswith("-")}
            assert options <= known, f"no such option: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_are_real(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in lines_of_code(page):
        if line.startswith("make "):
            assert line.split()[1] in targets, line


def test_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE) == phony.split()


EXACT = {"mismatches": 0, "elements": 120, "max_abs_diff": 0}


def make_cpu_only(**changes: Any) -> dict[str, Any]:
    """Figures of kws on the CPU, half of TFLite Micro's instructions unless changed."""
    tflm = cpu_only.TFLM["kws_dscnn_int8"]
    figures = {
        "name": "kws_dscnn_int8",
        "firmware": EXACT,
        "instructions": tflm.instructions // 2,
        "init_instructions": 9,
        "arena_bytes": tflm.arena_bytes,
        "code_bytes": tflm.code_bytes,
        "stack_bytes": 400,
    }
    return {**figures, **changes}


def make_npu_model(part: str = "npu_model", **changes: Any) -> dict[str, Any]:
    """Figures of MobileNetV2 on the NPU model, each at its limit unless changed."""
    generation = npu_model.GENERATIONS[part]
    figures = {
        "name": npu_model.MOBILENET,
        "first_s": 3.0,
        "model_s": generation.most_mobilenet_s,
        "tflm_s": 0.4,
        "ratio": npu_model.MOST_OF_TFLM,
        "tensor_bytes": 10 << 20,
        "peak_bytes": 40 << 20,
        "object_bytes": 1 << 20,
        "cycles": {npu: {"ours": 110, "vela": 100} for npu in generation.npus},
    }
    return {**figures, **changes}


@pytest.fixture
def good() -> dict[str, Any]:
    """Results in which everything is as it must be."""
    network = {
        "name": "net",
        "firmware": EXACT,
        "litert": EXACT,
        "simulate": dict.fromkeys(NPUS, EXACT),
        "npu_share": "5 + 0",
        "cpu_operators": 0,
        "arena_bytes": 4096,
        **{key: limit.most for key, limit in SIZES.items()},
    }
    times = {key: limit.most for key, limit in TIMES.items()}
    machine = {
        "cpu": "c",
        "cores": 2,
        "load": 0.1,
        "python": "3",
        "gcc": "gcc 12",
        "qemu": "QEMU 7",
    }
    return {
        "date": "2026-01-01",
        "commit": "0123abc",
        "machine": machine,
        "samples": 10,
        "models": [network],
        "cpu_only": [make_cpu_only()],
        **{part: [make_npu_model(part)] for part in npu_model.GENERATIONS},
        "times": {**times, "tflm_s": 0.01, "simulate_over_tflm": 3.0},
    }


def test_good_results_miss_nothing(good: dict[str, Any]) -> None:
    assert tables.misses(good) == []
    assert "Everything is within its limit." in tables.page(good)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 0),
        ({"firmware": {**EXACT, "mismatches": 1}}, 1),
        ({"arena_bytes": 1 << 20}, 1),
        ({"code_bytes": 1 << 20}, 1),
        ({"init_instructions": 301}, 1),
        ({"instructions": 1_000_000}, 1),  # no network is at half of TFLite Micro's
        ({"instructions": 2_000_000}, 2),
    ],
)
def test_what_the_cpu_alone_misses(changes: dict[str, Any], count: int) -> None:
    assert len(cpu_only.misses([make_cpu_only(**changes)])) == count


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 0),
        ({"model_s": 2.1}, 1),
        ({"ratio": 5.1}, 1),
        ({"ratio": 5.1, "tflm_s": 1e-6}, 1),
        ({"peak_bytes": 41 << 20}, 1),
        ({"tensor_bytes": 500, "peak_bytes": npu_model.ALLOWANCE_BYTES}, 0),
    ],
)
def test_what_the_npu_model_misses(changes: dict[str, Any], count: int) -> None:
    nothing: dict[str, Any] = {part: [] for part in npu_model.GENERATIONS}
    for part in npu_model.GENERATIONS:
        changed = nothing | {part: [make_npu_model(part, **changes)]}
        assert len(npu_model.misses(changed)) == count


def test_memory_beyond_the_ratio_is_told_even_if_it_is_allowed() -> None:
    small = make_npu_model(name="small", tensor_bytes=1000, peak_bytes=50_000)
    assert "small (50.0 times, 49 KiB)" in npu_model.beyond_tensors([make_npu_model(), small])
    assert npu_model.beyond_tensors([make_npu_model()]) == "No network needs an exception."


@pytest.mark.parametrize("key", SIZES)
@pytest.mark.parametrize("change", ["over", "unknown"])
def test_a_size_over_its_limit_or_unknown_is_missed(
    good: dict[str, Any], key: str, change: str
) -> None:
    bad = copy.deepcopy(good)
    bad["models"][0][key] = None if change == "unknown" else SIZES[key].most + 1
    assert len(tables.misses(bad)) == 1
    assert tables.page(bad).count("Requirements not met") == 1


@pytest.mark.parametrize("key", TIMES)
def test_a_time_over_its_limit_is_missed(good: dict[str, Any], key: str) -> None:
    bad = copy.deepcopy(good)
    bad["times"][key] = TIMES[key].most + 0.1
    assert len(tables.misses(bad)) == 1


@pytest.mark.parametrize(
    "cell", [{"mismatches": 1, "elements": 120}, {"mismatches": 0, "elements": 0}]
)
def test_a_mismatch_or_an_empty_comparison_is_missed(
    good: dict[str, Any], cell: dict[str, int]
) -> None:
    bad = copy.deepcopy(good)
    bad["models"][0]["simulate"]["ethos-u55-64"] = cell
    bad["models"][0]["firmware"] = cell
    assert len(tables.misses(bad)) == 2


def test_instructions_are_limited_only_where_all_is_offloaded(good: dict[str, Any]) -> None:
    mixed = copy.deepcopy(good)
    mixed["models"][0] |= {"cpu_operators": 1, "cpu_instructions": 10_000}
    assert tables.misses(mixed) == []


def test_a_readme_without_markers_is_refused(good: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="marks"):
        tables.with_section("# title\n", good)
