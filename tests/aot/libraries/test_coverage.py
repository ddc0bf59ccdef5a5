"""The page that says which statements of the kernels the tests reach."""

from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.values.coverage import CodeCoverage, Statement, merged
from tests.support import kernel_coverage
from tests.support.aot_harness import GeneratedC, cpu_plan, samples_and_golden
from tests.support.kernel_coverage import digest_of, read_counts, render, rows_of
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder


@pytest.fixture
def page() -> str:
    """Return the page as it is stored."""
    return kernel_coverage.PAGE.read_text()


def test_the_page_shows_todays_kernels(page: str) -> None:
    today = {file: digest_of(text) for file, text in kernel_coverage.kernels().items()}
    shown = kernel_coverage.digests(page)
    differ = sorted(f for f in today.keys() | shown.keys() if today.get(f) != shown.get(f))
    assert not differ, f"run {kernel_coverage.COMMAND}: the kernels have changed"


def test_each_exception_is_in_the_page(page: str) -> None:
    for file, reasons in kernel_coverage.EXCEPTIONS.items():
        for text, reason in reasons.items():
            assert f", `{text}`: {reason}\n" in page, file


def test_comments_and_spaces_do_not_change_a_digest() -> None:
    assert digest_of("int a;") == digest_of("/* one\n * two */\nint  a; // three\n")
    assert digest_of("int a;") != digest_of("int b;")


def test_a_line_is_reached_excepted_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "int f(int x)\n{\n    if (x) {\n        return 1;\n    }\n    return 2;\n}\n"
    monkeypatch.setattr(kernel_coverage, "kernels", lambda: {"a.c": text, "b.h": ""})
    monkeypatch.setattr(kernel_coverage, "EXCEPTIONS", {"a.c": {"return 1;": "it is never 1"}})
    ran = [("a.c", 1, 2, ()), ("a.c", 3, 2, (2, 0)), ("a.c", 4, 0, ()), ("a.c", 6, 0, ())]
    statements = [Statement(file, "", *rest) for file, *rest in (*ran, ("net_graph.c", 1, 0, ()))]
    page = render(rows_of(CodeCoverage(merged(statements), {})))
    assert "Reached: 2 of 4 statements.\nExcepted, with the reason: 1. Missing: 1." in page
    assert "Taken: 1 of 2 branches.\n" in page
    assert f"| `a.c` | 4 | 2 | 1 | 1 | 2 | 1 | `{digest_of(text)}` |" in page
    assert "- line 4, `return 1;`: it is never 1" in page
    assert "6: return 2;" in page
    assert kernel_coverage.digests(page) == {"a.c": digest_of(text), "b.h": digest_of("")}


def counts_of(folder: Path, file: str) -> dict[int, int]:
    return {each.line: each.count for each in read_counts(folder).files[file].statements}


@needs_gcc
def test_counts_of_all_runs_are_added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(kernel_coverage.VARIABLE, str(tmp_path / "counts"))
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(net.max_pool(net.input((1, 6, 5, 20)), (2, 2), (1, 1))))
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    samples, golden = samples_and_golden(plan.network, 3)
    generated.check(samples[:1], golden[:1])
    once = counts_of(tmp_path / "counts", "ethosgen_pool.c")
    generated.check(samples[1:], golden[1:])
    thrice = counts_of(tmp_path / "counts", "ethosgen_pool.c")
    assert any(once.values())
    assert thrice == {line: 3 * count for line, count in once.items()}
