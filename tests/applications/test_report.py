"""The numbers of report.c, against Python's."""

import struct
import subprocess
from pathlib import Path

import numpy as np

from tests import ROOT
from tests.support.needs import needs_gcc

TEMPLATES = ROOT / "templates"
PROGRAM = """
#include "report.h"
#include "services.h"
#include <stdio.h>

void console_put(uint8_t byte) { putchar(byte); }

int main(void)
{
    float value;
    while (fread(&value, sizeof value, 1, stdin) == 1) {
        report_real(value);
        report_line();
    }
    report_count(0);
    report_line();
    report_count(UINT64_MAX);
    report_line();
    report_hex(0x0A);
    report_hex(0xF3);
    report_line();
    return 0;
}
"""


def _values() -> list[float]:
    """Return floats of each exponent below 2^53, and those between two thousandths."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, (127 + 53) << 23, 20_000, np.uint32)
    halves = (2 * rng.integers(0, 1 << 12, 2000) + 1) / 2000
    scores = np.arange(257) / 256
    positive = np.concatenate([bits.view(np.float32), halves.astype(np.float32), scores])
    return [float(value) for value in np.float32(np.concatenate([positive, -positive, [0, 2**52]]))]


@needs_gcc
def test_numbers_are_written_as_printf_does(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(PROGRAM)
    common = TEMPLATES / "apps" / "common"
    folders = [f"-I{common}", f"-I{TEMPLATES / 'common' / 'app'}"]
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined"]
    sources = [str(tmp_path / "main.c"), str(common / "report.c")]
    target = str(tmp_path / "program")
    subprocess.run(["gcc", *strict, *folders, *sources, "-o", target], check=True)
    values = _values()
    more = [2.0**53, float("inf"), -float("inf")]
    data = struct.pack(f"<{len(values) + len(more)}f", *values, *more)
    done = subprocess.run([target], input=data, capture_output=True, check=True)
    lines = done.stdout.decode().split("\r\n")
    wanted = [f"{value:.3f}" for value in values] + ["inf", "inf", "-inf"]
    assert lines == [*wanted, "0", str(2**64 - 1), "0af3", ""]
