"""Worker processes: order, errors, and what happens when one dies."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.studies.workers import Chunk, Steps, run_chunks
from ethosgen.values.errors import EthosgenError, RefusalError, TargetError
from ethosgen.values.outcome import Arrays
from tests import ROOT


@dataclass(frozen=True)
class Doubling:
    """Doubles samples; it is made for the process that it runs in. `bad` ends the first sample."""

    bad: str = ""

    @contextmanager
    def __call__(self) -> Iterator[Callable[[Sequence[Steps]], list[list[Arrays]]]]:
        made_in = os.getpid()

        def run(samples: Sequence[Steps]) -> list[list[Arrays]]:
            if self.bad == "refuse":
                raise RefusalError("refused here; do otherwise", "why")
            if self.bad == "hang":
                time.sleep(0 if not samples[0][0]["x"] else 600)
            if self.bad == "die":
                os._exit(3)
            own = np.array(made_in == os.getpid())
            return [[{"y": step["x"] * 2, "own": own} for step in steps] for steps in samples]

        yield run


def chunks(count: int) -> Iterator[Chunk[Steps]]:
    for start in range(0, count, 2):
        yield Chunk((start, start + 1), tuple(({"x": np.array(start + i)},) for i in range(2)))


def run(make: Any, processes: int) -> list[int]:
    done = list(run_chunks(make, chunks(10), processes))
    assert all(bool(output["own"]) for _, outputs in done for (output,) in outputs)
    assert [chunk.indices[0] for chunk, _ in done] == [0, 2, 4, 6, 8]
    return [int(output["y"]) for _, outputs in done for (output,) in outputs]


@pytest.mark.parametrize("processes", [1, 2])
def test_outputs_come_in_order(processes: int) -> None:
    assert run(Doubling(), processes) == list(range(0, 20, 2))


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_of_a_worker_is_raised_here(processes: int) -> None:
    with pytest.raises(EthosgenError, match="refused here; do otherwise") as raised:
        run(Doubling("refuse"), processes)
    assert raised.value.exit_status == RefusalError.exit_status


def test_a_worker_that_dies_is_an_error() -> None:
    with pytest.raises(TargetError, match="a worker process died"):
        run(Doubling("die"), 2)


def test_workers_end_with_the_generator_in_the_middle_of_a_chunk() -> None:
    chunks_done = run_chunks(Doubling("hang"), chunks(10), 2)
    next(chunks_done)
    started = time.monotonic()
    chunks_done.close()
    assert time.monotonic() - started < 60


SCRIPT = """
import ethosgen

ethosgen.compare({network!r}, npus=["ethos-u55-128", "ethos-u55-64"], processes={processes})
print("compared")
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_script_without_a_guard_gets_one_sentence_or_one_process(
    tmp_path: Path, processes: int
) -> None:
    network = ROOT / "demo" / "digits_int8.tflite"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(network=str(network), processes=processes))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=600, check=False
    )
    if processes == 1:
        assert done.returncode == 0 and done.stdout == "compared\n", done.stderr
    else:
        assert done.returncode != 0
        assert done.stderr.count("Traceback") == 1, "the script's own"
        assert "if __name__ == '__main__':, or use processes=1" in done.stderr.splitlines()[-1]
