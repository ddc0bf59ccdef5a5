"""Builds the application in application/ with a network's library."""

import subprocess
from pathlib import Path

from ethosgen import pipeline
from ethosgen.board import load_board
from ethosgen.host.tools import GCC
from ethosgen.project import LIBRARY_ONLY
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests.support.small_models import image_net

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


def build_application(folder: Path) -> Path:
    """Compile the application for Corstone-300 with the small image network; return the ELF."""
    network = image_net(folder / "image_net.tflite")
    recipe = Recipe((network,), "corstone300", platform=LIBRARY_ONLY)
    pipeline.create_project(recipe, directory=folder / "library", watch=Watch())
    model, elf = folder / "library" / "model", folder / "app.elf"
    output = next(
        line.split("image_net_")[1].split("(")[0]
        for line in (model / "image_net.h").read_text().splitlines()
        if line.startswith("static inline") and "_image(" not in line
    )
    shorthands = SHORTHANDS.format(output=output, OUTPUT=output.upper())
    (folder / "network.h").write_text(shorthands)
    sources = [path for path in sorted(model.glob("*.c")) if path.stem not in NOT_LINKED]
    board = load_board("corstone300")
    assert board.npu
    command = [
        *(str(GCC.find()), f"-mcpu={board.cpu.gcc_cpu}", "-mfloat-abi=hard", "-mthumb"),
        *("-O2", "-std=gnu11", "-ffunction-sections", "-fdata-sections"),
        *("-Wall", "-Wextra", "-Wconversion", f"-I{folder}", f"-I{model}"),
        *(
            f"-DNPU_BASE={board.npu.base_addr:#x}u",
            f"-DRUNS={RUNS}",
            f"-DEXIT_STATUS={EXIT_STATUS}u",
        ),
        *("-o", str(elf), str(APPLICATION / "main.c"), *map(str, sources)),
        *("-nostartfiles", "-T", str(APPLICATION / "app.ld"), "-Wl,--gc-sections"),
        *("--specs=nosys.specs", "-Wl,--no-warn-rwx-segment"),
    ]
    subprocess.run(command, check=True)
    return elf


NOT_LINKED = {"ethosgen_npu_core", "ethosgen_networks"}
"""Arm's driver, and the table of networks for the harness."""
