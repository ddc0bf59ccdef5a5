"""Whole modules: partitions between host operators, what is kept, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op
from tvm.relax.dpl import is_op

from ethosgen.frontend.relax.elementwise import unary
from ethosgen.frontend.relax.patterns import dequantized, quantized
from ethosgen.frontend.relax.site import TRANSLATORS
from ethosgen.relax import (
    PATTERNS,
    Composite,
    Site,
    partition_for_ethosu,
    simulate_ethosu,
    support_report,
    translates,
)
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen_relax import planning, question
from tests.support.relax_networks import (
    Given,
    Quantized,
    build,
    dequantize,
    edge_samples,
    operator,
    quantize,
    run,
    weights,
)

pytestmark = pytest.mark.slow

NPU = "ethos-u55-128"
X, Y = Quantized(0.05, 3), Quantized(0.1, -128)


def _network(emit: Callable[..., Any], inputs: list[Any]) -> Any:
    """Float ends; a convolution, a pool, a division that only the host has, and a product."""
    x = emit(dequantize(emit(quantize(inputs[0], X)), X))
    kernel = weights((8, 4, 3, 3), Quantized(0.004))
    deep = emit(op.nn.relu(emit(op.nn.conv2d(x, emit(kernel), padding=1), "deep")), "active")
    deep = emit(dequantize(emit(quantize(deep, Y)), Y))
    small = emit(op.nn.max_pool2d(deep, (2, 2), (2, 2)), "small")
    small = emit(dequantize(emit(quantize(small, Y)), Y))
    flat = emit(op.reshape(small, (1, 128)), "flat")
    flat = emit(dequantize(emit(quantize(flat, Y)), Y))
    part = emit(op.divide(flat, relax.const(np.full((1, 128), 2.5, np.float32))), "part")
    part = emit(dequantize(emit(quantize(part, Y)), Y))
    scores = emit(op.matmul(part, emit(weights((128, 10), Quantized(0.005), 1))), "scores")
    scores = emit(dequantize(emit(quantize(scores, X)), X))
    return emit(op.exp(scores), "chances")


def whole_module() -> tvm.IRModule:
    return build([Given((1, 4, 8, 8), Quantized(1.0, dtype="float32"))], _network)


def floats(count: int) -> list[list[Any]]:
    random = np.random.default_rng(3)
    return [[random.normal(0, 2.5, (1, 4, 8, 8)).astype(np.float32)] for _ in range(count)]


@pytest.fixture(scope="module")
def partitioned() -> tvm.IRModule:
    return partition_for_ethosu(whole_module(), NPU)


def test_partitions_and_composites_are_to_be_seen(partitioned: tvm.IRModule) -> None:
    partitions = {
        v.name_hint: f for v, f in partitioned.functions_items() if f.attrs and "Codegen" in f.attrs
    }
    assert list(partitions) == ["ethosu_0", "ethosu_1"]
    for name, function in partitions.items():
        attributes = function.attrs
        assert (attributes["Codegen"], attributes["npu"]) == ("ethosu", NPU)
        assert attributes["global_symbol"] == name
    said = [
        (support.composite, support.result, support.partition)
        for support in support_report(partitioned)
    ]
    assert said == [
        ("ethosu.conv2d", "active", "ethosu_0"),
        ("ethosu.max_pool2d", "small", "ethosu_0"),
        ("ethosu.reshape", "flat", "ethosu_0"),
        ("ethosu.divide", "part", ""),
        ("ethosu.matmul", "scores", "ethosu_1"),
        ("relax.exp", "chances", ""),
    ]
    reasons = [
        support.reason for support in support_report(partitioned) if not support.is_supported
    ]
    assert reasons == ["DIV has no integer form", "no pattern matches it"]
    relax.analysis.well_formed(partitioned)


def test_it_computes_within_a_step_of_the_module_before(partitioned: tvm.IRModule) -> None:
    samples = floats(8)
    ours, theirs = run(simulate_ethosu(partitioned), samples), run(whole_module(), samples)
    steps = [np.log(a[0] / b[0]) / X.scale for a, b in zip(ours, theirs, strict=True)]
    assert len({float(array[0][0, 0]) for array in ours}) > 1
    assert np.max(np.abs(steps)) < 1.01
    assert np.mean(np.abs(steps) < 0.5) > 0.9


def test_tvms_own_pass_does_the_same(partitioned: tvm.IRModule) -> None:
    samples = floats(2)
    theirs = run(relax.transform.RunCodegen()(partitioned), samples)
    for a, b in zip(run(simulate_ethosu(partitioned), samples), theirs, strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def test_the_same_content_is_asked_once(
    partitioned: tvm.IRModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any) -> list[str]:
        raise AssertionError("Vela is asked again")

    monkeypatch.setattr(question, "_asked", asked)
    again = partition_for_ethosu(whole_module(), NPU)
    assert support_report(again) == support_report(partitioned)


def test_many_composites_are_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    really = question._asked

    def asked(networks: Any, accelerator: Any) -> list[str]:
        counts.append(len(networks))
        return really(networks, accelerator)

    monkeypatch.setattr(question, "_asked", asked)
    monkeypatch.setattr(question, "_ANSWERS", {})
    partition_for_ethosu(whole_module(), NPU)
    assert counts == [4]


@pytest.mark.parametrize("npu", ["ethos-u65-512", "ethos-u85-256"])
def test_other_npus_are_asked_too(npu: str) -> None:
    module = partition_for_ethosu(whole_module(), npu)
    assert {support.partition for support in support_report(module) if support.is_supported} == {
        "ethosu_0",
        "ethosu_1",
    }
    assert len(run(simulate_ethosu(module), floats(1))) == 1


def test_what_differs_on_the_npu_model_stays_with_what_was_found() -> None:
    """GELU of these scales: Vela takes it, and one entry of its table is not LiteRT's."""
    source = Given((1, 256), X)
    module = operator([source], Quantized(0.06, -5), op.nn.gelu)
    every = [[np.arange(-128, 128, dtype=np.int8).reshape(1, 256)]]
    partitioned = partition_for_ethosu(module, NPU)
    (support,) = support_report(partitioned)
    assert not support.is_supported and "GELU" in support.reason
    ours, plain = run(simulate_ethosu(partitioned), every), run(module, every)
    np.testing.assert_array_equal(ours[0][0], plain[0][0])


