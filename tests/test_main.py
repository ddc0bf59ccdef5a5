"""The command before its modules are there."""

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
