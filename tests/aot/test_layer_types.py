"""Random layers of every type against TFLite Micro: as C built by gcc, and through LLVM.

Some twenty layers share a network, so that one compiler run serves them all.
"""

from pathlib import Path

import numpy as np
import pytest
from aot_harness import GeneratedC, cpu_plan, needs_gcc

from ethosgen.aot import compile_program, evaluate
from ethosgen.aot.operators import LIBRARY_ULP
from ethosgen.flatbuffer import parse_model
from ethosgen.outcome import Arrays
from ethosgen.plan import IoStyle
from ethosgen.reference import golden_outputs, random_samples
from layer_networks import LAYERS
from networks import Network

EACH = 3
"""Layers of a kind in a network."""


@needs_gcc
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_random_layers_equal_tflite_micro(dtype: str, seed: int, tmp_path: Path) -> None:
    net = Network("layers", seed)
    outputs = [build(net, dtype) for build in LAYERS for _ in range(EACH)]
    codes = {net.tensors[op.outputs[0]].name or "": op.code for op in net.operators}
    model = parse_model(net.build(*outputs), "layers.tflite")
    plan = cpu_plan(model, IoStyle.CALLER)
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    samples = random_samples(model, 2, seed=3)
    for sample, golden in zip(samples, golden_outputs(model, samples), strict=True):
        status, made = generated.run(sample)
        assert status == 0
        _assert_close("C", made, golden, codes)
        _assert_close("LLVM", evaluate(plan, sample, _unused), golden, codes)


def _assert_close(how: str, made: Arrays, golden: Arrays, codes: dict[str, str]) -> None:
    """Fail unless all is equal; SOFTMAX of reals may be off by what expf of the library is."""
    assert set(made) == set(golden)
    for name, wanted in golden.items():
        assert made[name].dtype == wanted.dtype
        if wanted.dtype == np.float32 and codes[name] == "SOFTMAX":
            np.testing.assert_array_max_ulp(made[name], wanted, LIBRARY_ULP)
            continue
        np.testing.assert_array_equal(made[name], wanted, f"{how}, {codes[name]} {name}")


def _unused(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")
