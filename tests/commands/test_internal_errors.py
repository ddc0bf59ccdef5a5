"""Errors of our own: a sentence that says so, a log, and a status that is not that of a FAIL."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import cli
from ethosgen.aot import kernels
from ethosgen.frontend.tflite import reader
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import BUG_STATUS, InputError, InternalError
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.execution import blame_file
from tests.support.networks import NetworkBuilder, Spec

Run = Callable[..., tuple[object, str]]


def _network(terms: int = 2) -> bytes:
    """Return ADD of some terms; TFLite Micro refuses one of a single term."""
    net = NetworkBuilder("sum")
    inputs = [net.input((1, 4), name=f"x{i}") for i in range(terms)]
    return net.build(*net.operator("ADD", inputs, [Spec((1, 4), "int8", 0.1, 0)]))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command line here, where a kernel's function can be broken."""

    def broken(*_: object) -> object:
        raise OverflowError("1 << 31 is\nno int32")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    add = replace(kernels.registry()["ADD", "int8"], build=broken)
    monkeypatch.setattr(kernels, "registration_of", lambda *_: add)

    def call(*arguments: object) -> tuple[object, str]:
        monkeypatch.setattr("sys.argv", ["ethosgen", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, capsys.readouterr().err

    return call


def test_a_kernels_bug_is_ours(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sum.tflite"
    path.write_bytes(_network())
    status, said = run("simulate", path, "--npu", "none")
    assert status == BUG_STATUS
    assert "operator 1 of 1, ADD that makes 'add_2', cannot be compiled (OverflowError" in said
    assert "a bug in ethosgen" in said and "damaged" not in said and "Traceback" not in said
    log = re.search(r"'(\S+ethosgen-bug-\S+\.log)'", said)
    assert log is not None
    text = Path(log[1]).read_text()
    assert "Traceback" in text and "1 << 31" in text and str(path) in text


def test_a_file_that_nobody_runs_is_damaged(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sum.tflite"
    path.write_bytes(_network(1))
    status, said = run("simulate", path, "--npu", "none")
    assert status == InputError.exit_status
    assert said.startswith("ethosgen: 'sum' is damaged: operator 1 of 1, ADD")
    assert "TFLite Micro" in said and "convert it again" in said and len(said.splitlines()) == 1


def blame(data: bytes) -> None:
    network = parse_network(data, "sum")
    samples = random_samples(network, 1, seed=0)
    blame_file(InternalError("ours"), plan_cpu_only(network, IoStyle.ARENA), samples)


def test_blame_needs_an_interpreter_that_refuses() -> None:
    blame(_network())
    with pytest.raises(InputError, match="damaged"):
        blame(_network(1))


def test_a_bug_of_the_reader_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise TypeError("ours")

    monkeypatch.setattr(reader._TfliteDecoder, "operator", broken)
    with pytest.raises(TypeError, match="ours"):
        parse_network(_network(), "sum")
