"""Golden outputs from a file: they decide, alone, with a limit in steps if the user gives one."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.values.errors import InputError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.golden_file import GIVEN, load_golden
from ethosgen.verdict.judgement import Criteria, Inputs, choose_samples
from tests.support.small_models import image_net


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """Write a network, three samples, and TensorFlow Lite Micro's outputs for them."""
    path = image_net(tmp_path / "net.tflite")
    drawn = choose_samples(flow.read(path, None, Watch()), Inputs(None, 3, 1))
    np.savez(tmp_path / "in.npz", **{k: np.stack([s[k] for s in drawn]) for k in drawn[0]})
    outputs = tmp_path / "out.npz"
    report = simulate(path, None, output_path=outputs)
    assert report.passed and report.golden is not None
    assert report.golden.mismatches == 0  # so these are TensorFlow Lite Micro's outputs
    return path


def simulate(
    path: Path, golden: Path | None, limit: float | None = None, output_path: Path | None = None
) -> Report:
    return flow.simulate(
        path,
        npu="none",
        inputs=Inputs(path.with_name("in.npz"), None, 0),
        output_path=output_path,
        criteria=Criteria(golden, fidelity=limit),
        watch=Watch(),
    )


def changed(net: Path, by: int, count: int) -> Path:
    """Write outputs of which `count` differ by a number of steps, without overflow."""
    with np.load(net.with_name("out.npz")) as arrays:
        (name,) = arrays.files
        array = arrays[name]
    flat = array.reshape(-1)
    away = np.where(flat[:count] > 0, -by, by)
    flat[:count] += away.astype(array.dtype)
    np.savez(net.with_name("other.npz"), **{name: array})
    return net.with_name("other.npz")


def test_equal_outputs_pass_without_any_oracle(net: Path) -> None:
    report = simulate(net, net.with_name("out.npz"))
    assert report.passed and report.second is None
    golden = report.golden
    assert golden is not None and golden.elements == 12
    assert (golden.oracle, golden.title) == (GIVEN, "the outputs in out.npz")
    assert report.fidelity is not None and report.fidelity.equal == 12
    assert report.fidelity.text().startswith("12 of 12 outputs equal out.npz's")


def test_one_differing_element_fails(net: Path) -> None:
    report = simulate(net, changed(net, 1, 1))
    assert report.verdict == "FAIL" and report.golden is not None
    assert (report.golden.mismatches, report.golden.max_abs_diff) == (1, 1.0)
    assert report.diagnosis is not None and "do not list the layers" in report.diagnosis.text()


def test_a_limit_in_steps_allows_differences(net: Path) -> None:
    near, far = simulate(net, changed(net, 1, 5), 1), simulate(net, changed(net, 3, 5), 1)
    assert near.passed and near.golden is not None and near.fidelity is not None
    assert (near.golden.mismatches, near.golden.close, near.fidelity.by_one) == (0, 5, 5)
    assert far.verdict == "FAIL" and far.golden is not None and far.golden.mismatches == 5


def test_the_inputs_must_be_given_too(net: Path) -> None:
    with pytest.raises(InputError, match="holds golden outputs, which random inputs do not have"):
        flow.simulate(
            net,
            npu="none",
            inputs=Inputs(None, 3, 0),
            criteria=Criteria(net.with_name("out.npz")),
            watch=Watch(),
        )


def test_outputs_must_fit(net: Path) -> None:
    network = flow.read(net, None, Watch())
    with pytest.raises(InputError, match="holds outputs for 3 samples, but the inputs are for 4"):
        load_golden(net.with_name("out.npz"), network, 4)
    with pytest.raises(InputError, match="no output is called"):
        load_golden(net.with_name("in.npz"), network, 3)
    (output,) = network.outputs
    np.savez(net.with_name("bad.npz"), **{output.name: np.zeros((3, 1, 2), np.float32)})
    with pytest.raises(InputError, match=f"output '{output.name}' is float32, but must be"):
        load_golden(net.with_name("bad.npz"), network, 3)
