"""The hooks that docs/integration.md gives for FreeRTOS, compiled as they stand there."""

import re
import subprocess
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.project import render
from tests import ROOT
from tests.support.needs import needs_gcc
from tests.support.programs import make_program

FREERTOS = """
#include <stdint.h>
typedef long BaseType_t;
typedef uint32_t TickType_t;
typedef void *SemaphoreHandle_t;
#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))
#define portTICK_PERIOD_MS ((TickType_t)1)
#define portYIELD_FROM_ISR(woken) ((void)(woken))
TickType_t xTaskGetTickCount(void);
BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t *woken);
BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks);
"""
"""Our words for what FreeRTOS declares."""


@needs_gcc
def test_the_hooks_for_freertos_compile(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "integration.md").read_text()
    (hooks,) = re.findall(r"<!-- freertos.*?```c\n(.*?)```", page, re.DOTALL)
    files = render(make_program(), load_board("corstone300")).files
    for name in ("ethosgen_npu.h", "ethosgen_status.h"):
        (tmp_path / name).write_bytes(files[f"model/{name}"])
    (tmp_path / "FreeRTOS.h").write_text(FREERTOS)
    (tmp_path / "semphr.h").write_text("")
    (tmp_path / "hooks.c").write_text(hooks)
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run([*command, f"-I{tmp_path}", str(tmp_path / "hooks.c")], check=True)
