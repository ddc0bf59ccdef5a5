"""The bound of the stack against what GCC says of each function, and what QEMU's runs use."""

import re
import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.host.tools import GCC
from ethosgen.project import open_project
from ethosgen.project.info import ProjectInfo
from ethosgen.proof.frames import FrameWalk
from ethosgen.proof.image import read_image
from ethosgen.proof.stack import FloatFrames, Need, bound_stack, stack_need
from ethosgen.proof.unbounded import UnboundedError
from ethosgen.targets.stack_bounds import MOST_ABOVE, TIGHT, StackBounds
from ethosgen.toolchain import build
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import BuildError, TargetError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_arm_gcc, needs_build, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.patient_session import patient_session
from tests.support.recipes import recipe

NETWORK = ROOT / "demo" / "digits_int8.tflite"
WORDS = ROOT / "demo" / "kws_int8.tflite"
CORES = {
    "cortex-m0": ["-mcpu=cortex-m0"],
    "cortex-m4": ["-mcpu=cortex-m4", "-mfloat-abi=hard"],
    "cortex-m55": ["-mcpu=cortex-m55", "-mfloat-abi=hard"],
}
BOARDS = ("microbit", "mps2-an385", "mps2-an386", "mps2-an505")
TOLERANCE = MOST_ABOVE
_SU = re.compile(r"[^:]+:\d+:\d+:(\S+)\t(\d+)\t(static|dynamic\S*)")


def frames_by_gcc(folder: Path) -> dict[str, int]:
    """Return the bytes of each static frame in the files of -fstack-usage."""
    matches = [m for path in folder.rglob("*.su") for m in _SU.finditer(path.read_text())]
    frames = {m.group(1): int(m.group(2)) for m in matches if m.group(3) == "static"}
    twice = [name for name in frames if sum(m.group(1) == name for m in matches) > 1]
    return {name: size for name, size in frames.items() if name not in twice}


def frames_of_file(folder: Path, file: str, *names: str) -> int:
    """Return the sum of what GCC says of functions of a file."""
    matches = [m for path in folder.rglob("*.su") for m in _SU.finditer(path.read_text())]
    sizes = {m.group(1): int(m.group(2)) for m in matches if m.group(0).lstrip().startswith(file)}
    return sum(sizes[name] for name in names)


def project_of(board: str, directory: Path, network: Path = NETWORK) -> ProjectInfo:
    asked = recipe(network, board=board, check=False)
    flow.create_project(asked, directory=directory, watch=Watch())
    return open_project(directory)


def link(source: str, place: Path, *options: str, core: str = "cortex-m4") -> Path:
    """Compile a program whose entry is net_run()."""
    (place / "net.c").write_text(source)
    elf = place / "net.elf"
    command = [str(GCC.find()), *CORES[core], "-mthumb", "-fstack-usage", "-ffunction-sections"]
    command += ["-nostdlib", "-Wl,-e,net_run", *options, "net.c", "-lgcc", "-o", elf.name]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return elf


def need(elf: Path) -> Need:
    return stack_need(elf, "net", FloatFrames.NEVER)


CHAIN = """
volatile int sink;
__attribute__((noinline)) int leaf(int n) { volatile char a[100]; a[n] = 1; return a[n] + n; }
__attribute__((noinline)) int other(int n) { volatile int a[700]; a[n] = 1; return leaf(a[n]) + n; }
__attribute__((noinline)) int pick(int n) {
    switch (n) {
    case 0: return leaf(3); case 1: return other(4); case 2: return leaf(9) * 7; case 3: sink = 4;
    break; case 4: sink = leaf(8); break; case 5: return leaf(2) / 3; case 6: sink = 0; break;
    case 7: sink = leaf(1) + other(n); }
    return n + 1;
}
int net_run(void) { volatile int a[10]; a[sink] = pick(sink); return a[sink] + leaf(sink); }
"""


@needs_arm_gcc
@pytest.mark.parametrize("level", ["-O0", "-Os", "-O2", "-O3"])
@pytest.mark.parametrize("core", CORES)
def test_the_sum_along_the_deepest_calls_is_gccs(core: str, level: str, tmp_path: Path) -> None:
    elf = link(CHAIN, tmp_path, level, "-fno-optimize-sibling-calls", "-fno-inline", core=core)
    frames = frames_by_gcc(tmp_path)
    path = ["net_run", "pick", "other", "leaf"]
    needed = need(elf)
    assert [name.removesuffix("()") for name in needed.path] == path
    assert needed.bytes == sum(frames[name] for name in path)


