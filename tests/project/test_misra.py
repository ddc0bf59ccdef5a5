"""The rules of MISRA C:2012 in generated libraries, by cppcheck and its addon, and their record."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.project.misra import DEVIATIONS, RECORD, deviations
from ethosgen.project.rendering import render
from ethosgen.values.plan import IoStyle
from tests.support.kernel_files import write_kernels
from tests.support.programs import make_program

needs_cppcheck = pytest.mark.compiler("cppcheck")

ADVISORY = frozenset(
    "1.2 2.3 2.4 2.5 2.6 2.7 2.8 4.2 5.9 8.7 8.9 8.11 8.13 8.15 8.16 10.5 11.4 11.5 12.1 12.3 12.4 "
    "13.3 13.4 15.1 15.4 15.5 17.5 17.8 17.11 17.12 18.4 18.5 19.2 20.1 20.5 20.10 21.12".split()
)
"""The advisory rules of MISRA C:2012 with its amendments; all others are required or mandatory."""
MANDATORY = frozenset(
    "9.1 12.5 13.6 17.3 17.4 17.6 17.9 19.1 21.13 21.17 21.18 21.19 21.20 21.22 22.2 22.4 22.5 "
    "22.6 22.20".split()
)

_MVE = ("__ARM_FEATURE_MVE=3", "__ARM_ARCH=8", "__ARM_FP=14", "__thumb2__=1")
_DSP = ("__ARM_FEATURE_DSP=1", "__ARM_FEATURE_SIMD32=1", "__ARM_ARCH=7", "__thumb2__=1")
_M0 = ("__ARM_ARCH=6",)
_FPU = (*_DSP, "__ARM_FP=4")
_PLAIN = "ETHOSGEN_PLAIN_C=1"
_FINDING = re.compile(r"(.*):(\d+): misra-c2012-([\d.]+)$")


def findings(place: Path, files: Sequence[Path], macros: Sequence[str], record: Path) -> list[str]:
    """Return what cppcheck finds of required and mandatory rules, but for the record's places."""
    known = ("__GNUC__=12", "__OPTIMIZE__=1", "__arm__=1", "__thumb__=1", *macros)
    command = ["cppcheck", "-q", "--addon=misra", "--std=c11", "--platform=arm32-wchar_t4"]
    command += [
        f"--suppressions-list={record}",
        "--suppress=missingIncludeSystem",
        "--error-exitcode=0",
    ]
    command += ["--template={file}:{line}: {id}", "--template-location=", f"-I{place}"]
    command += [*(f"-D{macro}" for macro in known), *map(str, files)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    assert "syntaxError" not in done.stderr and "internalError" not in done.stderr, done.stderr
    found = [match for line in done.stderr.splitlines() if (match := _FINDING.match(line))]
    return sorted({match[0] for match in found if match[3] not in ADVISORY})


def test_no_deviation_is_from_a_mandatory_rule_and_none_is_needless() -> None:
    rules = [deviation.rule for deviation in DEVIATIONS]
    assert len(rules) == len(set(rules))
    assert not MANDATORY & set(rules)
    assert not ADVISORY & set(rules), "advisory rules need no deviation"


def test_the_record_names_rules_places_and_reasons() -> None:
    project = render(make_program(), load_board("corstone300"))
    text = project.files[f"model/{RECORD}"].decode()
    places = re.findall(r"^misra-c2012-([\d.]+):\*(.+)$", text, re.MULTILINE)
    assert ("11.6", "plus_one.c") in places
    own = {path.rpartition("/")[2] for path in project.library}
    assert {file for _, file in places} <= own
    reasons = set(re.findall(r"^# Rule ([\d.]+): \w", text, re.MULTILINE))
    assert {rule for rule, _ in places} == reasons


@needs_cppcheck
def test_what_breaks_a_rule_is_found(tmp_path: Path) -> None:
    file, record = tmp_path / "own.c", tmp_path / RECORD
    file.write_text(
        "unsigned int own;\nvoid set(void);\nvoid set(void)\n{\n    own = 0x80000000;\n}\n"
    )
    record.write_text("")
    rules = {line.rpartition("-")[2] for line in findings(tmp_path, [file], (), record)}
    assert {"7.2", "8.4"} <= rules
    record.write_text("# why\nmisra-c2012-7.2:*own.c\n")
    rules = {line.rpartition("-")[2] for line in findings(tmp_path, [file], (), record)}
    assert "7.2" not in rules and "8.4" in rules


@needs_cppcheck
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("board", ["corstone300", "corstone320"])
def test_a_library_for_an_npu_keeps_the_rules(tmp_path: Path, io: IoStyle, board: str) -> None:
    project = render(make_program(io), load_board(board), platform="library")
    for path in project.library:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(project.files[path])
    model = tmp_path / "model"
    files = sorted(model.glob("*.c"))
    assert len(files) >= 8
    assert findings(model, files, _MVE, model / RECORD) == []


KERNELS = {
    "helium": ("helium", _MVE),
    "dsp": ("dsp", _DSP),
    "thumb": ("thumb", _M0),
    "floats-helium": ("floats", _MVE),
    "floats-fpu": ("floats", _FPU),
    "helium-plain": ("helium", (*_MVE, _PLAIN)),
    "dsp-plain": ("dsp", (*_DSP, _PLAIN)),
    "thumb-plain": ("thumb", (*_M0, _PLAIN)),
    "floats-plain": ("floats", (*_M0, _PLAIN)),
}


@pytest.mark.slow
@needs_cppcheck
@pytest.mark.parametrize("kind", KERNELS)
def test_kernels_keep_the_rules(tmp_path: Path, kind: str) -> None:
    folder, macros = KERNELS[kind]
    write_kernels(tmp_path)
    files = sorted(tmp_path.glob(f"{folder}/*.c"))
    headers = sorted(tmp_path.glob("*.h"))
    assert len(files) >= 8
    record = tmp_path / RECORD
    record.write_bytes(deviations({file.name: file.read_bytes() for file in files + headers}, []))
    assert findings(tmp_path, files, macros, record) == []
