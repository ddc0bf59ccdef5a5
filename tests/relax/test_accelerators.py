"""Modules divided between accelerators, libraries and the host; libraries that are exported."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from ethosgen import build_project
from ethosgen.relax import (
    partition_for_accelerators,
    partition_for_arm_compute_lib,
    partition_for_cmsisnn,
    partition_for_ethosu,
    simulate_accelerators,
    simulate_ethosu,
    support_report,
    to_project,
)
from ethosgen.values.errors import InputError
from tests.relax.test_partition import NPU, floats, whole_module
from tests.support.needs import needs_build, needs_cmsis_nn, needs_gcc, needs_qemu_user
from tests.support.relax_networks import (
    LOADING,
    Given,
    Quantized,
    edge_samples,
    operator,
    run,
    weights,
)

pytestmark = pytest.mark.slow


def _places(module: tvm.IRModule) -> dict[str, str]:
    return {support.result: support.partition for support in support_report(module)}


def _values(module: tvm.IRModule) -> list[Any]:
    return [outputs[0] for outputs in run(module, floats(4))]


@pytest.fixture(scope="module")
def by_npu() -> list[Any]:
    """Return the NPU's outputs, which equal TensorFlow Lite Micro's integers."""
    return _values(simulate_ethosu(partition_for_ethosu(whole_module(), NPU)))


@needs_gcc
@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["matrix-engine"], ("matrix_engine_0", "", "", "matrix_engine_1")),
        ([NPU, "matrix-engine"], ("ethosu_0", "ethosu_0", "ethosu_0", "ethosu_1")),
        (["matrix-engine", NPU], ("matrix_engine_0", "ethosu_0", "ethosu_0", "matrix_engine_1")),
    ],
    ids=str,
)
def test_the_first_that_takes_an_operator_runs_it(
    names: list[str], places: tuple[str, ...], by_npu: list[Any]
) -> None:
    partitioned = partition_for_accelerators(whole_module(), names)
    placed = _places(partitioned)
    assert tuple(placed[name] for name in ("active", "small", "flat", "scores")) == places
    for ours, theirs in zip(_values(simulate_accelerators(partitioned)), by_npu, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@needs_gcc
def test_each_refusal_has_its_reason() -> None:
    partitioned = partition_for_accelerators(whole_module(), ["matrix-engine"])
    reasons = {support.result: support.reason for support in support_report(partitioned)}
    assert reasons["small"] == "MAX_POOL_2D: it does not run MAX_POOL_2D"
    assert reasons["flat"] == "it computes nothing, it only moves data"


@pytest.mark.parametrize(
    ("partition", "codegen"),
    [
        pytest.param(partition_for_cmsisnn, "cmsis_nn", marks=[needs_cmsis_nn, needs_gcc]),
        pytest.param(
            partition_for_arm_compute_lib, "acl", marks=[pytest.mark.acl, needs_qemu_user]
        ),
    ],
)
def test_libraries_by_the_names_that_tvm_had(
    partition: Callable[..., tvm.IRModule], codegen: str, by_npu: list[Any]
) -> None:
    partitioned = partition(whole_module())
    placed = _places(partitioned)
    assert (placed["active"], placed["small"]) == (f"{codegen}_0", f"{codegen}_0")
    for ours, theirs in zip(_values(simulate_accelerators(partitioned)), by_npu, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("partition", [partition_for_cmsisnn, partition_for_arm_compute_lib])
def test_libraries_take_the_weights_as_tvm_had_them(partition: Callable[..., Any]) -> None:
    x, kernel = (
        relax.Var(name, relax.TensorType(shape, "float32"))
        for name, shape in (("x", (1, 4, 8, 8)), ("kernel", (8, 4, 3, 3)))
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, kernel]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.nn.conv2d(x, kernel))
        builder.emit_func_output(result)
    held = {"kernel": np.ones((8, 4, 3, 3), np.float32)}
    partitioned = partition(builder.get(), held)
    assert len(partitioned["main"].params) == 1
    (support,) = support_report(partitioned)
    assert support.composite.endswith(".conv2d_f32") and not support.is_supported


def _float_module() -> tvm.IRModule:
    values = np.random.default_rng(3)
    kernel = relax.const(values.normal(size=(8, 4, 3, 3)).astype(np.float32))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 4, 8, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.conv2d(x, kernel, padding=1), "deep")
            y = builder.emit(relax.op.nn.max_pool2d(y, (2, 2), (2, 2)), "small")
            result = builder.emit_output(relax.op.add(y, y), "sum")
        builder.emit_func_output(result)
    return builder.get()


@needs_qemu_user
@pytest.mark.acl
@pytest.mark.parametrize(("steps", "deep"), [(0.0, ""), (1.0, "acl_0")])
def test_floats_on_a_library_within_the_allowed_steps(steps: float, deep: str) -> None:
    partitioned = partition_for_arm_compute_lib(_float_module(), allow_difference=steps)
    partitions = [support.partition for support in support_report(partitioned)]
    assert partitions == [deep, "acl_0", "acl_0"]
    ours, theirs = (
        [out[0] for out in run(module, floats(3))]
        for module in (simulate_accelerators(partitioned), _float_module())
    )
    for our, their in zip(ours, theirs, strict=True):
        assert np.abs(our - their).max() <= np.abs(their).max() / 256


def _over_images(*operators: Any) -> tvm.IRModule:
    """Build a module of operators on one input of channels, rows and columns."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 4, 8, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            ends = [builder.emit(make(x)) for make in operators]
            result = builder.emit_output(relax.Tuple(ends))
        builder.emit_func_output(result)
    return builder.get()


