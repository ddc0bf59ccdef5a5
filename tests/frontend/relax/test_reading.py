"""Composites of constants alone are computed while the module is read."""

import numpy as np
from tvm import relax

from ethosgen.frontend.relax import import_module
from ethosgen.oracle import TFLM
from ethosgen.values.network import Network

STEPS = np.array([-128, -3, 0, 5, 64, 127], np.int8)


def test_a_constant_that_is_quantized_again_stays_a_constant() -> None:
    """A layer norm of PyTorch's has its slopes reshaped between two quantizations."""

    def real(value: relax.Expr, scale: float) -> relax.Expr:
        arguments = relax.const(np.float32(scale)), relax.const(np.int8(0))
        return relax.op.dequantize(value, *arguments, out_dtype="float32")

    def steps(value: relax.Expr, scale: float) -> relax.Expr:
        arguments = relax.const(np.float32(scale)), relax.const(np.int8(0))
        return relax.op.quantize(value, *arguments, out_dtype="int8")

    builder = relax.BlockBuilder()
    start = relax.Var("x", relax.TensorType((2, 6), "int8"))
    with builder.function("main", [start]):
        with builder.dataflow():
            held = builder.emit(real(relax.const(STEPS), 0.5))
            shaped = builder.emit(relax.op.reshape(held, (1, 6)))
            again = builder.emit(real(builder.emit(steps(shaped, 0.5)), 0.5))
            product = builder.emit(relax.op.multiply(builder.emit(real(start, 1.0)), again))
            quantized = builder.emit_output(steps(product, 2.0))
        builder.emit_func_output(quantized)
    graph, in_float = import_module(builder.finalize(), "main", ["x"], ["made"])

    assert [operator.code for operator in graph.operators] == ["MUL"]
    assert not in_float
    sample = np.array([[4] * 6, [-8] * 6], np.int8)
    (outputs,) = TFLM.run(Network("net", (graph,)), [{"x": sample}])
    expected = np.clip(sample.astype(int) * STEPS.astype(int) / 4, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(outputs["made"], expected)
