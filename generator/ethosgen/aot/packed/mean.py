# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""AVERAGE_POOL_2D over the whole of an input's height and width."""

from collections.abc import Sequence

from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.pooling import pool_window
from ethosgen.aot.operators.quantization import activation_range
from ethosgen.aot.packed import packed
from ethosgen.model import Operator, Tensor

MEAN = frozenset({"ethosgen_mean.c"})


@packed("AVERAGE_POOL_2D")
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Add up all pixels, several channels at a time."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    window = pool_window(op, tensors)
    taps = window[0].taps, window[1].taps
    if taps != source.shape[1:3] or target.shape[1:3] != (1, 1) or any(a.padding for a in window):
        return None
    count, channels = taps[0] * taps[1], source.shape[3]
    low, high = activation_range(op, target)

    @T.prim_func(private=True)
    def function(input: T.handle("int8"), output: T.handle("int8")):
        x = T.decl_buffer(source.shape, "int8", data=input)
        y = T.decl_buffer(target.shape, "int8", data=output)
        for n in T.serial(source.shape[0]):
            T.evaluate(
                T.call_extern(
                    "void",
                    "ethosgen_mean_s8",
                    T.address_of(y[n, 0, 0, 0]),
                    T.address_of(x[n, 0, 0, 0]),
                    count,
                    channels,
                    low,
                    high,
                )
            )

    return Kernel(function, (source.index,), micro_kernels=MEAN)