@needs_qemu_user
@pytest.mark.acl
def test_pools_of_whole_images_are_the_librarys() -> None:
    module = _over_images(
        lambda x: relax.op.nn.adaptive_avg_pool2d(x, (1, 1)),
        lambda x: relax.op.mean(x, [2, 3]),
    )
    partitioned = partition_for_arm_compute_lib(module, allow_difference=1.0)
    assert all(support.is_supported for support in support_report(partitioned))
    samples = [[np.random.default_rng(i).normal(size=(1, 4, 8, 8)).astype("f4")] for i in range(3)]
    ours, theirs = (run(m, samples) for m in (simulate_accelerators(partitioned), module))
    for mine, other in zip(ours, theirs, strict=True):
        for left, right in zip(mine, other, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def _layer(*clamp: Any, seed: int = 3) -> tvm.IRModule:
    """Build a convolution of floats with a bias, as importers write it, and a clamp."""
    values = np.random.default_rng(seed)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 4, 8, 8), "float32"))
    kernel, bias = (
        relax.const(values.normal(size=shape).astype(np.float32))
        for shape in ((8, 4, 3, 3), (8, 1, 1))
    )
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.conv2d(x, kernel, padding=1))
            y = builder.emit(relax.op.add(y, bias))
            if clamp:
                y = builder.emit(relax.op.clip(y, *clamp))
            result = builder.emit_output(y)
        builder.emit_func_output(result)
    return builder.get()


@needs_qemu_user
@pytest.mark.acl
@pytest.mark.parametrize("clamp", [(), (0, np.inf), (0, 6), (-0.5, 0.7)], ids=str)
def test_a_float_layer_is_one_composite_with_bias_and_clamp(clamp: tuple[float, ...]) -> None:
    module = _layer(*clamp)
    (support,) = support_report(partition_for_arm_compute_lib(module))
    assert "differ from TensorFlow Lite Micro's by up to 0.1 steps" in support.reason
    partitioned = partition_for_arm_compute_lib(module, allow_difference=1.0)
    (support,) = support_report(partitioned)
    assert (support.composite, support.partition) == ("acl.conv2d_f32", "acl_0")
    samples = [[np.random.default_rng(i).normal(size=(1, 4, 8, 8)).astype("f4")] for i in range(3)]
    ours, theirs = (run(m, samples) for m in (simulate_accelerators(partitioned), module))
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our[0], their[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("matrix-engine", marks=needs_gcc),
        pytest.param("cmsis-nn", marks=[needs_cmsis_nn, needs_gcc]),
    ],
)
@pytest.mark.parametrize("clamp", [(0, 6), (-0.5, 0.7)], ids=str)
def test_a_layer_of_integers_keeps_any_clamp(name: str, clamp: tuple[float, float]) -> None:
    image, to = Given((1, 8, 8, 8), Quantized(0.05, 3)), Quantized(0.08, -10)
    kernel, bias = weights((8, 8, 3, 3), Quantized(0.01)), np.linspace(-1, 1, 8, dtype="f4")

    def make(x: Any) -> Any:
        total = relax.op.add(relax.op.nn.conv2d(x, kernel), relax.const(bias.reshape(8, 1, 1)))
        return relax.op.clip(total, *clamp)

    module, samples = operator([image], to, make), edge_samples([image])
    partitioned = partition_for_accelerators(module, [name])
    (support,) = support_report(partitioned)
    assert support.partition == f"{name.replace('-', '_')}_0"
    ours = run(simulate_accelerators(partitioned), samples)
    golden = run(simulate_ethosu(partition_for_ethosu(module, NPU)), samples)
    for our, their in zip(ours, golden, strict=True):
        np.testing.assert_array_equal(our[0], their[0])


@needs_gcc
def test_an_engine_of_integers_refuses_floats() -> None:
    report = support_report(partition_for_accelerators(_float_module(), ["matrix-engine"]))
    assert [(s.composite, s.is_supported) for s in report] == [
        ("matrix_engine.conv2d_f32", False),
        ("matrix_engine.max_pool2d_f32", False),
        ("matrix_engine.add_f32", False),
    ]
    assert report[0].reason == "CONV_2D: it takes int8, not float32"


@needs_gcc
@pytest.mark.parametrize("names", [[NPU], ["matrix-engine", NPU]], ids=str)
def test_an_exported_library_runs_in_another_process(
    names: list[str], by_npu: list[Any], tmp_path: Path
) -> None:
    partitioned = partition_for_accelerators(whole_module(), names)
    executable = tvm.compile(simulate_accelerators(partitioned), target="llvm")
    library, values, outputs = (tmp_path / name for name in ("m.so", "in.npy", "out.npy"))
    executable.export_library(str(library))
    np.save(values, floats(4)[1][0])
    command = [sys.executable, "-c", LOADING, *map(str, (library, values, outputs))]
    subprocess.run(command, check=True)
    np.testing.assert_array_equal(np.load(outputs), by_npu[1])


@needs_build
@pytest.mark.parametrize(
    ("name", "file"), [("matrix-engine", "matrix_engine.c"), (NPU, "ethosgen_npu_core.c")]
)
def test_a_partitioned_module_becomes_firmware(name: str, file: str, tmp_path: Path) -> None:
    partitioned = partition_for_accelerators(whole_module(), [name])
    folder = tmp_path / "p"
    written = to_project(partitioned, directory=folder, board="corstone300", name="tiny")
    assert {"tiny.h", file} <= {Path(each).name for each in written.files}
    assert build_project(folder).elf.is_file()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "not none"),
        ([NPU, "ethos-u55-32"], f"not {NPU}, ethos-u55-32"),
        (["nothing-like-it"], "nothing-like-it"),
    ],
)
def test_bad_names(names: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        partition_for_accelerators(whole_module(), names)
