"""Builds quantized Relax modules: dequantize → operator → quantize, as quantizers write them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

Expression = Any
Make = Callable[..., Expression]
"""Makes a float expression of float operands."""
LOADING = """
import sys
import numpy as np
import tvm
from tvm import relax
import ethosgen.relax
machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
values = np.load(sys.argv[2])
np.save(sys.argv[3], machine["main"](tvm.runtime.tensor(values)).numpy())
"""
"""A program that runs an exported library: its path, those of an input and of the output."""


@dataclass(frozen=True)
class Quantized:
    """The quantization of a tensor; several scales are along `axis`."""

    scale: float | Sequence[float]
    zero_point: int = 0
    dtype: str = "int8"
    axis: int = -1


@dataclass(frozen=True)
class Given:
    """An input of integers, or of truth values, which are not quantized."""

    shape: tuple[int, ...]
    how: Quantized


def quantize(value: Expression, how: Quantized) -> Expression:
    return relax.op.quantize(value, *_parameters(how), axis=how.axis, out_dtype=how.dtype)


def dequantize(value: Expression, how: Quantized) -> Expression:
    return relax.op.dequantize(value, *_parameters(how), axis=how.axis, out_dtype="float32")


def _parameters(how: Quantized) -> tuple[Expression, Expression]:
    scale = np.asarray(how.scale, np.float32)
    return relax.const(scale), relax.const(np.full(scale.shape, how.zero_point, how.dtype))


def weights(shape: Sequence[int], how: Quantized, seed: int = 0) -> Expression:
    """Return random dequantized weights, -127 to 127, with both ends among them."""
    values = np.random.default_rng(seed).integers(-127, 128, shape)
    values.flat[0], values.flat[-1] = -127, 127
    return dequantize(relax.const(values.astype(how.dtype)), how)


def build(
    givens: Sequence[Given], make: Callable[[Callable[..., Any], list[Any]], Any]
) -> tvm.IRModule:
    """Build a module; `make` gets `emit` and the inputs, and returns the result or results."""
    builder = relax.BlockBuilder()
    inputs = [
        relax.Var(f"x{i}", relax.TensorType(port.shape, port.how.dtype))
        for i, port in enumerate(givens)
    ]
    with builder.function("main", inputs):
        with builder.dataflow():
            outputs = make(builder.emit, list(inputs))
            outputs = relax.Tuple(list(outputs)) if isinstance(outputs, list | tuple) else outputs
            result = builder.emit_output(outputs)
        builder.emit_func_output(result)
    module: tvm.IRModule = builder.get()
    return module


def operator(givens: Sequence[Given], to: Quantized, make: Make) -> tvm.IRModule:
    """Build a module of one operator, whose result before it is quantized is named "made"."""

    def body(emit: Callable[..., Any], inputs: list[Any]) -> Any:
        real = [
            x if g.how.dtype == "bool" else emit(dequantize(x, g.how))
            for x, g in zip(inputs, givens, strict=True)
        ]
        return emit(quantize(emit(make(*real), "made"), to))

    return build(givens, body)


def edge_samples(givens: Sequence[Given], count: int = 4) -> list[list[Any]]:
    """Draw uniform integers, then the ends of the range alone, then each end everywhere."""
    samples: list[list[Any]] = []
    for index in range(count + 3):
        random = np.random.default_rng(index)
        arrays = []
        for port in givens:
            is_bool = port.how.dtype == "bool"
            ends = [0, 1] if is_bool else [(i := np.iinfo(port.how.dtype)).min, i.max]
            values = random.integers(ends[0], ends[1], port.shape, endpoint=True)
            if index == count:
                values = random.choice(ends, port.shape)
            elif index > count:
                values = np.full(port.shape, ends[index - count - 1])
            arrays.append(values.astype(port.how.dtype))
        samples.append(arrays)
    return samples


def run(module: tvm.IRModule, samples: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Compile a module for this machine and run it; return the outputs of each sample."""
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    outputs = []
    for sample in samples:
        returned = machine["main"](*[tvm.runtime.tensor(array) for array in sample])
        several = list(returned) if not hasattr(returned, "numpy") else [returned]
        outputs.append([array.numpy() for array in several])
    return outputs
