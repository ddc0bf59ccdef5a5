"""Analyzers of GCC and Clang find nothing in kernels and drivers but named false alarms."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.project.test_compilers import newlib_headers
from tests.support.kernel_files import write_kernels
from tests.support.project_kinds import projects

CORES = {
    "helium": ("cortex-m55", "hard"),
    "dsp": ("cortex-m4", "hard"),
    "thumb": ("cortex-m0plus", "soft"),
    "floats": ("cortex-m55", "hard"),
    "u55": ("cortex-m55", "hard"),
    "u85": ("cortex-m55", "hard"),
}
LIBRARIES = {"u55": "bare metal", "u85": "U85"}
"""By kind, the project whose library has the NPU's driver."""
WARNINGS = "-Wall -Wextra -Wconversion -Wcast-qual -Wstrict-aliasing=2".split()
_ASSEMBLY = "assembly writes it through a pointer, which the analyzer does not see"
_UNSET = "-Wanalyzer-use-of-uninitialized-value"
GCC_ALARMS = {
    "helium": {("ethosgen_depthwise_s16.c", _UNSET): "vst2q writes totals"},
    "thumb": {("ethosgen_thumb_pairs.c", _UNSET): _ASSEMBLY},
}
CLANG_ALARMS = {
    "helium": {
        ("ethosgen_svdf.c", "core.uninitialized.Assign"): "4 units of rank 2 are 2 blocks of 4",
    },
    "dsp": {
        ("ethosgen_dsp_matrix_s16.c", "core.uninitialized.Assign"): _ASSEMBLY,
        ("ethosgen_dsp_matrix_s16.c", "core.UndefinedBinaryOperatorResult"): _ASSEMBLY,
        ("ethosgen_dsp_matrix.c", "core.StackAddressEscape"): "the pointer is not read afterwards",
    },
    "thumb": {("ethosgen_thumb_pairs.c", "core.uninitialized.Assign"): _ASSEMBLY},
}
"""False alarms: by kind, file and warning, the reason why nothing is wrong there."""
_GCC = re.compile(r"([\w.]+):\d+:\d+: warning: .*\[(-W[\w-]+)[\w=\]]")
_CLANG = re.compile(r"([\w.]+):\d+:\d+: warning: .*\[([\w.]+)\]")


def _alarms(command: list[str], pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {(match[1], match[2]) for match in pattern.finditer(done.stderr)}


def _files(kind: str, place: Path) -> list[Path]:
    """Write kernels, or a library with its headers, and return the C files."""
    if kind not in LIBRARIES:
        write_kernels(place)
        return sorted(place.glob(f"{kind}/*.c"))
    for path, data in projects()[LIBRARIES[kind]].files.items():
        if path.startswith("model/") and path.count("/") == 1:
            (place / Path(path).name).write_bytes(data)
    # Arm's driver, which one of the files calls, is not here.
    return sorted(file for file in place.glob("*.c") if file.name != "ethosgen_npu_core.c")


def _all_alarms(
    start: list[str], end: list[str], place: Path, kind: str, pattern: re.Pattern[str]
) -> set[tuple[str, str]]:
    core, passing = CORES[kind]
    files = _files(kind, place)
    assert len(files) >= 8
    options = [f"-mcpu={core}", "-mthumb", f"-mfloat-abi={passing}", "-std=c11", "-O2"]
    commands = [
        [*start, *options, f"-I{place}", str(file), *end, "-o", str(file.with_suffix(".o"))]
        for file in files
    ]
    with ThreadPoolExecutor(2) as pool:
        return set().union(*pool.map(lambda command: _alarms(command, pattern), commands))


@pytest.mark.slow
@pytest.mark.compiler("arm-none-eabi-gcc")
@pytest.mark.parametrize("kind", CORES)
def test_gcc_finds_nothing(kind: str, tmp_path: Path) -> None:
    start = ["arm-none-eabi-gcc", "-fanalyzer", *WARNINGS, "-c"]
    alarms = _all_alarms(start, [], tmp_path, kind, _GCC)
    assert alarms == GCC_ALARMS.get(kind, {}).keys()


@pytest.mark.slow
@pytest.mark.compiler("arm-none-eabi-gcc", "clang-19")
@pytest.mark.parametrize("kind", CORES)
def test_clang_finds_nothing(kind: str, tmp_path: Path) -> None:
    start = ["clang-19", "--analyze", "--analyzer-output", "text", "--target=arm-none-eabi"]
    start += ["-fshort-enums", "-isystem", newlib_headers()]
    alarms = _all_alarms(start, [], tmp_path, kind, _CLANG)
    assert alarms == CLANG_ALARMS.get(kind, {}).keys()


@pytest.mark.compiler("arm-none-eabi-gcc")
def test_a_fault_is_found(tmp_path: Path) -> None:
    file = tmp_path / "own.c"
    file.write_text("int own(int x);\nint own(int x)\n{\n    int y[2];\n    return y[x & 1];\n}\n")
    command = ["arm-none-eabi-gcc", "-fanalyzer", "-O2", "-c", str(file), "-o", "/dev/null"]
    assert ("own.c", "-Wanalyzer-use-of-uninitialized-value") in _alarms(command, _GCC)
