"""A library whose input comes by rows: what its functions refuse, in C and C++."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow, frontend
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.watch import Watch
from tests.project.test_snippets import compiles
from tests.support.needs import needs_arm_gcc, needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.snippets import snippets

FED = Schedule(stream=Streaming.ALWAYS, feed=True)
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
UNTOLD = [*WARNINGS, "-Wno-conversion", "-Wno-sign-conversion"]
"""TVM's C narrows integers that fit."""
ROWS = 14
"""No window reads the last one."""

MAIN = r"""
#include "rows.h"
#include <stdio.h>
#include <string.h>

static const int8_t picture[] = {%s};

#define ROW(row) (&picture[(row) * ROWS_INPUT_0_ROW_ELEMENTS])
#define EXPECT(wanted, call) \
    do { \
        int got = (int)(call); \
        if (got != (int)(wanted)) { printf("line %%d: %%d\n", __LINE__, got); return 1; } \
    } while (0)

static void show(void)
{
    for (int i = 0; i < %s; i++) {
        printf("%%d ", rows_%s()[i]);
    }
    printf("\n");
}

static int finish(void)
{
    ethosgen_status status;
    int slices = 0;

    while ((status = rows_step()) == ETHOSGEN_MORE) {
        slices++;
    }
    return status == ETHOSGEN_OK && slices > 1 ? 0 : 100 + (int)status;
}

int main(void)
{
    EXPECT(ETHOSGEN_OK, rows_init());

    /* nothing was given, or too little */
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_run());
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_step());
    EXPECT(ETHOSGEN_WRONG_ROW, rows_feed(ROW(1), 1, 1));
    EXPECT(ETHOSGEN_WRONG_ROW, rows_feed(ROW(0), 14, 1));
    EXPECT(ETHOSGEN_WRONG_ROW, rows_feed(ROW(0), UINT32_MAX, 1));
    EXPECT(ETHOSGEN_OK, rows_feed(ROW(0), 0, 5));
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_run());
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_step());

    /* a row twice, a lost row, too many, no rows, no buffer */
    EXPECT(ETHOSGEN_WRONG_ROW, rows_feed(ROW(4), 4, 1));
    EXPECT(ETHOSGEN_WRONG_ROW, rows_feed(ROW(6), 6, 1));
    EXPECT(ETHOSGEN_TOO_MANY_ROWS, rows_feed(ROW(5), 5, 10));
    EXPECT(ETHOSGEN_TOO_MANY_ROWS, rows_feed(ROW(5), 5, UINT32_MAX));
    EXPECT(ETHOSGEN_BAD_BUFFER, rows_feed(NULL, 5, 1));
    EXPECT(ETHOSGEN_OK, rows_feed(NULL, 5, 0));

    /* the refused calls changed nothing */
    EXPECT(ETHOSGEN_OK, rows_feed(ROW(5), 5, 9));
    EXPECT(ETHOSGEN_TOO_MANY_ROWS, rows_feed(ROW(0), 14, 1));
    EXPECT(ETHOSGEN_OK, rows_feed(NULL, 14, 0));
    EXPECT(ETHOSGEN_OK, rows_run());
    show();

    /* after the end */
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_run());
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_step());
    EXPECT(ETHOSGEN_WRONG_ROW, rows_feed(ROW(0), 14, 1));

    /* too many at once changes nothing either; row 0 begins anew, also amid the last slices */
    EXPECT(ETHOSGEN_TOO_MANY_ROWS, rows_feed(ROW(0), 0, 15));
    EXPECT(ETHOSGEN_OK, rows_feed(ROW(3), 0, 7));
    EXPECT(ETHOSGEN_TOO_MANY_ROWS, rows_feed(ROW(0), 0, 15));
    EXPECT(ETHOSGEN_OK, rows_feed(ROW(3), 7, 7));
    EXPECT(ETHOSGEN_MORE, rows_step());
    EXPECT(ETHOSGEN_OK, rows_feed(ROW(0), 0, 14));
    EXPECT(ETHOSGEN_MORE, rows_step());
    EXPECT(ETHOSGEN_OK, rows_init()); /* gives up an inference */
    EXPECT(ETHOSGEN_ROWS_MISSING, rows_step());
    EXPECT(ETHOSGEN_OK, rows_feed(ROW(0), 0, 14));
    EXPECT(ETHOSGEN_MORE, rows_step());
    EXPECT(ETHOSGEN_OK, rows_run());
    show();
    for (uint32_t row = 0; row < 14; row++) {
        EXPECT(ETHOSGEN_OK, rows_feed(ROW(row), row, 1));
    }
    EXPECT(0, finish());
    show();
    return 0;
}
"""
CPP = """
#include "rows.hpp"
#include "ethosgen_networks.h"
ethosgen_status infer(const int8_t *picture);
ethosgen_status infer(const int8_t *picture)
{
    rows::network network;
    ethosgen_status status = network.feed(picture, 0, ROWS_INPUT_0_ROWS);
    if (status == ETHOSGEN_OK) {
        do {
            status = network.step();
        } while (status == ETHOSGEN_MORE);
    }
    return status == ETHOSGEN_ROWS_MISSING ? network.run() : status;
}
"""


def _network(path: Path) -> Path:
    """Return the file of a network with a skip connection that ends in classes."""
    net = NetworkBuilder("rows", seed=4)
    x = net.conv2d(net.input((1, ROWS, 12, 4)), 8, (3, 3), (2, 2), padding="VALID")
    y = net.add(x, net.conv2d(net.depthwise(x), 8, (1, 1)))
    path.write_bytes(net.build(net.softmax(net.fully_connected(net.mean(y, (1, 2)), 4))))
    return path


