"""The command before its modules are there."""

import ast
import subprocess
import sys

_INTERRUPTED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "ethosgen.cli":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupts())
from ethosgen.__main__ import main
main()
"""


def test_an_interrupt_during_the_imports_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ethosgen: interrupted\n")


def test_nothing_is_imported_before_ctrl_c_has_an_answer() -> None:
    assert _says(
        "before = set(sys.modules); import ethosgen.__main__; print(set(sys.modules) - before)"
    ) == {"ethosgen", "ethosgen.version", "ethosgen.__main__"}


def test_a_worker_leaves_ctrl_c_to_its_parent_and_an_ignored_one_stays_ignored() -> None:
    told = "import ethosgen.__main__; print({signal.getsignal(signal.SIGINT).name})"
    assert _says(f"import multiprocessing.spawn; {told}") == {"SIG_IGN"}
    assert _says(f"signal.signal(signal.SIGINT, signal.SIG_IGN); {told}") == {"SIG_IGN"}


def _says(code: str) -> set[str]:
    """Return the set that a Python process prints when it runs this code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import signal, sys; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    words: set[str] = ast.literal_eval(done.stdout)
    return words
