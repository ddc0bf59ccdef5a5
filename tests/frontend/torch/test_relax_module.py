"""PyTorch's programs as Relax modules: in one process with PyTorch, and out of it again."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

from ethosgen import frontend
from ethosgen.oracle import TFLM
from ethosgen.relax import from_exported_program
from ethosgen.values.errors import ToolError
from tests import ROOT
from tests.support.beside_torch import run_beside_torch
from tests.support.needs import needs_gcc, needs_torch
from tests.support.pt2_files import pt2_files

PROGRAM = ROOT / "tests" / "support" / "relax_programs.py"


@needs_torch
@needs_gcc
@pytest.mark.slow
def test_mobilenet_v2_runs_as_the_oracle_does(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (path,) = pt2_files(tmp_path_factory, "xnnpack", "mobilenet_v2")
    done = run_beside_torch(PROGRAM, path, "ethos-u55-128", tmp_path)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "report.txt").read_text().splitlines()
    assert len(report) == 100 and all(line.endswith(" ethosu_0") for line in report)
    runs = np.load(tmp_path / "runs.npz")
    network = frontend.read(tmp_path / "network.tflite")
    golden = TFLM.run(network, [{network.inputs[0].name: sample} for sample in runs["samples"]])
    for our, answer in zip(runs["ours"], golden, strict=True):
        np.testing.assert_array_equal(our, answer["output_0"])
    scale = network.graph.tensors[network.graph.operators[-1].inputs[0]].quantization
    assert scale is not None
    assert np.abs(runs["ours"] - runs["theirs"]).max() < 2.5 * scale.scale[0]
    library = tvm.runtime.load_module(str(tmp_path / "network.so"))
    machine = relax.VirtualMachine(library, tvm.cpu())  # of a process without PyTorch
    loaded = machine["main"](tvm.runtime.tensor(runs["samples"][0]))[0].numpy()
    np.testing.assert_array_equal(loaded, runs["ours"][0])
    assert (tmp_path / "firmware" / "model" / "network.h").is_file()


@needs_torch
@pytest.mark.slow
def test_a_module_of_torch_is_no_program() -> None:
    lines = "import torch, ethosgen.relax as r; r.from_exported_program(torch.nn.ReLU())"
    done = run_beside_torch("-c", lines)
    said = "InputError: a program is what torch.export.export returns, not ReLU"
    assert done.stderr.rstrip().endswith(said)


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "ethosgen.frontend.torch.importer", raising=False)
    with pytest.raises(ToolError, match=r"pip install 'ethosgen\[torch\]'"):
        from_exported_program(object())
