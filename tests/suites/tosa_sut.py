"""ethosgen as a system under test of TOSA's conformance suite (tosa-tools).

    tosa_verif_run_tests --binary --recursive -t conformance \
        --sut-module runner.tosa_refmodel_compliance_sut_run tests.suites.tosa_sut \
        --sut-module-args tests.suites.tosa_sut:PYTHON tests.suites.tosa_sut:ON

PYTHON is the interpreter that has ethosgen, and ON is cpu or the name of an NPU. The suite has an
environment of its own, so this file imports only the suite; `tosa_answers` does the work, in one
process for each thread of the suite.
"""

import json
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

from runner.tosa_test_runner import (  # type: ignore[import-not-found]  # the suite's
    TosaTestRunner,
)

_ROOT = Path(__file__).parents[2]
_OWN = threading.local()


class TosaSUTRunner(TosaTestRunner):  # type: ignore[misc]  # the suite has no types
    """Runs one test by ethosgen."""

    def runTestGraph(self) -> tuple[Any, str | None]:  # noqa: N802 - the suite's name
        """Return the suite's code for the result, and the reason of a refusal."""
        reply = _ask(*self.runnerArgs, path=str(Path(self.descFile).absolute()))
        codes = TosaTestRunner.TosaGraphResult
        code = {"valid": codes.TOSA_VALID, "error": codes.TOSA_ERROR}
        return code.get(reply["result"], codes.OTHER_ERROR), reply.get("message")


def _ask(python: str, on: str, *, path: str) -> dict[str, Any]:
    """Ask this thread's process, which starts with its first test and ends with the suite."""
    process: subprocess.Popen[str] | None = getattr(_OWN, "process", None)
    if process is None or process.poll() is not None:
        command = [python, "-m", "tests.suites.tosa_answers", on]
        process = _OWN.process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    requests, replies = _pipe(process.stdin), _pipe(process.stdout)
    requests.write(f"{path}\n")
    requests.flush()
    reply: dict[str, Any] = json.loads(replies.readline())
    return reply


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
