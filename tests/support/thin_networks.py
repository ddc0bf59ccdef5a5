"""Networks whose weights are 2:4 sparse, or of a few values: what U85's weight formats are for."""

from collections.abc import Sequence

import numpy as np

from tests.support.networks import Array, NetworkBuilder

_GROUP = 4


class ThinBuilder(NetworkBuilder):
    """Draws weights of at most `levels` values if not 0, with two zeros in four if `sparse`."""

    levels: int = 0
    sparse: bool = False

    def random_integers(self, shape: Sequence[int], dtype: str = "int8") -> Array:
        """Return integers as NetworkBuilder does; thin ones if they are weights."""
        drawn = super().random_integers(shape, dtype)
        if len(shape) < 2:
            return drawn
        if self.levels:
            values = self.random.choice(np.unique(drawn), self.levels, replace=False)
            drawn = self.random.choice(values, drawn.shape)
        return self._sparse(drawn) if self.sparse else drawn

    def _sparse(self, weights: Array) -> Array:
        """Set to 0 two of each four weights that follow each other along the input channels."""
        thin = weights.copy()
        for start in range(0, thin.shape[-1], _GROUP):
            group = thin[..., start : start + _GROUP]
            group[self.random.random(group.shape).argsort(-1) >= 2] = 0
        return thin


def thin_convolution(levels: int = 0, sparse: bool = False) -> bytes:
    """Return a network of one CONV_2D of 1x1 with thin weights."""
    net = ThinBuilder("thin", seed=1)
    net.levels, net.sparse = levels, sparse
    net.conv2d(net.input((1, 2, 2, 128)), 128, (1, 1))
    return net.build()


def weights_as_input(dtype: str) -> bytes:
    """Return a network of one CONV_2D whose weights are an input."""
    net = ThinBuilder("given", seed=1)
    x = net.input((1, 6, 6, 8), dtype, 0.05)
    weights = net.input((12, 3, 3, 8), "int8", 0.01, 0)
    bias = net.constant(np.arange(12) * 50, "int32", (0.0005,), (0,), 0)
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    net.apply("CONV_2D", x, weights, bias, scale=0.3, zero_point=0, **options)
    return net.build()