@needs_build
@pytest.mark.parametrize("board", ["microbit", "mps2-an386", "corstone300"])
def test_each_frame_of_a_firmware_is_gccs(
    board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-fstack-usage")
    project_of(board, tmp_path / "p", WORDS)
    elf = build(tmp_path / "p").elf
    image, frames = read_image(elf), frames_by_gcc(tmp_path / "p" / "build")
    compared = {name: size for name, size in frames.items() if name in image.functions}
    assert len(compared) > 30
    naked = {"Fault_Handler"}
    for name, size in compared.items():
        if name not in naked and "naked" not in name and size:
            frame = FrameWalk(image, image.functions[name]).run()
            assert (name, frame.deepest, frame.ends | {0}) == (name, size, {0})


@needs_arm_gcc
def test_marks_of_debug_information_are_no_addresses(tmp_path: Path) -> None:
    """Such as those of .debug_frame, in a firmware whose code begins at 0."""
    marks = '__asm__(".section .notes\\n.rept 99\\nnop\\n.word 1\\n.endr\\n.text\\n");'
    place = ["-Os", "-Wl,-Ttext=0"]
    assert need(link(marks + CHAIN, tmp_path, *place)) == need(link(CHAIN, tmp_path, *place))


@needs_arm_gcc
@pytest.mark.parametrize(
    ("switch", "frames", "pushed"),
    [
        ("_isr_wrapper", FloatFrames.NEVER, 36),
        ("_isr_wrapper", FloatFrames.ALWAYS, 108),
        ("vTaskSwitchContext", FloatFrames.NEVER, 36 + 44),
        ("vTaskSwitchContext", FloatFrames.ALWAYS, 108 + 44 + 64),
    ],
)
def test_a_thread_needs_what_an_exception_and_a_switch_push(
    switch: str, frames: FloatFrames, pushed: int, tmp_path: Path
) -> None:
    handler = f"__attribute__((used)) void {switch}(void) {{ volatile int a[99]; a[sink] = 1; }}"
    source = f"{CHAIN}{handler}"
    bare = need(link(CHAIN, tmp_path, "-Os"))
    needed = stack_need(link(source, tmp_path, "-Os"), "net", frames)
    assert (needed.bytes, needed.interrupt) == (bare.bytes + pushed, pushed)
    assert needed.in_thread and not bare.in_thread


REFUSED = {
    "recursion": ("int net_run(int n) { return n ? net_run(n - 1) * n : 1; }", "recursion"),
    "a loop of calls": (
        "int odd(int); __attribute__((noinline)) int even(int n) { return n ? odd(n - 1) + n : 1; }"
        "__attribute__((noinline)) int odd(int n) { return n ? even(n - 1) - n : 0; }"
        "int net_run(int n) { return even(n) + 1; }",
        "calls even.*recursion",
    ),
    "an array of variable length": (
        "void use(char *); __attribute__((noinline)) void use(char *p) { *(volatile char *)p = 0; }"
        "int net_run(int n) { char a[n]; use(a); return a[0]; }",
        "only known at run time",
    ),
    "alloca in a loop": (
        "char *last; int net_run(int n) { while (n--) last = __builtin_alloca(16); return *last; }",
        "in a loop|only known at run time",
    ),
    "an unknown pointer": ("int net_run(int (*f)(void)) { return f() + 1; }", "only known at run"),
}


@needs_arm_gcc
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("what", REFUSED)
def test_a_stack_without_a_bound_is_refused(what: str, core: str, tmp_path: Path) -> None:
    source, why = REFUSED[what]
    elf = link(source, tmp_path, "-Os", "-fno-optimize-sibling-calls", core=core)
    with pytest.raises(UnboundedError, match=why) as caught:
        need(elf)
    assert caught.value.is_fault == (what != "an unknown pointer")


POINTERS = """
volatile int sink;
__attribute__((noinline)) int small(int n) { return n + sink; }
__attribute__((noinline)) int large(int n) { volatile char a[300]; a[n] = 1; return a[n]; }
int (*const table[])(int) = {small, large};
__attribute__((noinline)) int call(int (*f)(int), int n) { return f(n) + 1; }
int net_run(void) { return %s; }
"""


@needs_arm_gcc
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("call", ["table[sink](1) + 1", "call(sink ? small : large, 1) + 1"])
def test_pointers_reach_what_a_caller_takes(call: str, core: str, tmp_path: Path) -> None:
    elf = link(POINTERS % call, tmp_path, "-O1", "-fno-inline", core=core)
    path = need(elf).path
    assert path[0] == "net_run()" and path[-1] == "large()"


@needs_arm_gcc
def test_static_functions_of_one_name_are_several(tmp_path: Path) -> None:
    """Two files may each have a function `same`; the second was taken for a part of its caller."""
    static = "static __attribute__((noinline)) int same(int n) { volatile char a[%d]; a[n] = 1; "
    static += "return a[n]; }"
    (tmp_path / "one.c").write_text(static % 8 + "int one(int n) { return same(n) + 1; }")
    source = f"int one(int); {static % 400} int net_run(int n) {{ return one(n) + same(n); }}"
    needed = need(link(source, tmp_path, "-O1", "one.c"))
    assert needed.path == ("net_run()", "same()")
    assert needed.bytes == frames_of_file(tmp_path, "net.c", "net_run", "same")


@needs_build
@pytest.mark.compiler("clang-19")
@pytest.mark.parametrize("board", ["corstone300", "mps2-an505"])
def test_kernels_that_clang_compiled_have_a_bound(board: str, tmp_path: Path) -> None:
    place = tmp_path / "p"
    flow.create_project(
        recipe(WORDS, board=board, npu=NO_NPU, check=False), directory=place, watch=Watch()
    )
    file = str(place / "cmake" / "clang.cmake")
    options = {"CMAKE_TOOLCHAIN_FILE": file, "CMAKE_C_COMPILER": "clang-19"}
    bound = bound_stack(build(place, "qemu", options).elf, "kws_int8", FloatFrames.IF_USED)
    assert bound.need is not None, bound.why
    assert len(bound.need.path) > 2


@needs_arm_gcc
def test_a_network_that_is_not_there_has_no_bound(tmp_path: Path) -> None:
    elf = link("int net_run(void) { return 1; }", tmp_path)
    bound = bound_stack(elf, "other", FloatFrames.NEVER)
    assert bound.need is None and not bound.is_fault
    assert bound.why == "the firmware has no function other_run()"


def measured(directory: Path, retry_s: float = 60) -> tuple[Need, int]:
    """Build a project and run it on QEMU; return the bound, and the most that a run used.

    A request that is repeated during the run interrupts it, so this waits long before it does that.
    """
    (bound,) = flow.build_project(directory, watch=Watch()).stack
    assert bound.need is not None
    options = flow.RunOptions(Inputs(None, 2, 1))
    with patient_session(retry_s):
        report = flow.run_project(directory, options, watch=Watch())
    assert isinstance(report, Report) and report.run_stack is not None
    use, need = report.run_stack, bound.need
    assert (use.bound, use.interrupt) == (need.called + need.interrupt, need.interrupt)
    return need, use.used


@needs_qemu
@pytest.mark.parametrize("board", BOARDS)
def test_a_run_uses_the_bound_and_not_much_less(board: str, tmp_path: Path) -> None:
    project_of(board, tmp_path / "p")
    bound, used = measured(tmp_path / "p")
    assert bound.interrupt == 0
    assert 0 < used <= bound.bytes <= used + TOLERANCE


@needs_qemu
@pytest.mark.parametrize("board", [*BOARDS[1:], "qemu-cortex-m0", "corstone300"])
def test_a_run_of_convolutions_uses_the_bound_and_not_much_less(board: str, tmp_path: Path) -> None:
    asked = recipe(WORDS, board=board, npu=NO_NPU, check=False)
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    bound, used = measured(tmp_path / "p")
    assert bound.interrupt == 0
    assert 0 < used <= bound.bytes <= used + TOLERANCE


@needs_qemu
def test_what_our_application_adds_to_a_run_is_in_its_bound(tmp_path: Path) -> None:
    """With the caller's tensors it has a function around NAME_run(), which fills structs."""
    net = NetworkBuilder("n")
    pairs = [[net.input((1, 8)), net.input((1, 8))] for _ in range(6)]
    path = tmp_path / "n.tflite"
    path.write_bytes(net.build(*(net.add(*pair) for pair in pairs)))
    asked = recipe(path, board="corstone300", npu=NO_NPU, check=False, io="caller")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    bound, used = measured(tmp_path / "p")
    assert bound.run < used <= bound.called <= used + TOLERANCE


@needs_qemu
def test_a_request_that_is_repeated_may_interrupt_a_run(tmp_path: Path) -> None:
    """The console's interrupt comes on top of the bound, and is in what a run may count."""
    asked = recipe(WORDS, board="corstone300", npu=NO_NPU, check=False)
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    bound, used = measured(tmp_path / "p", retry_s=0.001)
    assert bound.measured is not None and bound.bytes < bound.measured
    assert 0 < used <= bound.measured


@needs_qemu
def test_a_run_with_an_npu_has_its_interrupt_in_the_bound(tmp_path: Path) -> None:
    """The bound has the interrupt at the deepest place; in a run it comes during the wait.

    No instruction of this firmware uses floating point, so the interrupt pushes 32 bytes.
    """
    project_of("corstone300", tmp_path / "p")
    bound, used = measured(tmp_path / "p")
    assert 32 < bound.interrupt < 104 < used <= bound.bytes <= used + TOLERANCE


@needs_qemu
def test_a_secure_side_may_leave_floating_point(tmp_path: Path) -> None:
    """It clears these registers at each call, so the interrupt of a Non-secure run pushes them."""
    asked = recipe(NETWORK, board="corstone300", check=False, security="non-secure")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    bound, used = measured(tmp_path / "p")
    assert 104 < bound.interrupt < used <= bound.bytes <= used + TOLERANCE


@needs_arm_gcc
@pytest.mark.parametrize(("body", "is_float"), [
    ("return x * 3 / y;", False), ("return (int)((float)x * (float)y);", True),
    ("long long z = (long long)x * y; return (int)(z >> 40) + __builtin_clz((unsigned)x);", False),
])  # fmt: skip
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_float_instructions_are_found(core: str, body: str, is_float: bool, tmp_path: Path) -> None:
    elf = link(f"int net_run(int x, int y) {{ {body} }}", tmp_path, core=core)
    assert read_image(elf).has_floats is is_float


@needs_build
def test_one_build_tells_the_application_its_bound(tmp_path: Path) -> None:
    info = project_of("mps2-an386", tmp_path / "p")
    source = tmp_path / "p" / "app" / "main.c"
    lines = [
        '#include "digits_int8.h"',
        "#ifndef DIGITS_INT8_STACK_BYTES",
        "#define DIGITS_INT8_STACK_BYTES 1u",
        "#endif",
        "extern const unsigned known_bound;",
        "const unsigned known_bound = DIGITS_INT8_STACK_BYTES;",
    ]
    text = source.read_text().replace("int main(void)\n", "\n".join([*lines, "int main(void)\n"]))
    use = "    (void)*(const volatile unsigned *)&known_bound;\n"
    source.write_text(text.replace("int main(void)\n{\n", f"int main(void)\n{{\n{use}"))
    built = flow.build_project(tmp_path / "p", watch=Watch())
    (bound,) = built.stack
    assert bound.need is not None and bound.network == info.network.name
    addr, _ = read_image(built.elf).objects["known_bound"]
    assert int.from_bytes(read_image(built.elf).bytes_at(addr, 4), "little") == bound.need.bytes


@needs_build
def test_a_recursion_in_an_applications_hook_fails_the_build(tmp_path: Path) -> None:
    project_of("corstone300", tmp_path / "p")
    source = tmp_path / "p" / "app" / "main.c"
    hook = "void ethosgen_npu_wait_begin(void)\n{\n"
    assert hook in source.read_text()
    again = "ethosgen_npu_wait_begin();"
    call = f"    if (wait_ticks > 3u) {{ wait_ticks--; {again} wait_ticks++; }}\n"
    source.write_text(source.read_text().replace(hook, hook + call))
    sentence = (
        r"the stack of network 'digits_int8' in '.*' has no bound, because .*recursion; write"
    )
    with pytest.raises(BuildError, match=sentence):
        flow.build_project(tmp_path / "p", watch=Watch())


@needs_build
def test_a_run_that_uses_more_than_the_bound_fails(tmp_path: Path) -> None:
    info = project_of("mps2-an386", tmp_path / "p")
    built = flow.build_project(tmp_path / "p", watch=Watch())
    bounds = StackBounds(built.elf, info)
    (bound,) = built.stack
    assert bound.need is not None and bound.need.measured is not None
    bounds.check(0, 0)
    bounds.check(0, bound.need.measured)
    with pytest.raises(TargetError, match=r"digits_int8_run\(\) used \d+ bytes of stack, but"):
        bounds.check(0, bound.need.measured + 4)


@needs_build
def test_a_bound_far_above_what_runs_use_fails_only_if_it_must_be_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    info = project_of("mps2-an386", tmp_path / "p")
    built = flow.build_project(tmp_path / "p", watch=Watch())
    (bound,) = built.stack
    assert bound.need is not None
    bounds = StackBounds(built.elf, info)
    bounds.check(0, bound.need.run - MOST_ABOVE - 4)
    monkeypatch.delenv(TIGHT, raising=False)
    with caplog.at_level("INFO"):
        bounds.compare()
    assert "digits_int8_run() in" in caplog.text and "64 more are usual" in caplog.text
    monkeypatch.setenv(TIGHT, "1")
    with pytest.raises(TargetError, match=r"is bounded by .* bytes of stack, but these runs used"):
        bounds.compare()
    bounds.check(0, bound.need.run - MOST_ABOVE)
    bounds.compare()
    bounds.check(0, 4, is_whole=False)
    bounds.compare()
