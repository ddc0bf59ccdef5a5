# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""{{ title }} on {{ board.description }}: builds, runs, and equals TensorFlow Lite Micro.

Generated once by ethosgen; yours from now on. A run passes only if its exit status, its report and
its JUnit file all say so.
"""

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
TARGETS = {{ ci_targets }}
FVP = {{ ci_fvp }}
SAMPLES = 3


def ethosgen(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ethosgen", *arguments]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=1200)


@pytest.mark.parametrize("on", TARGETS)
def test_outputs_equal_tensorflow_lite_micros(on: str) -> None:
    if on == "fvp" and shutil.which(FVP) is None:
        if len(TARGETS) == 1:
            pytest.fail(f"{FVP} is not on PATH, and nothing else here can run the firmware")
        pytest.skip(f"{FVP} is not on PATH")
    built = ethosgen("build", ".", "--on", on)
    assert built.returncode == 0, built.stderr

    junit = PROJECT / "build" / f"junit-{on}.xml"
    arguments = ({{ '"--harness", ' if app }}"--samples", str(SAMPLES), "--json", "--junit", str(junit))
    done = ethosgen("run", ".", "--on", on, *arguments)
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert (report["verdict"], report["samples"], report["on"]) == ("PASS", SAMPLES, on)
    suite = ET.parse(junit).getroot().find("testsuite")
    assert suite is not None and int(suite.attrib["tests"]) > 0
    assert [suite.attrib[kind] for kind in ("failures", "errors", "skipped")] == ["0", "0", "0"]
