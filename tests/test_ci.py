"""`.ci/run` with stand-ins: the README's commands come first, and each part that fails is named."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

MAKE = """#!/bin/sh
echo "make $*" >>"$CALLS"
[ -d .venv ] && echo "a .venv of an earlier run" >>"$CALLS"
case "$*" in
  "$FAILS"*) [ -e failed ] || { : >failed; exit 1; } ;;
esac
"""


def run(place: Path, fails: str = "nothing") -> tuple[int, list[str], str]:
    """Run it; return its status, what it called, and the last line of its complaints."""
    (place / ".ci").mkdir()
    (place / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    (place / ".ci" / "run").chmod(0o755)
    (place / ".venv").mkdir()
    (place / "bin").mkdir()
    for name, script in (("make", MAKE), ("id", "#!/bin/sh\necho 1000\n")):
        (place / "bin" / name).write_text(script)
        (place / "bin" / name).chmod(0o755)
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": path, "CALLS": str(place / "calls"), "FAILS": fails}
    done = subprocess.run(
        [place / ".ci" / "run"], env=variables, capture_output=True, text=True, check=False
    )
    calls = [line.partition(" OPTIONS")[0] for line in (place / "calls").read_text().splitlines()]
    return done.returncode, calls, done.stderr.strip()


def test_the_light_installation_comes_before_any_extra(tmp_path: Path) -> None:
    status, calls, said = run(tmp_path)
    assert (status, said) == (0, "")
    assert calls[:3] == ["make demo", "make test", "make extras"]
    assert sorted(calls[3:5]) == ["make environments", "make lint"] and calls[5:] == [
        "make test-all"
    ]


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        ("test", "make test in the light installation failed, see above"),
        ("lint", "make lint failed, see above"),
    ],
)
def test_a_part_that_fails_is_named_and_the_rest_runs(
    tmp_path: Path, fails: str, words: str
) -> None:
    status, calls, said = run(tmp_path, fails)
    assert (status, said) == (1, words)
    assert calls[-1] == "make test-all"


@pytest.mark.parametrize("fails", ["demo", "environments"])
def test_without_these_nothing_more_is_run(tmp_path: Path, fails: str) -> None:
    status, calls, _ = run(tmp_path, fails)
    assert status != 0 and calls.count("make test") == (0 if fails == "demo" else 1)
