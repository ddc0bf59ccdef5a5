"""The rules of MISRA C:2012 in generated libraries, by cppcheck and its addon, and their record."""

import re
import subprocess
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.board import Board, load_board
from ethosgen.board.any_board import any_board
from ethosgen.host.resources import template_folder
from ethosgen.platforms import BAREMETAL, LIBRARY_ONLY, ZEPHYR
from ethosgen.project import Project
from ethosgen.project.misra import DEVIATIONS, RECORD, deviations
from ethosgen.project.rendering import render
from ethosgen.values.handover import Handover, SharedWindow
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from tests.support.aot_harness import cpu_plan
from tests.support.catalogue.recurrent import lstm
from tests.support.device_programs import make_device_program, make_devices
from tests.support.kernel_files import declare_structs, write_kernels
from tests.support.misra import ADVISORY, MANDATORY, MisraCheck, MisraFinding
from tests.support.networks import NetworkBuilder
from tests.support.programs import make_program
from tests.support.project_kinds import HANDOVER, apart

needs_cppcheck = pytest.mark.compiler("cppcheck")

_MVE = ("__ARM_FEATURE_MVE=3", "__ARM_ARCH=8", "__ARM_FP=14", "__thumb2__=1")
_DSP = ("__ARM_FEATURE_DSP=1", "__ARM_FEATURE_SIMD32=1", "__ARM_ARCH=7", "__thumb2__=1")
_M3 = ("__ARM_ARCH=7", "__thumb2__=1")
_M0 = ("__ARM_ARCH=6",)
_FPU = (*_DSP, "__ARM_FP=4")
_PLAIN = "ETHOSGEN_PLAIN_C=1"
_ZEPHYR = (
    *_MVE,
    "DT_NODE_HAS_PROP(node,name)=1",
    "DT_NODE_EXISTS(node)=1",
    "DT_HAS_COMPAT_STATUS_OKAY(name)=1",
    "DT_FOREACH_PROP_ELEM(node,name,macro)=",
    "__weak=__attribute__((weak))",
    "__noinline=",
)
"""Zephyr's macros that preprocessing and parsing need; its other functions stay unknown."""
_PLACE = re.compile(r"^misra-c2012-([\d.]+):\*(.+)$", re.MULTILINE)


def test_no_deviation_is_from_a_mandatory_rule_and_none_is_needless() -> None:
    rules = [deviation.rule for deviation in DEVIATIONS]
    assert len(rules) == len(set(rules))
    assert not MANDATORY & set(rules)
    assert not ADVISORY & set(rules), "advisory rules need no deviation"


def test_the_record_names_rules_places_and_reasons() -> None:
    project = render(make_program(), load_board("corstone300"))
    text = project.files[f"model/{RECORD}"].decode()
    places = _PLACE.findall(text)
    assert ("8.5", "plus_one.c") in places
    own = {path.rpartition("/")[2] for path in project.library}
    assert {file for _, file in places} <= own
    reasons = set(re.findall(r"^# Rule ([\d.]+): \w", text, re.MULTILINE))
    assert {rule for rule, _ in places} == reasons


_OWN = """\
unsigned int own;
unsigned int other;
void set(void);
void set(void)
{
    own = 0x80000000; other = 0x80000001;
}
"""


