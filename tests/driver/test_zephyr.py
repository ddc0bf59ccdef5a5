"""Zephyr on QEMU, by the generated project's own module, where the NPU's interrupts go wrong.

ZEPHYR_BASE names Zephyr, as for tests/zephyr/test_zephyr_build.py.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ethosgen.platforms import ZEPHYR
from ethosgen.project import open_project
from ethosgen.toolchain import build_zephyr
from tests.support.faulty_npu import (
    FAULTS,
    TIMEOUT_MS,
    Board,
    check_fault,
    check_orders,
    make_network_project,
    started,
)
from tests.support.needs import needs_qemu, needs_zephyr

PARTS = Path(__file__).parent / "zephyr"
SETUPS = {"the library's hooks": "", "the application's hooks": "-DOWN_HOOKS"}

pytestmark = [needs_zephyr, needs_qemu]


@pytest.fixture(scope="module", params=SETUPS)
def board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Board]:
    place = tmp_path_factory.mktemp("zephyr") / "small"
    network = make_network_project(place, ZEPHYR, "src")
    (place / "src" / "main.c").write_bytes((PARTS / "main.c").read_bytes())
    with (place / "prj.conf").open("a") as file:
        file.write((PARTS / "qemu.conf").read_text())
    options = {
        "CONFIG_ETHOSGEN_NPU_TIMEOUT_MS": str(TIMEOUT_MS),
        "EXTRA_CFLAGS": SETUPS[request.param],
    }
    info = open_project(place)
    with started(build_zephyr(info, "qemu", options).elf, info, network) as running:
        yield running


@pytest.mark.parametrize("name", FAULTS)
def test_a_success_on_zephyr_is_right_and_the_next_run_works(board: Board, name: str) -> None:
    check_fault(board, name)


def test_no_order_of_faults_makes_a_wrong_success_on_zephyr(board: Board) -> None:
    check_orders(board, 2)
