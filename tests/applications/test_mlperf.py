"""The runner's commands: on QEMU with and without an NPU, with Zephyr, and what is expected."""

import re
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.applications import APPLICATIONS, Settings
from ethosgen.applications.mlperf import BENCHMARKS
from ethosgen.flow import build_project, create_project
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import TFLM
from ethosgen.project import open_project
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.application_projects import create, edited, run
from tests.support.mlperf_networks import network_of
from tests.support.needs import needs_build, needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

MLPERF: Any = APPLICATIONS["mlperf"]
MODELS = [benchmark.model for benchmark in BENCHMARKS]
_STREAM = tuple(rf"m-{what}-\[[-+\d, ]+\]" for what in ("features", "activations"))
_LINES = dict.fromkeys(MODELS, (r"m-results-\[[-\d.,]+\]",)) | {"sww01": _STREAM}
"""The lines for each input."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("kws"), [("kws", network_of("kws01"))], "mlperf")


@needs_build
@needs_qemu
@pytest.mark.parametrize("model", MODELS)
def test_the_results_are_those_of_the_oracle(model: str, tmp_path: Path) -> None:
    report = run(create(tmp_path, [("net", network_of(model))], "mlperf"))
    assert report.passed and report.items == len(report.lines) // len(_LINES[model]) > 2
    for index, line in enumerate(report.lines):
        assert re.fullmatch(_LINES[model][index % len(_LINES[model])], line)
    assert len(set(report.lines)) > len(_LINES[model])


@needs_build
@needs_qemu
def test_a_wrong_bit_fails(project: Path) -> None:
    with edited(project, "application.c", "(byte ^ FLIP)", "(byte ^ 1u)"):
        report = run(project)
    assert report.verdict == "FAIL" and "m-results" in report.first


@needs_build
@needs_qemu
def test_files_of_a_data_set_are_sent(project: Path, tmp_path: Path) -> None:
    values = np.arange(490, dtype=np.int64).astype(np.int8)
    (tmp_path / "a.bin").write_bytes(values.tobytes())
    report = run(project, tmp_path / "a.bin", tmp_path / "a.bin")
    assert report.passed and report.items == 2 and len(set(report.lines)) == 1


@needs_build
@needs_qemu
def test_a_network_without_an_npu(tmp_path: Path) -> None:
    (tmp_path / "vww.tflite").write_bytes(network_of("vww01"))
    wanted = recipe(tmp_path / "vww.tflite", app="mlperf", npu="none", check=False)
    create_project(wanted, directory=tmp_path / "p", watch=Watch())
    build_project(tmp_path / "p", watch=Watch())
    assert run(tmp_path / "p").passed


@needs_zephyr
@needs_qemu
@pytest.mark.slow
def test_it_runs_with_zephyr(tmp_path: Path) -> None:
    report = run(create(tmp_path, [("ad", network_of("ad01"))], "mlperf", "zephyr"))
    assert report.passed and len(report.lines) == report.items


def test_scores_are_rounded_as_printf_does() -> None:
    network = parse_network(network_of("kws01"), "kws")
    target = network.outputs[0]
    assert target.quantization is not None and target.quantization.scale == (1 / 256,)
    outputs = {target.name: np.arange(-128, -116, dtype=np.int8).reshape(1, 12)}
    outputs[target.name][0, 0] = 16 - 128  # 0.0625, half of a thousandth: to even
    lines = MLPERF.expect([bytes(490)], [network], lambda _index, _items: [outputs], Settings({}))
    assert lines[0].startswith("m-results-[0.062,0.004,0.008,0.012,")


def test_the_error_is_that_of_the_float_input() -> None:
    network = parse_network(network_of("ad01"), "ad")
    source, target = network.inputs[0], network.outputs[0]
    item = np.random.default_rng(4).normal(size=640).astype("<f4")
    seen: list[Any] = []

    def answer(_index: int, samples: Any) -> Any:
        seen.extend(samples)
        return TFLM.run(network, samples)

    line = MLPERF.expect([item.tobytes()], [network], answer, Settings({}))[0]
    assert source.quantization is not None and target.quantization is not None
    step, zero = source.quantization.scale[0], source.quantization.zero_point[0]
    assert np.abs((seen[0][source.name].ravel() - float(zero)) * step - item).max() <= step * 0.5001
    output = TFLM.run(network, seen)[0][target.name].ravel().astype(np.float64)
    real = (output - target.quantization.zero_point[0]) * target.quantization.scale[0]
    assert float(line[11:-1]) == pytest.approx(np.mean((real - item) ** 2), abs=0.0006)


def test_an_image_loses_its_highest_bit_on_the_way(tmp_path: Path) -> None:
    network = parse_network(network_of("ic01"), "ic")
    seen: list[Any] = []

    def answer(_index: int, samples: Any) -> Any:
        seen.extend(samples)
        return TFLM.run(network, samples)

    pixels = (np.arange(3072) % 256).astype(np.uint8)
    (tmp_path / "a.bin").write_bytes(pixels.tobytes())
    items = MLPERF.load([tmp_path / "a.bin"], [network])
    MLPERF.expect(items, [network], answer, Settings({}))
    assert (seen[0][network.inputs[0].name].ravel() == pixels.astype(int) - 128).all()


def test_the_commands_are_as_long_as_the_runners() -> None:
    commands = MLPERF.commands(bytes(range(64)))
    assert commands[0] == "db load 64" and commands[-1] == "infer 1 0"
    assert [len(command) for command in commands[1:-1]] == [65, 65, 7]
    assert bytes.fromhex("".join(command[3:] for command in commands[1:-1])) == bytes(range(64))


def test_a_file_of_anomaly_detection_has_windows_that_overlap(tmp_path: Path) -> None:
    network = parse_network(network_of("ad01"), "ad")
    values = np.arange(640 + 2 * 128, dtype="<f4")
    (tmp_path / "a.bin").write_bytes(values.tobytes())
    items = MLPERF.load([tmp_path / "a.bin"], [network])
    assert [np.frombuffer(item, "<f4")[0] for item in items] == [0, 128, 256]
    assert {len(item) for item in items} == {2560}


def test_sound_is_cut_into_frames(tmp_path: Path) -> None:
    network = parse_network(network_of("sww01"), "sww")
    samples = np.arange(1100, dtype="<i2")
    items = MLPERF.load([_write_wave(tmp_path / "a.wav", samples)], [network])
    assert b"".join(items) == samples[:1024].tobytes() and len(items) == 2
    assert [len(each) for each in MLPERF.commands(items[0])] == [12, 1027, 1027, 19]
    with pytest.raises(InputError, match="has 511 samples, but a frame has 512"):
        MLPERF.load([_write_wave(tmp_path / "b.wav", samples[:511])], [network])


def _write_wave(path: Path, samples: Any) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return path


def test_the_network_sees_the_last_frames_after_silence() -> None:
    network = parse_network(network_of("sww01"), "sww")
    items = MLPERF.draw([network], seed=3)
    seen: list[Any] = []

    def answer(_index: int, samples: Any) -> Any:
        seen.extend(sample[network.inputs[0].name].reshape(30, 40) for sample in samples)
        return TFLM.run(network, samples)

    lines = MLPERF.expect(items, [network], answer, Settings({}))
    assert len(lines) == 2 * len(items) == 2 * len(seen) > 60
    assert not seen[0][:-1].any() and (seen[35][:-1] == seen[34][1:]).all()
    assert lines[0] == f"m-features-[{', '.join(f'{value:+3d}' for value in seen[0][-1])}]"


@pytest.mark.parametrize("model", [model for model in MODELS if model != "sww01"])
@pytest.mark.parametrize("size", [0, 17])
def test_a_file_of_another_size_gets_a_sentence(model: str, size: int, tmp_path: Path) -> None:
    network = parse_network(network_of(model), "net")
    (tmp_path / "a.bin").write_bytes(bytes(size))
    with pytest.raises(InputError, match=rf"has {size} bytes, but an input of {model} has"):
        MLPERF.load([tmp_path / "a.bin"], [network])
    with pytest.raises(InputError, match="cannot read"):
        MLPERF.load([tmp_path / "none.bin"], [network])


def test_other_networks_are_refused() -> None:
    net = NetworkBuilder("other")
    other = parse_network(net.build(net.fully_connected(net.input((1, 8)), 3)), "other")
    with pytest.raises(InputError, match=r"kws01 from 1x49x10x1 to 12.*'other' goes from 1x8 to 3"):
        MLPERF.check([other])
    kws = parse_network(network_of("kws01"), "kws")
    with pytest.raises(InputError, match="one network, of a benchmark, but got 2"):
        MLPERF.check([kws, kws])


def test_the_project_needs_no_feed(tmp_path: Path) -> None:
    place = create(tmp_path, [("kws", network_of("kws01"))], "mlperf", build=False)
    assert open_project(place).app == "mlperf"
    files = {path.name for path in (place / "application").iterdir()}
    assert {"commands.c", "stopwatch.c", "run_benchmark.py"} <= files
    assert not files & {"feed.c", "busy.c", "features.c"}
    assert "ethosgen serve ." in (place / "README.md").read_text()


def test_a_runner_finds_the_port_by_the_reference_boards_identity(tmp_path: Path) -> None:
    runner = tmp_path / "runner"
    runner.mkdir()
    (runner / "neighbour.py").write_text("from serial.tools import list_ports\n")
    (runner / "main.py").write_text(
        "import os, sys\n"
        "from neighbour import list_ports\n"
        "ports = [(p.device, p.vid, p.pid) for p in list_ports.comports(True) if p.vid]\n"
        "print(__name__, ports, sys.argv, os.getcwd())\n"
    )
    script = ROOT / "templates" / "apps" / "mlperf" / "run_benchmark.py"
    command = [sys.executable, script, "/dev/pts/7", "runner", "-m", "a", "-s", "data"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    wanted = ["main.py", "--device_list", "devices_kws_ic_vww.yaml", "-m", "a", "-s"]
    told = ("__main__", [("/dev/pts/7", 0x0483, 0x374B)], [*wanted, str(tmp_path / "data")], runner)
    assert done.stdout.split("\n")[0] == " ".join(map(str, told))
    (runner / "stream_wav_uart.py").write_text((runner / "main.py").read_text())
    command[4:] = ["stream_wav_uart.py", "--wav_file", "a.wav"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"['stream_wav_uart.py', '--wav_file', '{tmp_path / 'a.wav'}']" in done.stdout
    nothing = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert nothing.returncode == 1 and "run_benchmark.py PORT RUNNER" in nothing.stderr
