"""A secure image and its non-secure firmware as for the board, on QEMU with the NPU model.

Nothing in them is for QEMU: the secure image resets the NPU at its secure address, the firmware
drives it at the other, and the NPU's own interrupt arrives in non-secure state.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow, frontend
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.targets.security import Evidence
from ethosgen.toolchain import build
from ethosgen.values.security import Security
from ethosgen.values.watch import Watch
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe
from tests.support.small_models import image_net

pytestmark = needs_qemu

MAIN = """
#include "semihosting.h"

int main(void)
{
    board_init();
    console_init();
    if (init() != ETHOSGEN_OK) {
        semihosting_exit(100);
    }
    const struct ethosgen_network *network = &ethosgen_networks[0];
    int8_t *input = network->inputs[0].buffer;
    for (uint32_t i = 0; i < network->inputs[0].bytes; i++) {
        input[i] = (int8_t)(i * 7u);
    }
    struct server_run result = {0};
    run(network, &result);
    const int8_t *output = network->outputs[0].buffer;
    for (uint32_t i = 0; i < network->outputs[0].bytes; i++) {
        console_put((uint8_t)('a' + ((uint8_t)output[i] >> 4)));
        console_put((uint8_t)('a' + ((uint8_t)output[i] & 15)));
    }
    console_put('\\n');
    semihosting_exit(result.status != ETHOSGEN_OK ? 101u : secure_evidence());
    return 0;
}
"""


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build for the board a firmware that runs once; return its ELF and the network."""
    folder = tmp_path_factory.mktemp("non_secure")
    network = image_net(folder / "image_net.tflite")
    asked = recipe(network, security=Security.NON_SECURE, check=False)
    flow.create_project(asked, directory=folder / "project", watch=Watch())
    main = folder / "project" / "app" / "main.c"
    text = main.read_text()
    main.write_text(text[: text.index("int main(void)")] + MAIN)
    return build(folder / "project", "board").elf, network


def test_both_run_as_on_the_board(firmware: tuple[Path, Path], tmp_path: Path) -> None:
    elf, path = firmware
    network, log = frontend.read(path), tmp_path / "log.jsonl"
    secure = elf.with_name("secure.elf")
    assert secure.is_file()
    command = [
        *(sys.executable, "-m", "ethosgen", "attach", "--elf", str(secure), "--load", str(elf)),
        *("--board", "corstone300", "--timeout", "100", "--log", str(log)),
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == sum(Evidence), done.stderr
    (line,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert line["operations"] > 2 and not line["fault"]
    letters = re.search(r"^([a-p]+)\r?$", done.stdout, re.MULTILINE)
    assert letters, done.stdout
    digits = letters[1].translate({ord("a") + i: f"{i:x}" for i in range(16)})
    tensor = network.inputs[0]
    values = (np.arange(tensor.elements) * 7).astype(np.int8).reshape(tensor.shape)
    (golden,) = golden_outputs(network, [{tensor.name: values}])
    (expected,) = golden.values()
    assert np.array_equal(np.frombuffer(bytes.fromhex(digits), np.int8), expected.flatten())
