"""A PyTorch user's program with ethosgen.relax; run with a Python that has both.

    python relax_programs.py FILE.pt2 NPU FOLDER

FOLDER gets samples, torch's outputs, those of the partitioned module, the exported library, the
network as .tflite, firmware, and a line for each operator.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # the operators of quantized programs
import tvm
from tvm import relax

from ethosgen.relax import (
    from_exported_program,
    partition_for_ethosu,
    save_tflite,
    simulate_ethosu,
    support_report,
    to_project,
)


def main(path: str, npu: str, place: str) -> None:
    warnings.simplefilter("ignore")
    folder = Path(place)
    program = torch.export.load(path)
    module = from_exported_program(program)
    partitioned = partition_for_ethosu(module, npu)
    lines = [f"{line.composite} {line.partition}" for line in support_report(partitioned)]
    (folder / "report.txt").write_text("\n".join(lines))
    executable = tvm.compile(simulate_ethosu(partitioned), target="llvm")
    executable.export_library(str(folder / "network.so"))
    shape = [int(size) for size in module["main"].params[0].ty.shape.values]
    samples = np.random.default_rng(3).normal(size=(3, *shape)).astype(np.float32)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    ours = [machine["main"](tvm.runtime.tensor(sample))[0].numpy() for sample in samples]
    with torch.no_grad():
        run = program.module(check_guards=False)
        theirs = [torch.utils._pytree.tree_leaves(run(torch.from_numpy(s))) for s in samples]
    np.savez(folder / "runs.npz", samples=samples, ours=ours, theirs=[t[0] for t in theirs])
    save_tflite(module, folder / "network.tflite")
    to_project(partitioned, directory=folder / "firmware", board="corstone300", name="network")


if __name__ == "__main__":
    main(*sys.argv[1:])
