"""What the partitioner refuses: operators, with their reasons, and wrong uses, in a sentence."""

import sys

import pytest

import ethosgen.executorch
from ethosgen.values.errors import ToolError
from tests import ROOT
from tests.support.beside_torch import run_beside_torch
from tests.support.needs import needs_torch

START = "import ethosgen.executorch as e\n"
WRONG = [
    ("e.EthosgenCompileSpec('none')", "there is nothing to lower for: name an NPU, or"),
    ("e.EthosgenCompileSpec('ethos-u56')", "ethos-u56"),
    ("e.EthosgenCompileSpec(accelerators=['no-engine'])", "no-engine"),
    (
        "e.EthosgenCompileSpec('ethos-u55-128', board='mps2-an386')",
        "board 'mps2-an386' has no",
    ),
    (
        "e.EthosgenCompileSpec(accelerators=['matrix-engine'], memory_mode='Sram_Only')",
        "are Vela's, which runs later with accelerators",
    ),
    ("e.EthosgenPartitioner(3)", "the partitioner takes an EthosgenCompileSpec, not int"),
    ("e.to_project(3, directory='x')", "to_project takes what to_edge_transform_and_lower"),
    (
        """import torch
from executorch.exir import to_edge
layer = torch.nn.Linear(4, 4).eval()
edge = to_edge(torch.export.export(layer, (torch.zeros(1, 4),)))
edge.to_backend(e.EthosgenPartitioner(e.EthosgenCompileSpec(accelerators=['matrix-engine'])))""",
        "the partitioner has not seen the weights: pass it to to_edge_transform_and_lower",
    ),
]
"""Lines of a program, and what its last line says."""


@needs_torch
@pytest.mark.slow
def test_a_partition_that_fails_loses_only_the_operators_that_fail_alone() -> None:
    done = run_beside_torch(ROOT / "tests" / "executorch" / "refuse_pools.py")
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("node|")]
    assert len(rows) == 8
    for _, operator, partition, reason in rows:
        is_pool = "max_pool2d" in operator
        assert bool(partition) is not is_pool
        assert reason == ("it pools wrongly" if is_pool else "")
    assert len({partition for _, _, partition, _ in rows if partition}) == 3


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(("lines", "said"), WRONG)
def test_wrong_uses_end_with_a_sentence(lines: str, said: str) -> None:
    done = run_beside_torch("-c", START + lines)
    last = done.stderr.rstrip().splitlines()[-1]
    assert said in last and last.startswith("ethosgen.values.errors.InputError: ")


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ethosgen.executorch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "executorch", None)
    with pytest.raises(ToolError, match=r"pip install 'ethosgen\[torch\]'"):
        assert ethosgen.executorch.EthosgenPartitioner
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        assert ethosgen.executorch.nothing  # type: ignore[attr-defined]