@needs_cppcheck
def test_each_finding_in_a_line_is_found(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(_OWN)
    findings = MisraCheck().findings(tmp_path, [tmp_path / "own.c"], ())
    assert [(f.line, f.column) for f in sorted(findings) if f.rule == "7.2"] == [(6, 11), (6, 31)]
    assert "8.4" in {f.rule for f in findings}


@needs_cppcheck
def test_a_place_in_the_record_is_suppressed(tmp_path: Path) -> None:
    record = tmp_path / RECORD
    (tmp_path / "own.c").write_text(_OWN)
    command = ["cppcheck", "-q", "--addon=misra", "--template={id}", "own.c"]

    def rules() -> set[str]:
        more = [f"--suppressions-list={record}"] if record.exists() else []
        done = subprocess.run(
            [*command, *more], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return set(re.findall(r"misra-c2012-([\d.]+)", done.stderr))

    before = rules()
    assert {"7.2", "8.4"} <= before
    record.write_text("# why\nmisra-c2012-7.2:*own.c\n")
    assert "7.2" not in rules()
    assert "8.4" in rules()


@needs_cppcheck
def test_a_file_is_checked_again_only_if_what_it_reads_differs(tmp_path: Path) -> None:
    check = MisraCheck()

    def checked(folder: str, header: str, *macros: str) -> int:
        place, before = tmp_path / folder, check.runs
        place.mkdir()
        (place / "own.h").write_text(header)
        (place / "own.c").write_text('#include "own.h"\nint own(void)\n{\n    return 0;\n}\n')
        check.findings(place, [place / "own.c"], macros)
        return check.runs - before

    assert checked("a", "int own(void);\n") == 1
    assert checked("b", "int own(void);\n", "OTHER=1") == 0
    assert checked("c", "int own(void); /* else */\n") == 1
    assert checked("d", "#ifdef OTHER\n#endif\nint own(void);\n") == 1
    assert checked("e", "#ifdef OTHER\n#endif\nint own(void);\n", "OTHER=1") == 1


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


def _library(
    programs: Program | Sequence[Program],
    board: str = "",
    platform: str = LIBRARY_ONLY,
    handover: Handover | None = None,
) -> Project:
    place = load_board(board) if board else any_board()
    return render(programs, place, platform=platform, handover=handover)


def _devices(place: Path, platform: str) -> Project:
    return _library(make_device_program(make_devices(place), has_npu=True), "corstone300", platform)


def _element(has_dcache: bool) -> Project:
    """Return an element of a pipeline whose frames are in shared memory."""
    board: Board = load_board("corstone300")
    board = board.model_copy(update={"cpu": board.cpu.model_copy(update={"dcache": has_dcache})})
    window = SharedWindow(0x21000000, 4096)
    lines = [(replace(line, window=window),) for line in (*HANDOVER.before, *HANDOVER.behind)]
    shared = replace(HANDOVER, before=lines[0], behind=lines[1])
    return render(make_program(), board, handover=shared)


LIBRARIES: dict[str, tuple[Callable[[Path], Project], Sequence[str]]] = {
    "Ethos-U55": (lambda _: _library(make_program(), "corstone300"), _MVE),
    "Ethos-U55, caller's tensors": (
        lambda _: _library(make_program(IoStyle.CALLER), "corstone300"), _MVE,
    ),
    "Ethos-U65, two networks, weights apart": (
        lambda _: _library(_two(lambda name: apart(make_program(npu="ethos-u65-256", name=name)))),
        _MVE,
    ),
    "Ethos-U85": (lambda _: _library(make_program(npu="ethos-u85-256"), "corstone320"), _MVE),
    "Ethos-U85, two networks, plain C": (
        lambda _: _library(
            _two(lambda name: make_program(IoStyle.CALLER, "ethos-u85-256", name)), "corstone320"
        ),
        (*_MVE, _PLAIN),
    ),
    "Zephyr": (lambda _: _library(make_program(), "corstone300", ZEPHYR), _ZEPHYR),
    "graphs on the CPU, one with a state": (lambda _: _library(_graphs()), _MVE),
    "element, serial lines": (
        lambda _: _library(make_program(), "corstone300", BAREMETAL, HANDOVER), _MVE,
    ),
    "element, shared memory and a data cache": (lambda _: _element(True), _MVE),
    "element, shared memory, plain C": (lambda _: _element(False), (*_MVE, _PLAIN)),
    "devices": (lambda place: _devices(place, BAREMETAL), _MVE),
    "devices, plain C": (lambda place: _devices(place, BAREMETAL), (*_MVE, _PLAIN)),
    "devices, Zephyr": (lambda place: _devices(place, ZEPHYR), _ZEPHYR),
}  # fmt: skip
"""Projects, and macros."""
KERNELS = {
    "Helium": ("helium", _MVE),
    "DSP": ("dsp", _DSP),
    "Cortex-M0+": ("thumb", _M0),
    "Cortex-M3": ("thumb", _M3),
    "DSP's, Cortex-M3": ("dsp", _M3),
    "float32, Helium": ("floats", _MVE),
    "float32, floating-point unit": ("floats", _FPU),
    "float32, neither": ("floats", _M0),
    "Helium's, plain C": ("helium", (*_MVE, _PLAIN)),
    "DSP's, plain C": ("dsp", (*_DSP, _PLAIN)),
    "Cortex-M0+'s, plain C": ("thumb", (*_M0, _PLAIN)),
}
_DRIVERS = frozenset({"adder.c", "negator.c", "toy_devices.h"})
"""The user's drivers of devices, and their header."""


@dataclass(frozen=True)
class _Kind:
    """What cppcheck finds in a kind of library, the record, and the networks' names."""

    findings: frozenset[MisraFinding]
    record: bytes
    names: Collection[str]

    @property
    def bad(self) -> set[MisraFinding]:
        return {finding for finding in self.findings if not finding.is_advisory}


def _checked_library(check: MisraCheck, kind: str, place: Path) -> _Kind:
    make, macros = LIBRARIES[kind]
    project = make(place)
    for path in project.library:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(project.files[path])
    kernels = {file.name for file in template_folder("kernels").rglob("*.c")} | _DRIVERS
    files = [file for file in sorted((place / "model").rglob("*.c")) if file.name not in kernels]
    assert len(files) >= 8
    findings = check.findings(place / "model", files, macros)
    findings = frozenset(finding for finding in findings if finding.file not in _DRIVERS)
    return _Kind(findings, project.files[f"model/{RECORD}"], project.names)


def _checked_kernels(check: MisraCheck, kind: str, place: Path) -> _Kind:
    folder, macros = KERNELS[kind]
    write_kernels(place)
    files, headers = sorted(place.glob(f"{folder}/*.c")), sorted(place.glob("*.h"))
    assert len(files) >= 8
    record = deviations({file.name: file.read_bytes() for file in files + headers}, [])
    return _Kind(check.findings(place, files, macros), record, ())


def _common(file: str, names: Collection[str]) -> str:
    """Return a file's name as the record's source has it."""
    own = max((name for name in names if re.match(rf"{name}[._]", file)), key=len, default=None)
    return file.removeprefix("ethosgen_") if own is None else "own" + file.removeprefix(own)


@pytest.mark.slow
@needs_cppcheck
def test_the_record_has_each_finding_and_each_place_has_one(tmp_path: Path) -> None:
    declare_structs()
    check = MisraCheck()
    checked: dict[str, _Kind] = {}
    for kind in (*KERNELS, *LIBRARIES):
        place = tmp_path / str(len(checked))
        place.mkdir()
        checks = _checked_kernels if kind in KERNELS else _checked_library
        checked[kind] = checks(check, kind, place)
    met: set[tuple[str, str]] = set()
    for kind, facts in checked.items():
        places = set(_PLACE.findall(facts.record.decode()))
        print(f"{kind}: {len(facts.bad)} required, {len(facts.findings) - len(facts.bad)} advisory")
        assert not {f for f in facts.bad if f.rule in MANDATORY}, kind
        assert not sorted(f for f in facts.bad if (f.rule, f.file) not in places), kind
        met |= {(f.rule, _common(f.file, facts.names)) for f in facts.bad}
    named = [d for d in DEVIATIONS if not d.places.startswith("*")]
    assert {d.rule for d in DEVIATIONS} == {rule for rule, _ in met}
    assert not [(d.rule, p) for d in named for p in d.places.split() if (d.rule, p) not in met]
