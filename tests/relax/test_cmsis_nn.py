"""CMSIS-NN from TVM: the operators that TVM's partitioner had, in int8 and int16."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from ethosgen.frontend.relax import import_module
from ethosgen.relax import partition_for_cmsisnn, simulate_accelerators, support_report
from ethosgen.values.network import Network
from ethosgen.verdict.judgement import golden_answer
from tests.support.needs import needs_cmsis_nn, needs_gcc
from tests.support.relax_networks import (
    Given,
    Quantized,
    build,
    dequantize,
    edge_samples,
    quantize,
    run,
    weights,
)

pytestmark = [pytest.mark.slow, needs_cmsis_nn, needs_gcc]

OPERATORS = ("padded", "inside", "depthwise", "dense", "sum", "product")
OPERATORS += ("average", "largest", "share")
IN = {"int8": Quantized(0.05, 3), "int16": Quantized(0.0002, 0, "int16")}
OUT = {"int8": Quantized(0.09, -10), "int16": Quantized(0.0004, 0, "int16")}
SHARE = {"int8": Quantized(1 / 256, -128), "int16": Quantized(1 / 32768, 0, "int16")}


def _bias(seed: int) -> Any:
    values = np.random.default_rng(seed).uniform(-1, 1, (8, 1, 1))
    return relax.const(values.astype(np.float32))


def _module(dtype: str) -> tvm.IRModule:
    """Build a module with all operators, each of which reads the input."""
    kernel = weights((8, 8, 3, 3), Quantized(0.01))
    op, image = relax.op, IN[dtype]

    def make(emit: Callable[..., Any], inputs: list[Any]) -> list[Any]:
        def padded(x: Any) -> Any:
            return op.nn.pad(x, (0, 0, 0, 0, 1, 2, 0, 1))

        def result(name: str, value: Any, how: Quantized = OUT[dtype]) -> Any:
            return emit(quantize(emit(value, name), how))

        def real() -> Any:
            return emit(dequantize(inputs[0], image))

        between = emit(dequantize(result("between", padded(real()), image), image))
        single = weights((8, 1, 3, 3), Quantized(0.01))
        return [
            result("padded", op.nn.relu(op.add(op.nn.conv2d(padded(real()), kernel), _bias(1)))),
            result("inside", op.nn.conv2d(between, kernel)),
            result(
                "depthwise", op.add(op.nn.conv2d(real(), single, padding=1, groups=8), _bias(2))
            ),
            result("dense", op.matmul(real(), weights((8, 8), Quantized(0.01)))),
            result("sum", op.add(real(), relax.const(np.float32(0.37)))),
            result("product", op.multiply(relax.const(np.float32(0.37)), real())),
            result("average", op.nn.avg_pool2d(real(), (2, 2), (2, 2)), image),
            result("largest", op.nn.max_pool2d(real(), (2, 2), (2, 2)), image),
            result("share", op.nn.softmax(real(), axis=-1), SHARE[dtype]),
        ]

    return build([Given((1, 8, 8, 8), image)], make)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_all_operators_of_tvms_partitioner_equal_tensorflow_lite_micros(dtype: str) -> None:
    module, samples = _module(dtype), edge_samples([Given((1, 8, 8, 8), IN[dtype])])
    partitioned = partition_for_cmsisnn(module)
    reasons = {support.result: support.reason for support in support_report(partitioned)}
    assert reasons == dict.fromkeys((*OPERATORS, "between"), "")
    ours = run(simulate_accelerators(partitioned), samples)
    graph, in_float = import_module(module, "main", ["x0"], list(OPERATORS))
    assert not in_float
    arrays = [{"x0": sample[0]} for sample in samples]
    golden = golden_answer(Network("all", (graph,)), arrays).outputs
    for our, theirs in zip(ours, golden, strict=True):
        for value, name in zip(our, OPERATORS, strict=True):
            np.testing.assert_array_equal(value, np.asarray(theirs[name]), name)
