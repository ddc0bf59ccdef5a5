"""Whatever a tensor is called, the C compiles: each identifier of it was tried as a port's name."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.aot.code.port_names import OWN_SUFFIXES, name_ports
from ethosgen.values.network import Tensor
from ethosgen.values.watch import Watch
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

PORT = "nobody_calls_a_port_so"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only")
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\n])*"', re.DOTALL)


def tensor(name: str) -> Tensor:
    return Tensor(0, name, (4,), "int8")


def identifiers(model: Path) -> set[str]:
    texts = (NO_CODE.sub(" ", path.read_text()) for path in model.glob("*.[ch]"))
    return {word for text in texts for word in re.findall(r"\b[a-z_][a-z0-9_]*\b", text)}


@pytest.mark.compiler("gcc")
@pytest.mark.parametrize("options", [{}, {"apart": True}], ids=["inside", "apart"])
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
def test_ports_may_have_any_name(npu: str, options: dict[str, bool], tmp_path: Path) -> None:
    net = NetworkBuilder("net")
    x = net.input((1, 8), name="x")
    (tmp_path / "net.tflite").write_bytes(net.build(net.fully_connected(x, 4, name=PORT)))
    asked = recipe(
        tmp_path / "net.tflite", npu=npu, check=False, names=("net",), io="caller", **options
    )
    model = flow.create_project(asked, directory=tmp_path / "p", watch=Watch()).directory / "model"
    graph = (model / "net_graph.c").read_text()
    symbols = [f"net_{end}" for end in (*OWN_SUFFIXES, "weights", "commands_0")]
    symbols += re.findall(r"\bnet_\w*fully_\w+|\bnet_partition\w*", graph)
    sources = []
    for word in sorted(identifiers(model)):
        _, (name,) = name_ports([tensor("x")], [tensor(word)], symbols)
        if name == word:
            folder = tmp_path / "words" / word
            shutil.copytree(model, folder)
            for path in (p for p in folder.rglob("net*.[ch]") if p.is_file()):
                path.write_text(re.sub(rf"\b{PORT}\b", word, path.read_text()))
            sources += [str(folder / f"net{part}.c") for part in ("", "_self_test", "_graph")]
    assert len(sources) > 300
    subprocess.run(["gcc", *FLAGS, *sources], check=True)
