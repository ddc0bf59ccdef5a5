"""A Relax module becomes a file that the commands verify."""

from pathlib import Path

import numpy as np
import pytest
import tvm

from ethosgen import flow, frontend
from ethosgen.oracle import TFLM
from ethosgen.relax import save_tflite
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.relax.test_partition import X, floats, whole_module
from tests.support.relax_networks import run


def test_the_file_is_verified_and_equals_the_module(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    module = whole_module()
    in_float = save_tflite(module, path)
    assert set(in_float.values()) == {
        "DIV has no integer form",
        "no pattern of quantized operators has its exp",
    }
    inputs = Inputs(None, 4, 0)
    report = flow.simulate(path, npu="ethos-u55-128", inputs=inputs, watch=Watch())
    assert report.passed and report.golden is not None and report.golden.oracle == "tflm"
    network = frontend.read(path)
    assert [(tensor.name, tensor.dtype) for tensor in network.inputs] == [("x0", "float32")]
    assert [tensor.name for tensor in network.outputs] == ["output_0"]
    samples = floats(4)
    theirs = run(module, samples)
    ours = TFLM.run(network, [{"x0": sample[0]} for sample in samples])
    for a, b in zip(ours, theirs, strict=True):
        assert np.max(np.abs(np.log(a["output_0"] / b[0]))) < 1.01 * X.scale


def test_nothing_is_written_for_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    with pytest.raises(InputError, match="no Relax function 'main'"):
        save_tflite(tvm.IRModule({}), path)
    assert not path.exists()
    with pytest.raises(InputError, match="cannot write"):
        save_tflite(whole_module(), tmp_path / "missing" / "net.tflite")
