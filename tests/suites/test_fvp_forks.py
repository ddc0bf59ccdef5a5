"""Forks of ethosgen's programs answer as the installed programs do."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.suites.fvp_forks import forked_fvps
from tests.suites.fvp_programs import installed_fvps

NAME = "FVP_Corstone_SSE-320"


def _answer(folder: Path, words: Sequence[str], at: Path) -> tuple[int, str, str]:
    command = [str(folder / NAME), *words]
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    told = "" if done.returncode else done.stdout  # else it has the ports that were free
    return done.returncode, told, done.stderr


def test_forks_answer_as_the_installed_programs_do(tmp_path: Path) -> None:
    (tmp_path / "firmware").write_text("none")
    with installed_fvps() as installed, forked_fvps() as forked:
        for words in (["--version"], ["-l"], ["-C", "none"], ["-a", "firmware"], ["-a", "no file"]):
            answer = _answer(forked, words, tmp_path)
            assert answer == _answer(installed, words, tmp_path), words
            assert answer[1] or answer[2], words


def test_more_programs_than_one_run_at_a_time() -> None:
    with forked_fvps() as folder:
        command = [str(folder / NAME), "--version"]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(5)]
        answers = [child.communicate()[0] for child in running]
    assert len(set(answers)) == 1 and b"ethosgen" in answers[0]
    assert [child.returncode for child in running] == [0] * 5
