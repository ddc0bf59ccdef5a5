"""The application that docs/tutorial.md shows: it compiles as printed, and reads the seven."""

import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.host.demos import copy_demo, find_demo
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.command_line import ethosgen
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe

PAGE = (ROOT / "docs" / "tutorial.md").read_text()


@pytest.mark.slow
@needs_qemu
def test_the_application_reads_the_seven(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```c\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (network,) = copy_demo(find_demo("digits"), tmp_path)
    project = tmp_path / "firmware"
    flow.create_project(recipe(network), directory=project, watch=Watch())
    (project / "app" / "main.c").write_text(program)
    flow.build_project(project, watch=Watch())
    elf = project / "build" / "qemu" / "firmware.elf"
    done = ethosgen("attach", "--elf", elf, "--board", "corstone300")
    assert done.returncode == 7, done.stderr
    ended = "the firmware ended with status 7 after 1 inference of the NPU"
    assert ended in done.stderr.splitlines()
    shown = re.findall(r"^    (ethos-u55-128, inference 1: .*)$", PAGE, re.MULTILINE)
    assert shown == [line for line in done.stderr.splitlines() if "inference 1:" in line]
