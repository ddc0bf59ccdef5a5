"""NAME_self_test(): what it finds, in slices of any size, for each kind of network."""

import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow, frontend
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project.weights_file import HEADER_BYTES
from ethosgen.samples.known import are_generated, generated, known_samples
from ethosgen.values.network import Tensor
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.status import Status
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.snippets import all_snippets
from tests.support.stream_networks import valid_at_once, waiting

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
TERSE = [*WARNINGS, "-Wno-misleading-indentation"]
UNTOLD = [*WARNINGS, "-Wno-conversion", "-Wno-sign-conversion"]
"""TVM's C narrows integers that fit."""
PAGE = ROOT / "docs" / "self_test.md"
SLICES = (1, 7, 64, 100_000_000)
COMPARED_BYTES = 48
"""Of a header: all but the name."""

DRIVER = """
#include "net_self_test.h"
#include <stdio.h>
#include <stdlib.h>
{buffers}
int main(int count, char **sizes)
{{
    printf("%d\\n", (int)net_init({file}));
    {before}
    printf("%d\\n", (int)net_self_test({arguments}));
    for (int i = 1; i < count; i++) {{
        struct ethosgen_self_test state = {{0u, 0u, 0u}};
        uint32_t bytes = (uint32_t)strtoul(sizes[i], NULL, 10);
        unsigned calls = 0;
        ethosgen_status status;
        do {{
            status = net_self_test_step(&state, bytes{more});
            calls++;
        }} while (status == ETHOSGEN_MORE);
        unsigned rest = (unsigned)(state.part | state.offset | state.crc);
        printf("%d %u %u\\n", (int)status, calls, rest);
    }}
    {after}
    return 0;
}}
"""


def layers(net: NetworkBuilder) -> list[int]:
    x = net.conv2d(net.input((1, 10, 9, 4)), 8, (3, 3), (2, 2), padding="VALID")
    y = net.add(x, net.conv2d(net.depthwise(x), 8, (1, 1)))
    return [net.softmax(net.fully_connected(net.mean(y, (1, 2)), 4))]


def words(net: NetworkBuilder) -> list[int]:
    """Look up rows: the input is an index, which must be within the table."""
    index = net.input((5,), "int32", None)
    table = net.constant(net.random_integers((6, 12)))
    return [net.apply("GATHER", table, index, axis=0)]


def several(net: NetworkBuilder) -> list[int]:
    x, y = net.input((1, 30), "int16", 0.1, 0), net.input((1, 30), "int16", 0.2, 0)
    return [net.add(x, y), net.mul(x, y)]


def bare(net: NetworkBuilder) -> list[int]:
    """Rearrange only: there are no constants."""
    return [net.reshape(net.input((2, 6)), (3, 4))]


FED = Schedule(stream=Streaming.ALWAYS, feed=True)
STEPPED = Schedule(stream=Streaming.ALWAYS, steps=True)
KINDS: dict[str, tuple[Callable[[NetworkBuilder], list[int]], IoStyle, Schedule]] = {
    "layers": (layers, IoStyle.ARENA, Schedule()),
    "callers": (layers, IoStyle.CALLER, Schedule()),
    "fed": (layers, IoStyle.ARENA, FED),
    "stepped": (layers, IoStyle.ARENA, STEPPED),
    "words": (words, IoStyle.ARENA, Schedule()),
    "several": (several, IoStyle.CALLER, Schedule()),
    "state": (valid_at_once, IoStyle.ARENA, Schedule()),
    "waiting": (waiting, IoStyle.ARENA, Schedule()),
    "bare": (bare, IoStyle.ARENA, Schedule()),
}


def create(
    folder: Path,
    build: Callable[[NetworkBuilder], list[int]] = layers,
    io: IoStyle = IoStyle.ARENA,
    schedule: Schedule = KINDS["layers"][2],
    *,
    check: bool = True,
    apart: bool = False,
) -> Path:
    """Generate a library for the CPU alone, and return its folder."""
    net = NetworkBuilder("net", seed=5)
    folder.mkdir(exist_ok=True)
    (folder / "net.tflite").write_bytes(net.build(*build(net)))
    recipe = Recipe(
        (folder / "net.tflite",), None, "none", (), io, LIBRARY_ONLY,
        options=OffloadOptions(schedule=schedule, check=check), apart=apart,
    )  # fmt: skip
    flow.create_project(recipe, directory=folder / "library", watch=Watch())
    return folder / "library" / "model"


