"""`ethosgen serve`: a client of MLPerf Tiny's protocol, on the console's pseudo-terminal."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import serial
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.flow import build_project, create_project
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import TFLM
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from tests.support.mlperf_networks import network_of
from tests.support.needs import needs_build, needs_qemu
from tests.support.recipes import recipe

NETWORK = network_of("kws01")
ANSWER_S = 60.0
CHUNK = 31


class Client:
    """Speaks the protocol as benchmark/api describes it: commands end with %, answers with m-ready.

    It shares no code with the one of `ethosgen run`.
    """

    def __init__(self, path: str) -> None:
        self._port = serial.Serial(path, 115_200, timeout=0.05)

    def ask(self, command: str) -> list[str]:
        self._port.write(f"{command}%".encode())
        text, ends = b"", time.monotonic() + ANSWER_S
        while not text.endswith(b"m-ready\r\n"):
            assert time.monotonic() < ends, (command, text)
            text += self._port.read(max(1, self._port.in_waiting))
        return text.decode().split("\r\n")[:-2]

    def load(self, data: bytes) -> list[str]:
        assert self.ask(f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
        parts = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)]
        return [line for part in parts for line in self.ask(f"db {part.hex()}")]

    def close(self) -> None:
        self._port.close()


@contextmanager
def serving(project: Path, *options: str) -> Iterator[str]:
    """Run `ethosgen serve`, and yield the path of the terminal."""
    command = [sys.executable, "-m", "ethosgen", "serve", str(project), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            path = process.stdout.readline().decode().strip()
            assert path, process.stderr.read().decode()
            yield path
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        assert process.stderr.read().decode() == "ethosgen: ended by SIGTERM\n"


@pytest.fixture(scope="module", params=["none", "ethos-u55-128"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "kws.tflite").write_bytes(NETWORK)
    wanted = recipe(folder / "kws.tflite", app="mlperf", npu=request.param, check=False)
    create_project(wanted, directory=folder / "p", watch=Watch())
    build_project(folder / "p", watch=Watch())
    return folder / "p"


def times_of(lines: list[str]) -> list[int]:
    return [int(line[len("m-lap-us-") :]) for line in lines if line.startswith("m-lap-us-")]


def results_of(values: np.ndarray) -> str:  # type: ignore[type-arg]
    network = parse_network(NETWORK, "kws")
    sample = {network.inputs[0].name: values.reshape(network.inputs[0].shape)}
    scores = TFLM.run(network, [sample])[0][network.outputs[0].name].ravel()
    real = [f"{(int(score) + 128) / 256:.3f}" for score in scores]
    return f"m-results-[{','.join(real)}]"


@needs_build
@needs_qemu
def test_a_client_of_the_benchmark_is_served(project: Path) -> None:
    values = np.random.default_rng(7).integers(-128, 128, 490).astype(np.int8)
    with serving(project) as path:
        client = Client(path)
        assert client.ask("name") == ["m-name-dut-[ethosgen on QEMU, times are estimates]"]
        profile = client.ask("profile")
        assert profile[:2] == [
            "m-profile-[ULPMark for tinyML Firmware V0.0.1]",
            "m-model-[kws01]",
        ]
        assert client.ask("infer 1 0") == ["e-[The input is not loaded]"]
        assert client.load(values.tobytes()) == ["m-load-done"]
        shown = client.ask("db print")
        assert (
            "".join(line.removeprefix("m-buffer") for line in shown).replace("-", "")
            == values.tobytes().hex()
        )
        lines = client.ask("infer 2 1")
        assert [re.sub(r"us-\d+$", "us-N", line) for line in lines] == [
            *("m-warmup-start-1", "m-warmup-done", "m-infer-start-2"),
            *("m-lap-us-N", "m-lap-us-N", "m-infer-done"),
            results_of(values),
        ]
        client.close()  # the next program opens it again
        client = Client(path)
        assert client.ask("results") == [results_of(values)]
        assert client.ask("infer")[0] == "m-warmup-start-10"
        (begin, end), (first, last) = times_of(lines), times_of(client.ask("infer 8 0"))
        assert last - first == pytest.approx(4 * (end - begin), rel=0.2)
        assert first > end and len(times_of(client.ask("timestamp"))) == 1
        client.close()


@needs_build
@needs_qemu
@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("", "e-[Unknown command: ]"),
        ("sing loudly", "e-[Unknown command: sing]"),
        ("db", "e-[Command 'db' requires a subcommand]"),
        ("db load", "e-[Command 'db load' must be >0 bytes]"),
        ("db load 0", "e-[Command 'db load' must be >0 bytes]"),
        ("db load 491", "e-[Command 'db load' exceeds the network's input]"),
        ("db abc", "e-[Insufficient number of hex digits]"),
        ("db xy", "e-[Invalid hex digit]"),
        ("infer 0", "e-[Inference iterations must be >0]"),
        ("n" * 200, f"e-[Unknown command: {'n' * 80}]"),
    ],
)
def test_a_bad_command_gets_an_error(served: str, command: str, answer: str) -> None:
    client = Client(served)
    client.ask("db load 490")
    assert client.ask(command) == [answer]
    assert client.ask("name")[0].startswith("m-name-dut-")
    client.close()


@pytest.fixture(scope="module")
def served(project: Path) -> Iterator[str]:
    with serving(project) as path:
        yield path


def test_a_boards_console_is_its_own_port(tmp_path: Path) -> None:
    (tmp_path / "kws.tflite").write_bytes(NETWORK)
    wanted = recipe(tmp_path / "kws.tflite", app="mlperf", check=False)
    create_project(wanted, directory=tmp_path / "p", watch=Watch())
    done = CliRunner().invoke(cli, ["serve", str(tmp_path / "p"), "--on", "serial"])
    assert isinstance(done.exception, InputError)
    assert "open the board's own port" in str(done.exception)


def test_what_was_not_built_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "kws.tflite").write_bytes(NETWORK)
    wanted = recipe(tmp_path / "kws.tflite", app="mlperf", check=False)
    create_project(wanted, directory=tmp_path / "p", watch=Watch())
    for option in ((), ("--harness",)):
        done = CliRunner().invoke(cli, ["serve", str(tmp_path / "p"), *option])
        assert isinstance(done.exception, InputError)
        assert "ethosgen build" in str(done.exception)
