"""A run in an interrupt handler on QEMU: refused at once, where it would wait for ever."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.project import open_project, render, write
from ethosgen.toolchain import build
from ethosgen.values.errors import TargetError
from tests.support.needs import needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import make_program

HANDLER = """
static const struct ethosgen_network *asked;
static uint32_t answer;

void SVC_Handler(void);
void SVC_Handler(void)
{
    answer = (uint32_t)asked->run();
}

static uint32_t run_in_handler(const struct ethosgen_network *network)
{
    asked = network;
    __asm volatile("svc 0" ::: "memory");
    return answer;
}

static void run(const struct ethosgen_network *"""


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@needs_qemu
def test_a_run_in_a_handler_is_refused(tmp_path: Path) -> None:
    write(render(make_program(), load_board("corstone300")), tmp_path)
    main, startup = tmp_path / "app" / "main.c", tmp_path / "board" / "startup.c"
    _replace(main, "static void run(const struct ethosgen_network *", HANDLER.lstrip())
    _replace(main, "(uint32_t)network->run()", "run_in_handler(network)")
    _replace(startup, "/* Unused interrupts have no", "void SVC_Handler(void);\n/* Unused have no")
    _replace(
        startup, "    [7] = Fault_Handler,", "    [11] = SVC_Handler,\n    [7] = Fault_Handler,"
    )
    info = open_project(tmp_path)
    zeros = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in info.network.inputs}
    with pytest.raises(TargetError, match="ETHOSGEN_BUSY"):
        targets.run(build(tmp_path).elf, info, [zeros], attach=PlusOneNpu)
