"""Bundled programs: their test cases are the samples and the golden outputs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.frontend import examples_of, read
from ethosgen.values.errors import InputError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.golden_file import GIVEN
from ethosgen.verdict.judgement import Inputs
from tests.frontend.pte.test_delegates import answers, drawn, stream
from tests.support.bundle_file import BundledTensor, bundle, contiguous
from tests.support.program_file import ProgramFile

LAST = (0, 2, 3, 1)
"""The order of dimensions of a channels-last tensor."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture(scope="module")
def program(folder: Path) -> bytes:
    """A program whose ends are channels-last: (1, 4, 8, 8) for torch."""
    file = ProgramFile()
    x, y = (file.tensor((1, 4, 8, 8), order=LAST) for _ in range(2))
    file.call(stream(folder, 1), x, y)
    return file.build([x], [y])


def cases() -> list[tuple[BundledTensor, BundledTensor]]:
    """Return inputs in torch's own order, and TFLite Micro's outputs as they are in memory."""
    samples = drawn(1)
    inputs = [next(iter(sample.values())).transpose(0, 3, 1, 2) for sample in samples]
    outputs = [BundledTensor("int8", (1, 4, 8, 8), LAST, a.tobytes()) for a in answers(1, samples)]
    return list(zip(map(contiguous, inputs), outputs, strict=True))


def write(folder: Path, program: bytes, pairs: Sequence[tuple[BundledTensor, ...]]) -> Path:
    path = folder / "small.bpte"
    path.write_bytes(bundle(program, [([x], [y]) for x, y in pairs]))
    return path


def simulate(path: Path, inputs: Inputs = Inputs(None, None, 0)) -> Report:  # noqa: B008
    return flow.simulate(path, npu=None, inputs=inputs, watch=Watch())


def test_its_cases_are_run_and_compared(folder: Path, program: bytes) -> None:
    report = simulate(write(folder, program, cases()))
    assert report.passed and report.golden is not None
    assert (report.samples, report.drawn) == (3, None)
    assert (report.golden.oracle, report.golden.elements) == (GIVEN, 3 * 256)
    assert (report.golden.mismatches, report.golden.close) == (0, 0)
    assert report.golden.title == "the outputs in small.bpte"


def test_a_step_is_close_and_two_fail(folder: Path, program: bytes) -> None:
    def moved(by: int) -> list[tuple[BundledTensor, BundledTensor]]:
        (x, y), *rest = cases()
        data = np.frombuffer(y.data, np.int8).copy()
        data[7] += by if data[7] < 100 else -by
        return [(x, replace(y, data=data.tobytes())), *rest]

    report = simulate(write(folder, program, moved(1)))
    assert report.passed and report.golden is not None and report.golden.close == 1
    report = simulate(write(folder, program, moved(2)))
    assert not report.passed and report.golden is not None and report.golden.mismatches == 1


def test_the_users_inputs_take_their_place(folder: Path, program: bytes) -> None:
    report = simulate(write(folder, program, cases()), Inputs(None, 4, 0))
    assert report.samples == 4 and report.golden is None


def test_another_methods_cases_are_no_examples(folder: Path, program: bytes) -> None:
    path = folder / "other.bpte"
    path.write_bytes(bundle(program, [([x], [y]) for x, y in cases()], method="other"))
    assert examples_of(read(path)) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "int16"}, "with int16 of shape [1, 4, 8, 8] for 'output_0', which is int8"),
        ({"sizes": (1, 8, 8, 4)}, "of shape [1, 8, 8, 4] for 'output_0'"),
        ({"order": (0, 1, 1, 2)}, "of shape [1, 4, 8, 8] for 'output_0'"),
        ({"data": bytes(255)}, "with 255 bytes for 'output_0', which takes 256"),
    ],
)
def test_a_case_that_does_not_fit_is_refused(
    folder: Path, program: bytes, change: dict[str, object], message: str
) -> None:
    x, y = cases()[0]
    network = read(write(folder, program, [(x, replace(y, **change))]))
    with pytest.raises(InputError) as refusal:
        examples_of(network)
    assert message in str(refusal.value)


def test_a_case_of_another_number_is_refused(folder: Path, program: bytes) -> None:
    x, y = cases()[0]
    path = folder / "two.bpte"
    path.write_bytes(bundle(program, [([x, x], [y])]))
    with pytest.raises(InputError, match="a test case of 2 inputs, but the method 'forward' has 1"):
        examples_of(read(path))


def test_every_truncated_file_is_refused(folder: Path, program: bytes) -> None:
    whole = write(folder, program, cases()).read_bytes()
    path = folder / "cut.bpte"
    for size in range(8, len(whole) - 1, len(whole) // 40):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError):
            examples_of(read(path))