def _two_results(emit: Callable[..., Any], inputs: list[Any]) -> Any:
    first = emit(dequantize(inputs[0], UNSIGNED))
    second = emit(dequantize(inputs[1], UNSIGNED))
    total = emit(quantize(emit(op.add(first, second), "total"), UNSIGNED))
    real = emit(dequantize(total, UNSIGNED))
    return total, emit(quantize(emit(op.multiply(real, real), "square"), UNSIGNED))


UNSIGNED = Quantized(0.02, 128, "uint8")


def test_a_partition_has_several_results_and_unsigned_types() -> None:
    givens = [Given((1, 6, 5), UNSIGNED)] * 2
    module = build(givens, _two_results)
    partitioned = partition_for_ethosu(module, NPU)
    assert [support.partition for support in support_report(partitioned)] == [
        "ethosu_0",
        "ethosu_0",
    ]
    samples = edge_samples(givens)
    ours, theirs = run(simulate_ethosu(partitioned), samples), run(module, samples)
    for a, b in zip(ours, theirs, strict=True):
        assert [array.dtype for array in a] == ["uint8", "uint8"]
        for our, their in zip(a, b, strict=True):
            assert np.max(np.abs(our.astype(int) - their.astype(int))) <= 2


def test_int16_activations_run_too() -> None:
    how = Quantized(0.0004, dtype="int16")
    source = Given((1, 4, 6, 6), how)
    module = operator(
        [source],
        Quantized(0.001, dtype="int16"),
        lambda x: op.nn.conv2d(x, weights((8, 4, 3, 3), Quantized(0.004))),
    )
    partitioned = partition_for_ethosu(module, NPU)
    assert [support.partition for support in support_report(partitioned)] == ["ethosu_0"]
    samples = edge_samples([source])
    ours, theirs = run(simulate_ethosu(partitioned), samples), run(module, samples)
    for a, b in zip(ours, theirs, strict=True):
        assert np.max(np.abs(a[0].astype(int) - b[0].astype(int))) <= 1


def test_other_functions_stay_as_they_are() -> None:
    module = whole_module()
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 2), "float32"))
    with builder.function("other", [x]):
        with builder.dataflow():
            y = builder.emit_output(op.nn.relu(op.nn.relu(x)))
        builder.emit_func_output(y)
    other = builder.get()["other"]
    module.update_func(tvm.ir.GlobalVar("other"), other)
    partitioned = partition_for_ethosu(module, NPU)
    tvm.ir.assert_structural_equal(partitioned["other"], other)
    machine = relax.VirtualMachine(
        tvm.compile(simulate_ethosu(partitioned), target="llvm"), tvm.cpu()
    )
    values = tvm.runtime.tensor(np.array([[-1, 2], [3, -4]], np.float32))
    assert machine["other"](values).numpy().tolist() == [[0, 2], [3, 0]]


