"""Others' firmware tests for Arm's FVPs pass on the programs with their names."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.suites.fvp_programs import (
    BUILDS,
    DIFFERENT,
    PASSED,
    TREE,
    FvpResult,
    FvpTest,
    collect,
    draw,
    installed_fvps,
    record,
    run,
)
from tests.suites.running import UNKNOWN
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_fvp_programs, needs_qemu

COUNT = 3
TESTS = [FvpTest("a group", str(number), ("true",), Path()) for number in range(50)]


@needs_fvp_programs
@needs_qemu("qemu-system-arm", "ctest")
@pytest.mark.slow
def test_a_part_of_the_tests_passes(record_property: Callable[[str, object], None]) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    tests = collect(os.environ)
    with installed_fvps() as fvps:
        results = [run(test, fvps) for test in draw(tests, len(tests) // COUNT, seed)]
    assert len(results) >= COUNT
    assert {result.end for result in results} == {PASSED}, results


@pytest.mark.compiler("ctest")
def test_ctest_is_asked_only_for_what_was_built(tmp_path: Path) -> None:
    (tmp_path / "CMakeCache.txt").write_text(
        "CMAKE_HOME_DIRECTORY:INTERNAL=/a/targets/corstone-300\n"
        "ETHOSU_TARGET_NPU_CONFIG:STRING=ethos-u65-512\n"
    )
    (tmp_path / "CTestTestfile.cmake").write_text(
        "add_test(one one.elf)\nadd_test(without_a_file two.elf)\n"
    )
    (tmp_path / "one.elf").touch()
    (test,) = collect({BUILDS: str(tmp_path)})
    assert (test.group, test.name) == ("core platform, corstone-300, ethos-u65-512", "one")


def test_tests_of_tensorflow_are_found_by_their_target(tmp_path: Path) -> None:
    folder = tmp_path / "gen" / "cortex_m_corstone_300_cortex-m55_default" / "bin"
    folder.mkdir(parents=True)
    for name in ("kernel_add_test", "hello_world"):
        (folder / name).touch()
    (test,) = collect({TREE: str(tmp_path)})
    assert test.name == "kernel_add_test" and test.command[1] == str(folder / test.name)


@pytest.mark.parametrize("words", [["true"], ["echo", "FAILED"]])
def test_a_test_that_does_not_say_that_it_passed_has_not(tmp_path: Path, words: list[str]) -> None:
    result = run(FvpTest("a group", "quiet", tuple(words), tmp_path), tmp_path)
    assert result.end == DIFFERENT


def test_a_test_that_says_so_has_passed(tmp_path: Path) -> None:
    words = ("echo", "~~~ALL TESTS PASSED~~~")
    assert run(FvpTest("a group", "loud", words, tmp_path), tmp_path).end == PASSED
    failing = ("sh", "-c", "echo '~~~ALL TESTS PASSED~~~'; exit 1")
    assert run(FvpTest("a group", "fails", failing, tmp_path), tmp_path).end == DIFFERENT


def test_a_draw_keeps_the_order() -> None:
    drawn = draw(TESTS, 10, 3)
    assert len(drawn) == 5 and drawn == sorted(drawn, key=TESTS.index)
    assert draw(TESTS, 1, 3) == TESTS


def test_the_record_has_a_row_for_each_group() -> None:
    results = [FvpResult("a", "1", PASSED), FvpResult("b", "1", DIFFERENT, "FAIL")]
    first, second = record(results, "1.0").rows
    assert (first.group, first.passed) == ("a", 1)
    assert (second.group, second.different) == ("b", {UNKNOWN: 1})
