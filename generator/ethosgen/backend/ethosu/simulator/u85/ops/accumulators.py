"""The initial accumulators of a convolution or a pooling."""

from collections.abc import Callable

import numpy as np

from ethosgen.backend.ethosu.isa_u85 import AccInput
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import Shape
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.scaling import Ints
from ethosgen.backend.ethosu.simulator.u85.operation import Accumulators
from ethosgen.values.errors import NpuFault


def starts(context: Context, accumulators: Accumulators, shape: Shape) -> Callable[[], Ints]:
    """Return a function that returns the accumulators' initial values, of the OFM's shape."""
    if accumulators.source is AccInput.RESET:
        nothing = np.zeros((1, 1, 1), np.int64)
        return lambda: nothing
    if accumulators.source is AccInput.KEEP:
        return lambda: _kept(context, shape)
    fm = accumulators.ifm2
    assert fm is not None
    if fm.zero_point:
        raise NpuFault("parse", "accumulators with a zero point are not modelled")
    placed = Placed(context.bus, fm, context.base(fm.region), shape)
    return lambda: placed.read().astype(np.int64)


def _kept(context: Context, shape: Shape) -> Ints:
    accumulators = context.inner.accumulators
    if accumulators is None or accumulators.shape != shape:
        raise NpuFault("parse", "the operation before has left no accumulators of this shape")
    return accumulators