def test_parameters_become_constants() -> None:
    how = Quantized(0.01)

    def body(emit: Callable[..., Any], inputs: list[Any]) -> Any:
        x, w = (emit(dequantize(tensor, how)) for tensor in inputs)
        return emit(quantize(emit(op.matmul(x, w), "made"), how))

    module = build([Given((2, 16), how), Given((16, 8), how)], body)
    held = np.random.default_rng(0).integers(-127, 128, (16, 8)).astype(np.int8)
    partitioned = partition_for_ethosu(module, NPU, params={"x1": held})
    assert len(partitioned["main"].params) == 1
    assert [support.partition for support in support_report(partitioned)] == ["ethosu_0"]


def test_users_extend_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Given((1, 4, 5, 5), X)
    module = operator([source], X, op.round)
    before = partition_for_ethosu(module, NPU)
    assert [support.reason for support in support_report(before)] == ["no pattern matches it"]

    monkeypatch.setitem(TRANSLATORS, "relax.round", None)  # the end of the test restores ours

    @translates("round")
    def rounded(site: Site) -> Any:
        return unary(site, "ABS")  # a toy: something that the NPU has

    table = [
        *PATTERNS,
        Composite("relax.round", lambda: quantized(is_op("relax.round")(dequantized()))),
    ]
    after = partition_for_ethosu(module, NPU, patterns=table)
    (support,) = support_report(after)
    assert (support.composite, support.partition) == ("ethosu.round", "ethosu_0")


def test_a_shorter_table_leaves_the_rest() -> None:
    table = [pattern for pattern in PATTERNS if pattern.name == "ethosu.matmul"]
    partitioned = partition_for_ethosu(whole_module(), NPU, patterns=table)
    supported = [
        support.composite for support in support_report(partitioned) if support.is_supported
    ]
    assert supported == ["ethosu.matmul"]


def test_nothing_to_partition_is_no_error() -> None:
    module = build(
        [Given((2, 3), Quantized(1.0, dtype="float32"))],
        lambda emit, inputs: emit(op.exp(inputs[0])),
    )
    partitioned = partition_for_ethosu(module, NPU)
    assert [support.composite for support in support_report(partitioned)] == ["relax.exp"]
    run(simulate_ethosu(partitioned), [[np.ones((2, 3), np.float32)]])


def test_an_unknown_npu_is_refused() -> None:
    with pytest.raises(InputError, match=r"ethos-u55-129.*ethos-u55-128"):
        partition_for_ethosu(whole_module(), "ethos-u55-129")


def test_a_module_without_main_is_refused() -> None:
    with pytest.raises(InputError, match="no Relax function 'main'"):
        partition_for_ethosu(tvm.IRModule({}), NPU)
    function = tirx.PrimFunc([], tirx.Evaluate(0))
    with pytest.raises(InputError, match="no Relax function 'main'"):
        partition_for_ethosu(tvm.IRModule({"main": function}), NPU)


def test_open_sizes_are_refused_by_name() -> None:
    size = tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((size, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(op.exp(x))
        builder.emit_func_output(y)
    with pytest.raises(UnsupportedError, match=r"'x' .*\bn\b.*BindSymbolicVars"):
        partition_for_ethosu(builder.get(), NPU)


def test_control_flow_is_refused() -> None:
    builder = relax.BlockBuilder()
    condition = relax.Var("condition", relax.TensorType((), "bool"))
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [condition, x]):
        y = builder.emit(relax.If(condition, op.exp(x), op.log(x)))
        builder.emit_func_output(y)
    with pytest.raises(UnsupportedError, match="has an If"):
        partition_for_ethosu(builder.get(), NPU)


def test_impure_calls_are_refused() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x], attrs={"relax.force_pure": False}, pure=False):
        y = builder.emit(op.print(x, format="{}"))
        builder.emit_func_output(x)
    assert y is not None
    with pytest.raises(UnsupportedError, match="impure"):
        partition_for_ethosu(builder.get(), NPU)


def test_a_partition_is_not_compiled_again_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    partitioned = partition_for_ethosu(whole_module(), NPU)
    monkeypatch.setattr(planning, "_PLANS", plans := dict(planning._PLANS))
    before = len(plans)
    simulate_ethosu(partitioned)
    assert len(plans) == before > 0
