"""What patterns cannot express: addends of other shapes, several bounds, shared values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from ethosgen.frontend.relax import import_module
from ethosgen.frontend.relax.normal import normalized
from ethosgen.frontend.relax.partitioning import with_composites
from ethosgen.frontend.relax.patterns import FLOAT_PATTERNS
from ethosgen.values.network import Network
from ethosgen.verdict.judgement import golden_answer
from tests.support.relax_networks import (
    Given,
    Make,
    Quantized,
    edge_samples,
    operator,
    run,
    weights,
)

IMAGE = Given((1, 8, 8, 8), Quantized(0.05, 3))
ROWS = Given((1, 5, 8), Quantized(0.05, 3))
KERNEL, MATRIX = (8, 8, 3, 3), (8, 8)
TO = Quantized(0.1, -7)


def _constant(*shape: int) -> Any:
    return relax.const(np.random.default_rng(5).normal(size=shape).astype(np.float32))


def _convolution(x: Any) -> Any:
    return op.nn.conv2d(x, weights(KERNEL, Quantized(0.01)), padding=1)


def _product(x: Any) -> Any:
    return op.matmul(x, weights(MATRIX, Quantized(0.01)))


def _composites(module: tvm.IRModule, table: Sequence[Any] | None = None) -> list[str]:
    fused = with_composites(normalized(module), *([table] if table else []))
    names = [str((f.attrs or {}).get("Composite", "")) for _, f in fused.functions_items()]
    return [name for name in names if name]


LAYERS = {"convolution": (IMAGE, _convolution), "product": (ROWS, _product)}


@pytest.mark.parametrize(
    ("name", "shape", "is_bias"),
    [
        *(("convolution", shape, True) for shape in [(8, 1, 1), (1, 8, 1, 1), (1, 1, 1)]),
        *(("convolution", shape, False) for shape in [(8,), (1, 1, 1, 8), (1, 8, 8, 8)]),
        *(("product", shape, True) for shape in [(8,), (1, 8), (1, 1, 8), ()]),
        *(("product", shape, False) for shape in [(5, 8), (5, 1)]),
    ],
    ids=str,
)
def test_only_a_constant_by_channel_is_a_bias(
    name: str, shape: tuple[int, ...], is_bias: bool
) -> None:
    source, layer = LAYERS[name]
    module = operator([source], TO, lambda x: op.add(layer(x), _constant(*shape)))
    assert bool(_composites(module)) == is_bias
    _check(module, source)


@pytest.mark.parametrize("extreme", [op.maximum, op.minimum], ids=["maximum", "minimum"])
@pytest.mark.parametrize(("shape", "is_clamp"), [((), True), ((8, 1, 1), False)], ids=str)
def test_only_one_number_is_a_bound(extreme: Make, shape: tuple[int, ...], is_clamp: bool) -> None:
    module = operator([IMAGE], TO, lambda x: extreme(_convolution(x), _constant(*shape)))
    assert bool(_composites(module)) == is_clamp
    _check(module, IMAGE)


def _check(module: tvm.IRModule, source: Given) -> None:
    """The network computes what the module does, within a step."""
    graph, _ = import_module(module, "main", ["x"], ["made"])
    samples = edge_samples([source])
    golden = golden_answer(Network("case", (graph,)), [{"x": sample[0]} for sample in samples])
    for answer, theirs in zip(golden.outputs, run(module, samples), strict=True):
        far = np.abs(answer["made"].astype(np.int32) - theirs[0].astype(np.int32))
        assert far.max() <= 1


def _float(make: Make) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 8, 8, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(make(builder.emit, x))
        builder.emit_func_output(result)
    module: tvm.IRModule = builder.get()
    return module


def test_a_float_layer_has_its_bias_and_clamp() -> None:
    def make(emit: Make, x: Any) -> Any:
        total = emit(op.add(emit(op.nn.conv2d(x, _constant(*KERNEL))), _constant(8, 1, 1)))
        return emit(op.nn.relu(total))

    assert _composites(_float(make), FLOAT_PATTERNS) == ["ethosu.conv2d_f32"]


def test_a_float_value_that_others_read_stays_outside() -> None:
    def make(emit: Make, x: Any) -> Any:
        deep = emit(op.nn.conv2d(x, _constant(*KERNEL), padding=1))
        return emit(op.add(emit(op.nn.relu(deep)), deep))

    fused = _composites(_float(make), FLOAT_PATTERNS)
    assert sorted(fused) == ["ethosu.add_f32", "ethosu.conv2d_f32"]
