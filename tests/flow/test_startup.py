"""Start-up of a bare-metal project: what runs before main(), and what it leaves on the stack."""

import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.project import write
from ethosgen.values.errors import TargetError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.golden_project import PLACE, render_golden
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe
from tests.support.small_models import image_net

CPP = """
#include <stdint.h>
extern "C" { uint32_t early, order; bool constructed(void); }
namespace {
__attribute__((constructor(101))) void first() { order = order * 10 + 1; }
void earliest() { early = 7; }
__attribute__((section(".preinit_array"), used)) void (*const before)() = earliest;
class Filter {
public:
    explicit Filter(uint32_t taps) : taps_(taps + early) { order = order * 10 + 2; }
    ~Filter() { order = 0; }
    uint32_t taps() const { return taps_; }
private:
    uint32_t taps_;
};
volatile uint32_t wanted = 35;
Filter filter(wanted);
}
bool constructed(void) { return filter.taps() == 42 && order == 12; }
"""


@needs_qemu
def test_constructors_run_before_main(tmp_path: Path) -> None:
    """Add a C++ file with a global object; main() checks that it was constructed."""
    place = tmp_path / "p"
    network = image_net(tmp_path / "image_net.tflite")
    flow.create_project(recipe(network), directory=place, watch=Watch())
    (place / "app" / "filter.cpp").write_text(CPP)
    edit(place / "CMakeLists.txt", "_firmware C)", "_firmware C CXX)")
    # Debian's libstdc++ for it is a package of its own, which nothing here needs.
    edit(place / "CMakeLists.txt", "  app/server.c\n", "  app/server.c\n  app/filter.cpp\n")
    edit(place / "CMakeLists.txt", "  C_STANDARD 11\n", "  C_STANDARD 11\n  LINKER_LANGUAGE C\n")
    edit(place / "app" / "main.c", "int main(", "bool constructed(void);\nint main(")
    edit(
        place / "app" / "main.c",
        "    board_init();\n",
        "    if (!constructed()) {\n        return 0;\n    }\n    board_init();\n",
    )
    flow.build_project(place, watch=Watch())
    inputs = Inputs(None, 1, 0)
    report = flow.run_project(place, flow.RunOptions(inputs), watch=Watch())
    assert isinstance(report, Report) and report.passed
    edit(place / "app" / "filter.cpp", "== 42", "== 43")
    flow.build_project(place, watch=Watch())
    with pytest.raises(TargetError):
        flow.run_project(place, flow.RunOptions(inputs), watch=Watch())


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_the_stack_pointer_is_read_by_an_instruction() -> None:
    """A variable bound to sp but never set is undefined: clang removes the painting."""
    source = (PLACE / "board" / "startup.c").read_text()
    assert "register uint32_t" not in source
    assert '"mov %0, sp" : "=r"(stack_pointer)' in source


@pytest.mark.compiler("clang")
@pytest.mark.parametrize("level", ["-Os", "-O2"])
def test_clang_paints_the_stack(tmp_path: Path, level: str) -> None:
    write(render_golden(), tmp_path)
    folders = [f"-I{tmp_path / folder}" for folder in ("board", "app", "model")]
    command = ["clang", "--target=arm-none-eabi", "-mcpu=cortex-m55", "-mthumb", "-ffreestanding"]
    command += [*folders, "-DBOARD_ON_QEMU", level, "-S", "-o", "-"]
    done = subprocess.run(
        [*command, str(tmp_path / "board" / "startup.c")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    handler = done.stdout.split("Reset_Handler:", 1)[1].split(".fnend", 1)[0]
    assert "57005" in handler or "3735928559" in handler or "-559038737" in handler