def _create(
    model: Path, folder: Path, schedule: Schedule = FED, io: IoStyle = IoStyle.ARENA
) -> Path:
    options = OffloadOptions(schedule=schedule)
    recipe = Recipe((model,), None, "none", (), io, platform=LIBRARY_ONLY, options=options)
    flow.create_project(recipe, directory=folder, watch=Watch())
    return folder / "model"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("feed")
    return _create(_network(place / "rows.tflite"), place / "library")


@needs_gcc
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_wrong_orders_are_refused_and_change_nothing(
    library: Path, compiler: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    network = frontend.read(library / "rows.tflite")
    (sample,) = random_samples(network, 1, seed=3)
    (golden,) = golden_outputs(network, [sample])
    (picture,), (wanted,) = sample.values(), golden.values()
    output = frontend.read(library / "rows.tflite").outputs[0].name
    numbers = ", ".join(map(str, picture.ravel()))
    main = tmp_path / "main.c"
    main.write_text(MAIN % (numbers, wanted.size, output))
    sources = {str(path) for path in library.glob("*.c")}
    graph = str(library / "rows_graph.c")
    command = [compiler, "-std=c11", f"-I{library}"]
    subprocess.run([*command, *UNTOLD, "-c", graph], cwd=tmp_path, check=True)
    program = tmp_path / "program"
    files = [str(main), *sorted(sources - {graph}), "rows_graph.o"]
    subprocess.run(
        [*command, *WARNINGS, "-o", str(program), *files, "-lm"], cwd=tmp_path, check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    shown = np.array([line.split() for line in done.stdout.splitlines()], int)
    assert (shown == [wanted.ravel()] * 3).all()


@needs_gcc
def test_the_header_for_cpp_has_the_rows(library: Path, tmp_path: Path) -> None:
    source = tmp_path / "infer.cpp"
    source.write_text(CPP)
    command = ["g++", "-std=c++14", *WARNINGS, f"-I{library}", "-fsyntax-only", str(source)]
    subprocess.run(command, check=True)


@needs_arm_gcc
def test_the_pages_example_compiles(library: Path, tmp_path: Path) -> None:
    (code,) = snippets("c", "An input that comes by rows")
    declared = "void feed_watchdog(void);\nethosgen_status take_line(const int8_t *, uint32_t);\n"
    include, rest = code.replace("NAME", "rows").split("\n\n", 1)
    text = f"{include}\n{declared}{rest.replace('INPUT_ROWS', 'ROWS_INPUT_0_ROWS')}"
    compiles(tmp_path, text, "c", library=library)


def test_the_sizes_have_no_input(library: Path, tmp_path: Path) -> None:
    header = (library / "rows.h").read_text()
    assert "rows_input_0(void)" not in header and "#define ROWS_INPUT_0_ROWS 14" in header
    whole = _create(library / "rows.tflite", tmp_path / "whole", Schedule(stream=Streaming.ALWAYS))
    own, usual = (_arena(folder / "rows.h") for folder in (library, whole))
    assert own < usual
    assert "_step" not in (whole / "rows.h").read_text()


def _arena(header: Path) -> int:
    return int(header.read_text().partition("#define ROWS_ARENA_BYTES ")[2].split()[0])


def _refuses(model: Path, folder: Path, why: str, io: IoStyle = IoStyle.ARENA) -> None:
    with pytest.raises(EthosgenError, match=why):
        _create(model, folder, io=io)
    assert not folder.exists()


def test_networks_that_do_not_read_rows_are_refused_with_the_operator(tmp_path: Path) -> None:
    net = NetworkBuilder("flat", seed=1)
    flat = tmp_path / "flat.tflite"
    flat.write_bytes(net.build(net.fully_connected(net.input((1, 16)), 4)))
    _refuses(flat, tmp_path / "a", "--feed needs an input of one picture.* is int8 1x16")
    net = NetworkBuilder("turned", seed=1)
    turned = tmp_path / "turned.tflite"
    x = net.conv2d(net.transpose(net.input((1, 8, 8, 4)), (0, 2, 1, 3)), 8)
    turned.write_bytes(net.build(x))
    _refuses(turned, tmp_path / "b", r"TRANSPOSE \(to '.*'\) does not compute rows")
    net = NetworkBuilder("two", seed=1)
    two = tmp_path / "two.tflite"
    first, second = net.input((1, 8, 8, 4)), net.input((1, 8, 8, 4))
    two.write_bytes(net.build(net.conv2d(net.add(first, second), 8)))
    _refuses(two, tmp_path / "c", "one input, and this one has 2")


def test_what_slices_exclude_is_refused(library: Path, tmp_path: Path) -> None:
    model = library / "rows.tflite"
    _refuses(model, tmp_path / "a", "--feed needs the outputs in the arena", io=IoStyle.CALLER)
    options = OffloadOptions(schedule=Schedule(steps=True))
    accelerated = Recipe((model,), "corstone300", platform=LIBRARY_ONLY, options=options)
    with pytest.raises(EthosgenError, match="--step is for networks on the CPU alone"):
        flow.create_project(accelerated, directory=tmp_path / "b", watch=Watch())
    other = tmp_path / "other.tflite"
    other.write_bytes(model.read_bytes())
    both = Recipe((model, other), None, "none", platform=LIBRARY_ONLY,
                  options=OffloadOptions(schedule=FED))  # fmt: skip
    with pytest.raises(EthosgenError, match="project of one network"):
        flow.create_project(both, directory=tmp_path / "c", watch=Watch())
    assert not any((tmp_path / name).exists() for name in "bc")
