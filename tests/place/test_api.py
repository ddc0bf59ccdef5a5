"""`ethosgen.place`: what the command does, with values in and out."""

import json
from pathlib import Path

import pymetis  # noqa: F401 - the tests are skipped without it
import pytest

import ethosgen
from ethosgen.cli import cli
from tests.support.networks import NetworkBuilder
from tests.support.task_graphs import graph_json

GRAPH = graph_json(
    {"in": 4000, "left": 9000, "out": 500}, {("in", "left"): 512, ("left", "out"): 64}
)


def test_place_gives_the_commands_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, placement = tmp_path / "graph.json", tmp_path / "placement.json"
    path.write_text(json.dumps(GRAPH))
    report = ethosgen.place(path, mesh=(4, 3), seed=2, output=placement)
    cli.main(["place", str(path), "--mesh", "4x3", "--seed", "2", "--json"], standalone_mode=False)
    assert json.loads(json.dumps(report.as_json())) == json.loads(capsys.readouterr().out)
    again = ethosgen.place(path, mesh=(4, 3), mapping=placement)
    assert again.as_json()["tasks"] == report.as_json()["tasks"]


def test_a_network_is_a_path_or_a_value(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    net = NetworkBuilder("net")
    path.write_bytes(net.build(net.relu(net.relu(net.input((1, 16, 16, 4))))))
    stages: list[str] = []
    report = ethosgen.place(ethosgen.read(path), mesh=(2, 2), stages=2, announce=stages.append)
    assert report.as_json() == ethosgen.place(path, mesh=(2, 2), stages=2).as_json()
    assert len(report.as_json()["tasks"]) == 2 and stages
    with pytest.raises(ethosgen.EthosgenError, match="--mesh 0x2: width: "):
        ethosgen.place(path, mesh=(0, 2))
