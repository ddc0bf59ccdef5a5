"""Two networks that take turns: on QEMU, with Zephyr, and what it expects."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.applications import APPLICATIONS
from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from tests.support.application_projects import create, edited, run
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.support.small_models import two_inputs

TURNS = APPLICATIONS["turns"]
SIZES = {"watch": 12, "listen": 20}


def classifier(name: str, classes: int = 4) -> bytes:
    net = NetworkBuilder(name, seed=len(name))
    return net.build(net.fully_connected(net.input((1, SIZES[name])), classes))


NETWORKS = [(name, classifier(name)) for name in SIZES]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("turns"), NETWORKS, "turns")


def parsed() -> list[Network]:
    return [parse_network(content, name) for name, content in NETWORKS]


@needs_qemu
def test_each_round_has_both_networks_right_answers(project: Path) -> None:
    report = run(project)
    assert report.passed and report.items == len(report.lines) > 2
    assert all("watch: class" in line and "listen: class" in line for line in report.lines)


@needs_qemu
def test_files_give_the_samples_of_both(project: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    paths = []
    for network in parsed():
        paths.append(tmp_path / f"{network.name}.npz")
        samples = rng.integers(-128, 128, (3, SIZES[network.name]), np.int8)
        np.savez(paths[-1], **{network.inputs[0].name: samples})
    report = run(project, *paths)
    assert report.passed and report.items == 3
    with pytest.raises(InputError, match=r"for each network \(watch and listen\), but got 1"):
        TURNS.load(paths[:1], parsed())


@needs_qemu
def test_the_second_one_sleeps_until_the_first_wakes_it(project: Path) -> None:
    woken = run(project).lines[0].split("watch: class ")[1][0]
    with edited(project, "settings.h", "WAKING_CLASS -1", f"WAKING_CLASS {woken}"):
        report = run(project)
    assert report.passed
    asleep = ["asleep" in line for line in report.lines]
    assert any(asleep) and not all(asleep)


@needs_qemu
def test_an_application_that_mixes_up_the_arena_fails(project: Path) -> None:
    late = "report_round(time_ms, &first, &second);"
    again = "first.score = *watch_{}(); report_round(time_ms, &first, &second);"
    label = parsed()[0].outputs[0].name
    with edited(project, "application.c", late, again.format(label)):
        report = run(project)
    assert report.verdict == "FAIL" and "watch: class" in report.first


@needs_zephyr
@needs_qemu
@pytest.mark.slow
def test_it_runs_with_zephyr(tmp_path: Path) -> None:
    report = run(create(tmp_path, NETWORKS, "turns", "zephyr"))
    assert report.passed and len(report.lines) == report.items


def test_networks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    TURNS.check(parsed())
    with pytest.raises(InputError, match="two networks, in the order of their turns, but got 1"):
        TURNS.check(parsed()[:1])
    double = read(two_inputs(tmp_path / "double.tflite"))
    with pytest.raises(InputError, match=r"'double\.tflite' has 2 inputs"):
        TURNS.check([parsed()[0], double])
