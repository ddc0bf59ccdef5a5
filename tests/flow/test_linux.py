"""Networks on Linux: verified with QEMU's user mode, an accelerator in C++ among them."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.errors import InputError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.plugins.toy.toy_plugin.adder import DRIVER, HEADER
from tests.support.needs import needs_gcc, needs_qemu_user
from tests.support.recipes import recipe
from tests.support.toy_accelerator import TOML, changed, sums_file, write_folder

CXX_TOML = changed(
    'sources = ["toy_add.c"]\n',
    'sources = ["toy_add.cpp"]\nplatforms = ["linux"]\nlink = ["pthread"]\nhost = false\n',
    TOML,
)
CXX_HEADER = f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{HEADER}#ifdef __cplusplus\n}}\n#endif\n'
CXX_DRIVER = """\
#include "toy_add.h"
#include <algorithm>
#include <mutex>

namespace {
std::mutex lock;
}

""" + DRIVER.replace(HEADER, "").replace(
    "total > 127 ? 127 : total < -128 ? -128 : total", "std::min(std::max(total, -128), 127)"
).replace("{\n    for", "{\n    std::lock_guard<std::mutex> guard(lock);\n    for")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return sums_file(tmp_path / "sums.tflite")


def adder(place: Path, toml: str = CXX_TOML) -> Path:
    return write_folder(place, toml, CXX_HEADER, toy_add__cpp=CXX_DRIVER)


@needs_qemu_user
def test_a_network_with_an_accelerator_in_cxx_equals_the_oracle(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for flags in ("CFLAGS", "CXXFLAGS"):
        monkeypatch.setenv(flags, "-Werror")
    report = flow.verify(
        recipe(
            model,
            board="aarch64-linux",
            platform="linux",
            accelerators=(str(adder(tmp_path / "toy")),),
        ),
        flow.RunOptions(Inputs(None, 4, 0)),
        watch=Watch(),
    )
    assert isinstance(report, Report)
    assert report.passed and (report.plan.npu, report.on) == ("none", "qemu")
    assert report.plan.shares[0].partitions == 2
    assert report.run_ns is not None and report.run_ns["least"] <= report.run_ns["median"]
    assert report.stack_bytes is None and report.cpu_instructions is None


def create(model: Path, place: Path, folder: Path, platform: str, board: str) -> None:
    flow.create_project(
        recipe(model, board=board, platform=platform, npu="none", accelerators=(str(folder),)),
        directory=place,
        watch=Watch(),
    )


@needs_gcc
@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (CXX_TOML, "'toy' is only for --platform linux, not baremetal; use that, or omit --acc"),
        (
            CXX_TOML.replace('platforms = ["linux"]\n', ""),
            r"'toy/toy_add\.cpp' of the accelerator 'toy' is C\+\+, but a baremetal project",
        ),
    ],
)
def test_what_only_linux_has_is_refused_elsewhere(
    tmp_path: Path, model: Path, toml: str, said: str
) -> None:
    place = tmp_path / "p"
    with pytest.raises(InputError, match=said):
        create(model, place, adder(tmp_path / "toy", toml), "baremetal", "corstone300")
    assert not place.exists()


@pytest.mark.parametrize(
    ("board", "platform", "npu", "said"),
    [
        ("aarch64-linux", "linux", "ethos-u55-128", "an Ethos-U under Linux needs its kernel dr"),
        ("corstone300", "linux", None, "'corstone300' has no platform 'linux'"),
        ("aarch64-linux", "baremetal", None, "'aarch64-linux' has no platform 'baremetal'"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, model: Path, board: str, platform: str, npu: str | None, said: str
) -> None:
    asked = recipe(model, board=board, platform=platform, npu=npu)
    with pytest.raises(InputError, match=said):
        flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    assert not (tmp_path / "p").exists()
