"""Lowers ExecuTorch's examples with ethosgen's partitioner; run with a Python that has both.

    python lower_examples.py FOLDER NPU ACCELERATORS NAME...

ACCELERATORS are names with commas, or "-". For each example, FOLDER gets NAME.pte, NAME_in.npz,
NAME_out.npz (torch's outputs), NAME.json (what became of each operator) and, without accelerators,
NAME_tosa.npz: the outputs of the lowered program, with TOSA's reference model for each delegate.
"""

import copy
import json
import logging
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tosa_reference_model
from executorch.backends.arm.tosa.backend import TOSABackend
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from ethosgen.executorch import EthosgenCompileSpec, EthosgenPartitioner, support_report
from ethosgen.values.errors import EthosgenError

SAMPLES = 10


class AddTwo(torch.nn.Module):
    """Adds an input to itself, and a number: examples/arm/example_modules/add.py does the same."""

    def forward(self, x: Any) -> Any:
        return x + x + 2


class Layers(torch.nn.Module):
    """What the matrix engine and the NPU take, in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.second = torch.nn.Conv2d(16, 16, 3, padding=1)
        self.last = torch.nn.Linear(16 * 16, 10)

    def forward(self, x: Any) -> Any:
        x = torch.nn.functional.max_pool2d(torch.relu(self.first(x)), 2)
        x = torch.nn.functional.max_pool2d(torch.relu(self.second(x)), 2)
        return self.last(x.flatten(1))


OWN = {"add_two": (AddTwo, (5,)), "layers": (Layers, (1, 3, 16, 16))}


def example(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Return a module in float and its example inputs."""
    torch.manual_seed(0)
    if name in OWN:
        make, shape = OWN[name]
        return make().eval(), (torch.randn(shape),)
    from executorch.examples.models import MODEL_NAME_TO_MODEL
    from executorch.examples.models.model_factory import EagerModelFactory

    if name in MODEL_NAME_TO_MODEL:
        module, inputs, *_ = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name])
        return settled(module, tuple(inputs)), tuple(inputs)
    from executorch.backends.arm.scripts.aot_arm_compiler import MODELS

    return MODELS[name]().eval(), tuple(MODELS[name].example_input)


def settled(module: Any, inputs: tuple[Any, ...]) -> Any:
    """Return a module whose batch norms know the range of values: else outputs are constant."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if norms:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        module.train()
        with torch.no_grad():
            for _ in range(4):
                module(*(torch.randn(8, *x.shape[1:]) for x in inputs))
    return module.eval()


def lower(name: str, folder: Path, spec: Any) -> None:
    """Write the files of an example."""
    module, first = example(name)
    torch.manual_seed(1)
    draw = torch.utils._pytree.tree_map
    inputs = [first, *(draw(torch.randn_like, first) for _ in range(SAMPLES - 1))]
    program = quantized(module, inputs, spec)
    edge = to_edge_transform_and_lower(
        program,
        partitioner=[EthosgenPartitioner(spec)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    (folder / f"{name}.json").write_text(json.dumps([vars(s) for s in support_report(edge)]))
    run = program.module(check_guards=False)
    with torch.no_grad():
        theirs = [leaves(run(*sample)) for sample in inputs]
        ours = None
        if not spec.accelerators:
            lowered = _Lowered(edge, spec)
            ours = [leaves(lowered.run(*leaves(sample))) for sample in inputs]
    (folder / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
    save(folder / f"{name}_in.npz", "input", [leaves(sample) for sample in inputs])
    save(folder / f"{name}_out.npz", "output", theirs)
    if ours is not None:
        save(folder / f"{name}_tosa.npz", "output", ours)


def quantized(module: Any, inputs: Sequence[tuple[Any, ...]], spec: Any) -> Any:
    """Return the program in int8, calibrated with the inputs."""
    exported = torch.export.export(module, inputs[0]).module(check_guards=False)
    prepared = prepare_pt2e(exported, spec.quantizer())
    for sample in inputs:
        prepared(*sample)
    return torch.export.export(convert_pt2e(prepared), inputs[0])


class _Lowered(torch.fx.Interpreter):  # type: ignore[misc] # torch is not installed here
    """Runs a lowered program with TOSA's reference model in place of the NPU."""

    def __init__(self, edge: Any, spec: Any) -> None:
        program = edge.exported_program()
        super().__init__(program.graph_module)
        self._spec = TOSABackend.filter_tosa_compile_specs(spec.ethosu)
        signature = program.graph_signature
        held = {**program.state_dict, **program.constants}
        self._held = {
            spec.arg.name: held[spec.target]
            for spec in signature.input_specs
            if spec.target in held
        }
        self._graphs: dict[str, bytes] = {}

    def run(self, *inputs: Any) -> Any:
        waiting = list(inputs)
        ports = self.module.graph.find_nodes(op="placeholder")
        values = [self._held[p.name] if p.name in self._held else waiting.pop(0) for p in ports]
        return super().run(*values)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is not executorch_call_delegate:
            return super().call_function(getattr(target, "_op", target), args, kwargs)
        lowered, *inputs = args
        codes = [np.ascontiguousarray(value.numpy()) for value in inputs]
        outputs, _ = tosa_reference_model.run(self._graph(lowered), codes)
        return [torch.from_numpy(np.asarray(output)) for output in outputs]

    def _graph(self, lowered: Any) -> bytes:
        key = str(id(lowered))
        if key not in self._graphs:
            program = copy.deepcopy(lowered.original_module)  # passes change it
            done = TOSABackend._preprocess(program, self._spec)
            self._graphs[key] = done.processed_bytes
        return self._graphs[key]


def leaves(value: Any) -> list[Any]:
    return [leaf.detach() for leaf in torch.utils._pytree.tree_leaves(value)]


def save(file: Path, kind: str, samples: Sequence[Sequence[Any]]) -> None:
    """Write samples under the names that ethosgen gives the inputs and outputs."""
    stacked = {
        f"{kind}_{index}": np.stack([sample[index].numpy() for sample in samples])
        for index in range(len(samples[0]))
    }
    np.savez(file, **stacked)


def main(place: str, npu: str, accelerators: str, *names: str) -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    named = [] if accelerators == "-" else accelerators.split(",")
    failed = 0
    for name in names:
        try:
            lower(name, Path(place), EthosgenCompileSpec(npu, accelerators=named))
        except EthosgenError as error:
            failed = 1
            print(f"{name}: {error}", file=sys.stderr)
        except Exception:
            failed = 1
            print(name, file=sys.stderr)
            traceback.print_exc()
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
