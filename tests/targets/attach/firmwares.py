"""Builds the application in application/ with a network's library."""

import re
import subprocess
from pathlib import Path

import numpy as np

from ethosgen import flow, frontend
from ethosgen.board import load_board
from ethosgen.host.tools import GCC
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests.support.small_models import image_net
from tests.support.snippets import snippets

APPLICATION = Path(__file__).parent / "application"
RUNS, EXIT_STATUS = 3, 7
SHORTHANDS = """#include "image_net.h"
#define network_init image_net_init
#define network_run image_net_run
#define NETWORK_INPUT image_net_image()
#define NETWORK_INPUT_COUNT IMAGE_NET_IMAGE_ELEMENTS
#define NETWORK_OUTPUT image_net_{output}()
#define NETWORK_OUTPUT_COUNT IMAGE_NET_{OUTPUT}_ELEMENTS
"""
MAKEFILE = """
CC = {gcc}
CFLAGS = -mcpu={cpu} -mfloat-abi=hard -mthumb -O2 -ffunction-sections -fdata-sections
CPPFLAGS = -DNPU_BASE={npu}u -DRUNS={runs} -DEXIT_STATUS={status}u {defines}
C_INCLUDES = -I.
LDFLAGS = -nostartfiles -T {application}/app.ld -Wl,--gc-sections,--no-warn-rwx-segment
LDFLAGS += --specs=nosys.specs
OBJECTS = main.o
{lines}
app.elf: $(OBJECTS)
	$(CC) $(CFLAGS) $(OBJECTS) -lm $(LDFLAGS) -o $@
main.o: {application}/main.c
	$(CC) -std=gnu11 -Wall -Wextra -Wconversion $(CPPFLAGS) $(CFLAGS) $(C_INCLUDES) -c -o $@ $<
"""
"""The application's own build, with the documented lines for the library."""


def write_library(folder: Path, npu: str | None = None) -> str:
    """Write the library of the small image network; return its names for the application."""
    network = image_net(folder / "image_net.tflite")
    recipe = Recipe((network,), "corstone300", npu=npu, platform=LIBRARY_ONLY)
    flow.create_project(recipe, directory=folder / "library", watch=Watch())
    return shorthands(folder / "library")


def shorthands(library: Path) -> str:
    """Return macros that give short names to the library of the small image network."""
    output = next(
        line.split("image_net_")[1].split("(")[0]
        for line in (library / "model" / "image_net.h").read_text().splitlines()
        if line.startswith("static inline") and "_image(" not in line
    )
    return SHORTHANDS.format(output=output, OUTPUT=output.upper())


def build_application(folder: Path, defines: str = "") -> Path:
    """Compile the application for Corstone-300 with the small image network; return the ELF."""
    (folder / "network.h").write_text(write_library(folder))
    elf = folder / "app.elf"
    board = load_board("corstone300")
    assert board.npu
    (lines,) = snippets("make", "Make")
    makefile = MAKEFILE.format(
        gcc=GCC.find(),
        cpu=board.cpu.gcc_cpu,
        npu=f"{board.npu.base_addr:#x}",
        runs=RUNS,
        status=EXIT_STATUS,
        defines=defines,
        application=APPLICATION,
        lines=lines.replace("PATH", "library").replace("NAME", "IMAGE_NET"),
    )
    (folder / "Makefile").write_text(makefile)
    subprocess.run(["make", "-s", "app.elf"], cwd=folder, check=True)
    return elf


def expected(folder: Path) -> list[list[int]]:
    """Return TensorFlow Lite Micro's outputs for the inputs that main.c writes."""
    network = frontend.read(folder / "image_net.tflite")
    tensor = network.inputs[0]
    count = np.arange(tensor.elements)
    samples = [
        {tensor.name: (count * 7 + run * 31).astype(np.int8).reshape(tensor.shape)}
        for run in range(RUNS)
    ]
    golden = golden_outputs(network, samples)
    return [next(iter(outputs_of.values())).flatten().tolist() for outputs_of in golden]


def outputs(said: str) -> list[list[int]]:
    """Return the outputs that the application printed."""
    lines = re.findall(r"^status 0: (.*?)\r?$", said, re.MULTILINE)
    return [[int(word) for word in line.split()] for line in lines]