def compiled(library: Path, place: Path, driver: str, compiler: str = "gcc") -> Path:
    """Compile a library as an archive, and a program with it."""
    (place / "main.c").write_text(driver)
    command = [compiler, "-std=c11", "-O1", f"-I{library}"]
    objects = []
    for source in sorted(library.glob("*.c")):
        if source.name != "ethosgen_networks.c":
            own = WARNINGS if "self_test" in source.name else UNTOLD
            objects.append(str(place / f"{source.stem}.o"))
            subprocess.run([*command, *own, "-c", str(source), "-o", objects[-1]], check=True)
    archive, program = place / "library.a", place / "program"
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", str(archive), *objects], check=True)
    files = [str(place / "main.c"), str(archive), "-lm", "-o", str(program)]
    subprocess.run([*command, *TERSE, *files], check=True)
    return program


def driver_of(library: Path, **more: str) -> str:
    """Return a driver; buffers are the caller's where the library has none."""
    header = (library / "net_self_test.h").read_text()
    taken = re.search(r"net_self_test\(([^)]*)\)", header)
    assert taken is not None
    ports = [] if taken[1] == "void" else [port.split(" *") for port in taken[1].split(", ")]
    buffers = "\n".join(f"_Alignas(64) static {kind} {name}_b[4096];" for kind, name in ports)
    arguments = ", ".join(f"{name}_b" for _, name in ports)
    texts = {"buffers": buffers, "file": "", "before": "", "after": "", "arguments": arguments}
    return DRIVER.format(**texts | {"more": f", {arguments}" if arguments else ""} | more)


def told(program: Path, *sizes: int) -> list[list[int]]:
    done = subprocess.run(
        [str(program), *map(str, sizes)], capture_output=True, text=True, check=True, timeout=60
    )
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def read_bytes_of(library: Path) -> int:
    """Return the bytes that the test reads, as the header says."""
    (size,) = re.findall(r"SELF_TEST_BYTES (\d+)u", (library / "net_self_test.h").read_text())
    return int(size)


