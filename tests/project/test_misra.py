"""The rules of MISRA C:2012 in generated libraries, by cppcheck and its addon, and their record."""

import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.board import load_board
from ethosgen.board.any_board import any_board
from ethosgen.host.resources import template_folder
from ethosgen.platforms import LIBRARY_ONLY, ZEPHYR
from ethosgen.project.misra import DEVIATIONS, RECORD, deviations
from ethosgen.project.rendering import render
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from tests.support.aot_harness import cpu_plan
from tests.support.catalogue.recurrent import lstm
from tests.support.kernel_files import declare_structs, write_kernels
from tests.support.networks import NetworkBuilder
from tests.support.programs import make_program
from tests.support.project_kinds import apart

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
_PLACE = re.compile(r"^misra-c2012-([\d.]+):\*(.+)$", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Finding:
    """A line where cppcheck finds that a rule is broken; it tells of one place for each rule."""

    file: str
    line: int
    rule: str

    @property
    def is_advisory(self) -> bool:
        """Whether the rule needs no deviation."""
        return self.rule in ADVISORY


def findings(
    place: Path, files: Sequence[Path], macros: Sequence[str], record: Path | None = None
) -> frozenset[Finding]:
    """Return what cppcheck finds in files, but for a record's places."""
    known = ("__GNUC__=12", "__OPTIMIZE__=1", "__arm__=1", "__thumb__=1", *macros)
    command = ["cppcheck", "-q", "--addon=misra", "--std=c11", "--platform=arm32-wchar_t4"]
    command += ["--suppress=missingIncludeSystem", "--error-exitcode=0"]
    command += [f"--suppressions-list={record}"] if record else []
    command += ["--template={file}:{line}: {id}", "--template-location="]
    command += [f"-I{folder}" for folder in sorted({file.parent for file in place.rglob("*.h")})]
    command += [*(f"-D{macro}" for macro in known), *map(str, files)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    assert "syntaxError" not in done.stderr and "internalError" not in done.stderr, done.stderr
    found = filter(None, map(_FINDING.match, done.stderr.splitlines()))
    return frozenset(Finding(Path(m[1]).name, int(m[2]), m[3]) for m in found)


def test_no_deviation_is_from_a_mandatory_rule_and_none_is_needless() -> None:
    rules = [deviation.rule for deviation in DEVIATIONS]
    assert len(rules) == len(set(rules))
    assert not MANDATORY & set(rules)
    assert not ADVISORY & set(rules), "advisory rules need no deviation"


def test_the_record_names_rules_places_and_reasons() -> None:
    project = render(make_program(), load_board("corstone300"))
    text = project.files[f"model/{RECORD}"].decode()
    places = _PLACE.findall(text)
    assert ("11.6", "plus_one.c") in places
    own = {path.rpartition("/")[2] for path in project.library}
    assert {file for _, file in places} <= own
    reasons = set(re.findall(r"^# Rule ([\d.]+): \w", text, re.MULTILINE))
    assert {rule for rule, _ in places} == reasons


@needs_cppcheck
def test_what_breaks_a_rule_is_found(tmp_path: Path) -> None:
    file, record = tmp_path / "own.c", tmp_path / RECORD
    file.write_text(
        "unsigned int own;\nunsigned int other;\nvoid set(void);\nvoid set(void)\n{\n"
        "    own = 0x80000000;\n    other = 0x80000001;\n}\n"
    )
    found = findings(tmp_path, [file], ())
    assert {f.line for f in found if f.rule == "7.2"} == {6, 7}
    assert "8.4" in {f.rule for f in found}
    record.write_text("# why\nmisra-c2012-7.2:*own.c\n")
    assert {f for f in found if f.rule != "7.2"} == findings(tmp_path, [file], (), record)


def _graphs() -> list[Program]:
    """Return two networks whose operators are plain loops, one of them with a state."""
    image, recurrent = NetworkBuilder("image", seed=7), NetworkBuilder("recurrent", seed=5)
    x = image.conv2d(image.input((1, 8, 8, 3)), channels=8, kernel=(3, 3), activation="RELU")
    x = image.depthwise(x, kernel=(3, 3), stride=(2, 2))
    total = image.apply("SUM", x, [1, 2], scale=0.3, keep_dims=True)
    x = image.softmax(image.reshape(image.average_pool(x, (4, 4)), (1, 8)))
    y = recurrent.quantize(recurrent.input((1, 4, 8), scale=0.02), "int8", 0.015, -4)
    data = recurrent.build(recurrent.relu(lstm(recurrent, y, 10)))
    networks = {"image": image.build(x, total), "recurrent": data}
    return [compile_program(cpu_plan(data), name) for name, data in networks.items()]


def _two(program: Callable[[str], Program]) -> list[Program]:
    return [program("wake"), program("word")]


LIBRARIES: dict[str, tuple[Callable[[], Program | list[Program]], str, str, Sequence[str]]] = {
    "Ethos-U55": (make_program, "corstone300", LIBRARY_ONLY, _MVE),
    "Ethos-U55, caller's tensors": (
        lambda: make_program(IoStyle.CALLER), "corstone300", LIBRARY_ONLY, _MVE,
    ),
    "Ethos-U65, two networks, weights apart": (
        lambda: _two(lambda name: apart(make_program(npu="ethos-u65-256", name=name))),
        "", LIBRARY_ONLY, _MVE,
    ),
    "Ethos-U85": (
        lambda: make_program(npu="ethos-u85-256"), "corstone320", LIBRARY_ONLY, _MVE,
    ),
    "Ethos-U85, two networks, plain C": (
        lambda: _two(lambda name: make_program(IoStyle.CALLER, "ethos-u85-256", name)),
        "corstone320", LIBRARY_ONLY, (*_MVE, _PLAIN),
    ),
    "Zephyr": (make_program, "corstone300", ZEPHYR, _MVE),
    "graphs on the CPU, one with a state": (_graphs, "", LIBRARY_ONLY, _MVE),
}  # fmt: skip
"""Programs, a board or any, a platform, and macros."""
KERNELS = {
    "Helium": ("helium", _MVE),
    "DSP": ("dsp", _DSP),
    "Cortex-M0+": ("thumb", _M0),
    "float32, Helium": ("floats", _MVE),
    "float32, floating-point unit": ("floats", _FPU),
    "float32, neither": ("floats", _M0),
    "Helium's, plain C": ("helium", (*_MVE, _PLAIN)),
    "DSP's, plain C": ("dsp", (*_DSP, _PLAIN)),
    "Cortex-M0+'s, plain C": ("thumb", (*_M0, _PLAIN)),
}
_TOOLS = frozenset({"bell.c", "native.c", "native_host.c"})
"""Files of Zephyr's module for QEMU and for native_sim, besides its server."""


def _library(kind: str, place: Path) -> tuple[frozenset[Finding], bytes, tuple[str, ...]]:
    make, board, platform, macros = LIBRARIES[kind]
    programs = make()
    project = render(programs, load_board(board) if board else any_board(), platform=platform)
    for path in project.library:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(project.files[path])
    kernels = {file.name for file in template_folder("kernels").rglob("*.c")}
    files = [file for file in sorted((place / "model").rglob("*.c")) if file.name not in kernels]
    files = [file for file in files if file.name not in _TOOLS and file.parent.name != "server"]
    assert len(files) >= 8
    found = findings(place / "model", files, macros)
    return found, project.files[f"model/{RECORD}"], project.names


def _kernels(kind: str, place: Path) -> tuple[frozenset[Finding], bytes, tuple[str, ...]]:
    folder, macros = KERNELS[kind]
    write_kernels(place)
    files, headers = sorted(place.glob(f"{folder}/*.c")), sorted(place.glob("*.h"))
    assert len(files) >= 8
    record = deviations({file.name: file.read_bytes() for file in files + headers}, [])
    return findings(place, files, macros), record, ()


def _common(file: str, names: Sequence[str]) -> str:
    """Return a file's name as the record's source has it."""
    own = max((name for name in names if re.match(rf"{name}[._]", file)), key=len, default=None)
    return file.removeprefix("ethosgen_") if own is None else "own" + file.removeprefix(own)


@pytest.mark.slow
@needs_cppcheck
def test_the_record_has_each_finding_and_each_place_has_one(tmp_path: Path) -> None:
    declare_structs()
    kinds = [*KERNELS, *LIBRARIES]

    def check(kind: str) -> tuple[frozenset[Finding], bytes, tuple[str, ...]]:
        place = tmp_path / str(kinds.index(kind))
        place.mkdir()
        return _kernels(kind, place) if kind in KERNELS else _library(kind, place)

    with ThreadPoolExecutor(2) as pool:
        checked = dict(zip(kinds, pool.map(check, kinds), strict=True))
    met: set[tuple[str, str]] = set()
    for kind, (found, record, names) in checked.items():
        bad = {f for f in found if not f.is_advisory}
        places = set(_PLACE.findall(record.decode()))
        print(f"{kind}: {len(bad)} required, {len(found) - len(bad)} advisory")
        assert not {f for f in bad if f.rule in MANDATORY}, kind
        assert not sorted(f for f in bad if (f.rule, f.file) not in places), kind
        met |= {(f.rule, _common(f.file, names)) for f in bad}
    named = [d for d in DEVIATIONS if not d.places.startswith("*")]
    assert {d.rule for d in DEVIATIONS} == {rule for rule, _ in met}
    assert not [(d.rule, p) for d in named for p in d.places.split() if (d.rule, p) not in met]