@needs_gcc
@pytest.mark.parametrize("kind", KINDS)
def test_an_intact_network_passes_in_slices_of_any_size(kind: str, tmp_path: Path) -> None:
    library = create(tmp_path, *KINDS[kind])
    total = read_bytes_of(library)
    assert total > 0 or kind in ("bare", "several", "state")
    program = compiled(library, tmp_path, driver_of(library))
    # All bytes in slices, and a last call that also runs the inference.
    wanted = [[0, total // size + 1, 0] for size in SLICES]
    assert told(program, *SLICES) == [[0], [0], *wanted]


@needs_gcc
@pytest.mark.parametrize("kind", KINDS)
def test_the_output_is_compared_with_the_oracle(kind: str, tmp_path: Path) -> None:
    library = create(tmp_path, *KINDS[kind])
    network = frontend.read(tmp_path / "net.tflite")
    outputs = golden_outputs(network, known_samples(network))[-1]
    crc = 0
    for tensor in network.outputs:
        crc = zlib.crc32(outputs[tensor.name].tobytes(), crc)
    source = library / "net_self_test.c"
    assert f"GOLDEN_CRC 0x{crc:08x}u" in source.read_text()
    source.write_text(source.read_text().replace(f"0x{crc:08x}u", f"0x{crc ^ 1:08x}u"))
    program = compiled(library, tmp_path, driver_of(library))
    total = read_bytes_of(library)
    failed = int(Status.SELF_TEST_OUTPUT)
    assert told(program, 3) == [[0], [failed], [failed, total // 3 + 1, 0]]


@needs_gcc
def test_each_changed_bit_of_a_constant_is_found(tmp_path: Path) -> None:
    library = create(tmp_path)
    weights = library / "net_weights.c"
    intact = weights.read_text()
    arrays = list(re.finditer(r"= \{\n    (-?\w+)", intact))
    assert len(arrays) > 4
    failed = int(Status.SELF_TEST_WEIGHTS)
    for array in (arrays[0], arrays[len(arrays) // 2], arrays[-1]):
        changed = str(int(array[1], 0) ^ 1)
        weights.write_text(intact[: array.start(1)] + changed + intact[array.end(1) :])
        program = compiled(library, tmp_path, driver_of(library))
        assert {line[0] for line in told(program, 1, 1000)[1:]} == {failed}


@needs_gcc
def test_wrong_states_and_buffers_are_refused(tmp_path: Path) -> None:
    library = create(tmp_path, layers, IoStyle.CALLER)
    text = (library / "net_self_test.h").read_text()
    assert "int8_t *input" in text
    driver = driver_of(library)
    buffers = re.search(r"net_self_test\((\w+), (\w+)\)", driver)
    assert buffers is not None
    x, y = buffers[1], buffers[2]
    states = ("{1000000u, 0u, 0u}", "{0u, 1000000u, 0u}", "{0u, 0u, 1u}")
    calls = [
        f"net_self_test({x}, NULL)",
        f"net_self_test(NULL, {y})",
        f"net_self_test(&{x}[1], {y})",
        f"net_self_test_step(NULL, 1u, {x}, {y})",
        *(
            f"net_self_test_step(&(struct ethosgen_self_test){state}, 0xFFFFFFFFu, {x}, {y})"
            for state in states
        ),
    ]
    after = "\n".join(f'printf("%d\\n", (int){call});' for call in calls)
    told_lines = told(compiled(library, tmp_path, driver_of(library, after=after)))
    bad, value = [int(Status.BAD_BUFFER)], [int(Status.BAD_VALUE)]
    crc = [int(Status.SELF_TEST_WEIGHTS)]
    assert told_lines == [[0], [0], bad, bad, bad, bad, value, value, crc]


@needs_gcc
def test_0_bytes_count_as_1(tmp_path: Path) -> None:
    library = create(tmp_path)
    program = compiled(library, tmp_path, driver_of(library))
    assert told(program, 0)[2] == [0, read_bytes_of(library) + 1, 0]


@needs_gcc
def test_a_state_is_reset_before_and_after(tmp_path: Path) -> None:
    """The test begins with the initial state, and leaves it to the application's first run."""
    library = create(tmp_path, valid_at_once)
    network = frontend.read(tmp_path / "net.tflite")
    first = [tensor.bytes for tensor in network.outputs]
    before = "(void)net_run(); (void)net_run();"
    show = "\n".join(
        f"for (uint32_t i = 0; i < {size}u; i++) "
        f'printf("%d ", ((const uint8_t *)net_output({number}))[i]); printf("\\n");'
        for number, size in enumerate(first)
    )
    inputs = len(network.inputs)
    clear = "\n".join(
        f"for (uint32_t i = 0; i < {network.inputs[n].bytes}u; i++) "
        f"((uint8_t *)net_input({n}))[i] = 0;"
        for n in range(inputs)
    )
    after = f"{clear}\n(void)net_run();\n{show}"
    lines = told(compiled(library, tmp_path, driver_of(library, before=before, after=after)))
    zeros = {t.name: np.zeros(t.shape, t.dtype) for t in network.inputs}
    (golden,) = golden_outputs(network, [zeros])
    wanted = [list(golden[t.name].tobytes()) for t in network.outputs]
    assert lines[:2] == [[0], [0]]
    assert lines[2:] == wanted


@needs_gcc
def test_an_inference_in_slices_is_discarded(tmp_path: Path) -> None:
    library = create(tmp_path, layers, IoStyle.ARENA, STEPPED)
    before = "(void)net_step(); (void)net_step();"
    assert told(compiled(library, tmp_path, driver_of(library, before=before))) == [[0], [0]]


def apart_driver(library: Path, before: str) -> str:
    size = (library / "net.weights").stat().st_size
    text = driver_of(
        library,
        file=f"file, {size}u",
        before=f'{before}\nprintf("%d\\n", (int)net_run());',
    )
    load = (
        f"_Alignas(16) static uint8_t file[{size}];\n"
        f'static void load(void) {{ FILE *f = fopen("{library / "net.weights"}", "rb");\n'
        f"if (f == NULL || fread(file, 1, {size}u, f) != {size}u) exit(9); fclose(f); }}\n"
    )
    return text.replace("int main(", f"{load}int main(").replace(
        '    printf("%d\\n", (int)net_init', '    load();\n    printf("%d\\n", (int)net_init'
    )


@needs_gcc
def test_a_file_that_changes_after_init_is_refused(tmp_path: Path) -> None:
    library = create(tmp_path, apart=True)
    size = (library / "net.weights").stat().st_size
    changed, damaged = int(Status.WEIGHTS_CHANGED), int(Status.WEIGHTS_DAMAGED)

    def lines(before: str) -> list[list[int]]:
        return told(compiled(library, tmp_path, apart_driver(library, before)), 1, 33)

    assert lines("") == [[0], [0], [0], [0, size - 4 + 1, 0], [0, (size - 4) // 33 + 1, 0]]
    for word in (0, 4, 8, 12, 16, 20, 24, 28, 32, 47):  # magic to digest: each run finds it
        printed = lines(f"file[{word}] ^= 0x10u;")
        assert printed == [[0], [changed], [changed], [changed, 1, 0], [changed, 1, 0]], word
    for place in (48, 95, 96, size // 2, size - 1):  # the name and the rest: the self-test finds it
        printed = lines(f"file[{place}] ^= 0x10u;")
        assert {line[0] for line in printed[2:]} == {damaged}, place
    bad = lines("net_init(NULL, 0u);")
    assert {line[0] for line in bad[1:]} == {int(Status.NO_WEIGHTS)}


@needs_gcc
def test_each_bit_of_a_header_is_found(tmp_path: Path) -> None:
    """A run finds those of the first 48 bytes, and the self-test those of the name too."""
    library = create(tmp_path, apart=True)
    before = f"""
    int runs = 0, tests = 0, rest = 0;
    for (unsigned bit = 0; bit < {8 * HEADER_BYTES}u; bit++) {{
        file[bit / 8u] ^= (uint8_t)(1u << (bit % 8u));
        runs += bit < {8 * COMPARED_BYTES}u && net_run() == ETHOSGEN_WEIGHTS_CHANGED;
        tests += net_self_test() == (bit < {8 * COMPARED_BYTES}u ? ETHOSGEN_WEIGHTS_CHANGED
                                                             : ETHOSGEN_WEIGHTS_DAMAGED);
        file[bit / 8u] ^= (uint8_t)(1u << (bit % 8u));
        rest += net_run() == ETHOSGEN_OK;
    }}
    printf("%d %d %d\\n", runs, tests, rest);"""
    program = compiled(library, tmp_path, apart_driver(library, before))
    bits = 8 * HEADER_BYTES
    assert told(program) == [[0], [8 * COMPARED_BYTES, bits, bits], [0], [0]]


@needs_gcc
def test_a_file_has_its_own_golden_output(tmp_path: Path) -> None:
    """It is the header's word at 28; a file without one is not compared."""
    library = create(tmp_path, apart=True)
    file = library / "net.weights"
    data = bytearray(file.read_bytes())
    network = frontend.read(tmp_path / "net.tflite")
    (outputs,) = golden_outputs(network, known_samples(network))
    crc = zlib.crc32(next(iter(outputs.values())).tobytes())
    assert data[28:32] == crc.to_bytes(4, "little")
    for word, wanted in ((crc ^ 1, Status.SELF_TEST_OUTPUT), (0, Status.OK)):
        data[28:32] = word.to_bytes(4, "little")
        data[8:12] = zlib.crc32(data[:8] + data[12:96]).to_bytes(4, "little")
        file.write_bytes(data)
        program = compiled(library, tmp_path, apart_driver(library, ""))
        assert told(program) == [[0], [0], [int(wanted)]]


@needs_gcc
def test_the_page_compiles(tmp_path: Path) -> None:
    library = create(tmp_path)
    text = "\n".join(text for _, language, text in all_snippets(PAGE) if language == "c")
    assert text.count("#include") == 2
    source = tmp_path / "page.c"
    frame = "void stop_using_the_network(ethosgen_status status);\n"
    frame += "ethosgen_status start(void);\nvoid when_idle(void);\n"
    source.write_text('#include "net.h"\n' + frame + text.replace("NAME", "net"))
    command = ["gcc", "-std=c11", *WARNINGS, f"-I{library}", "-fsyntax-only", str(source)]
    subprocess.run(command, check=True)


def test_without_an_oracle_the_header_says_why(tmp_path: Path) -> None:
    library = create(tmp_path, check=False)
    header = (library / "net_self_test.h").read_text()
    assert "runs no inference: the network was not compared with an oracle" in header
    assert "GOLDEN_CRC" not in (library / "net_self_test.c").read_text()
    assert "net_run" not in (library / "net_self_test.c").read_text()


@needs_gcc
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_that_does_not_call_it_has_nothing_of_it(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    library = create(tmp_path)
    main = '#include "net.h"\nint main(void) { return (int)net_init() + (int)net_run(); }\n'
    for driver, has in ((main, False), (driver_of(library), True)):
        program = compiled(library, tmp_path, driver, compiler)
        names = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        assert ("self_test" in names) == has


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_cpp_can_call_it(io: IoStyle, tmp_path: Path) -> None:
    library = create(tmp_path, layers, io)
    source = tmp_path / "test.cpp"
    source.write_text(
        '#include "net.hpp"\n#include "net_self_test.h"\n'
        "auto *whole = &net_self_test;\nauto *step = &net_self_test_step;\n"
        "ethosgen_self_test state{};\n"
    )
    command = ["g++", "-std=c++14", *WARNINGS, f"-I{library}", "-fsyntax-only", str(source)]
    subprocess.run(command, check=True)


CHECKS = """
#include "ethosgen_self_test.h"
#include <stdio.h>
int main(void)
{
    static uint8_t bytes[40];
    static uint16_t halves[40];
    static float floats[40];
    const uint8_t text[] = "123456789";
    uint32_t crc = ethosgen_self_test_crc(0, text, 4);
    printf("%u\\n", (unsigned)ethosgen_self_test_crc(crc, &text[4], 5));
    ethosgen_self_test_fill_8(bytes, 40, FIRST);
    ethosgen_self_test_fill_16(halves, 40, FIRST);
    ethosgen_self_test_fill_float(floats, 40, FIRST);
    for (int i = 0; i < 40; i++) {
        printf("%u %u %.9g\\n", bytes[i], halves[i], (double)floats[i]);
    }
    return 0;
}
"""


@needs_gcc
@pytest.mark.parametrize("first", [0, 12345, 2**32 - 20])
def test_the_firmware_generates_what_the_oracle_got(first: int, tmp_path: Path) -> None:
    library = create(tmp_path)
    program = tmp_path / "checks"
    (tmp_path / "checks.c").write_text(CHECKS.replace("FIRST", f"{first}u"))
    files = [str(tmp_path / "checks.c"), str(library / "ethosgen_self_test.c")]
    command = ["gcc", "-std=c11", *WARNINGS, f"-I{library}", *files, "-o", str(program)]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    crc, *rows = done.stdout.splitlines()
    assert int(crc) == 0xCBF43926  # the check value of CRC-32/ISO-HDLC
    shown = np.array([[float(value) for value in row.split()] for row in rows])
    for column, dtype in enumerate(("uint8", "uint16", "float32")):
        wanted = generated(Tensor(0, "x", (40,), dtype), first)
        assert (shown[:, column].astype(dtype) == wanted).all()
    assert len(set(shown[:, 1])) > 35  # they differ


def test_indices_are_stored_and_not_generated(tmp_path: Path) -> None:
    library = create(tmp_path, words)
    network = frontend.read(tmp_path / "net.tflite")
    assert are_generated(network) == [False]
    (sample,) = known_samples(network)
    (values,) = sample.values()
    text = ", ".join(f"{value}" for value in values.ravel())
    assert f"    {text}," in (library / "net_self_test.c").read_text()
