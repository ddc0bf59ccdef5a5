"""The networks whose command streams npu_fuzz damages: every kind of operation is in one."""

from collections.abc import Callable, Sequence

import numpy as np

from tests.backend.ethosu.simulator.test_npu_networks import block
from tests.support.networks import NetworkBuilder
from tests.support.thin_networks import ThinBuilder


def _residual(net: NetworkBuilder) -> None:
    x = net.reshape(block(net, "int8"), (1, 600))
    net.softmax(net.fully_connected(x, 10))


def _wide(net: NetworkBuilder) -> None:
    x = net.conv2d(net.input((1, 12, 12, 7), "int16", 0.01), 9, activation="RELU")
    net.logistic(net.add(net.depthwise(x), x))


def _mixed(net: NetworkBuilder) -> None:
    x = net.input((1, 16, 16, 8))
    y = net.unary("HARD_SWISH", net.max_pool(x, (3, 3), (2, 2), padding="SAME"))
    y = net.mul(
        net.transpose(net.conv2d(y, 24, (5, 5), (2, 2)), (0, 2, 1, 3)), y=net.input((1, 1, 1, 24))
    )
    net.mean(net.concat([y, net.unary("LEAKY_RELU", y, {"alpha": 0.3})]))


def _weighty(net: NetworkBuilder) -> None:
    x = net.fully_connected(net.input((1, 200)), 150, activation="RELU")
    net.tanh(net.fully_connected(x, 40))


def _stretched(net: NetworkBuilder) -> Sequence[int]:
    """Resize, gather, transpose, reverse, sum."""
    x = net.input((1, 6, 5, 20))
    y = net.apply("RESIZE_BILINEAR", x, (12, 20), half_pixel_centers=True)
    z = net.apply("REVERSE_V2", net.transpose(x, (0, 3, 2, 1)), [2])
    chosen = net.apply("GATHER", net.input((6, 20)), [3, 1, 5, 0], axis=0)
    return net.mean(y), net.add(z, z), chosen


def _chosen(net: NetworkBuilder) -> Sequence[int]:
    """Compare, select, find a maximum, multiply matrices and 32-bit numbers."""
    x, y = net.input((1, 8, 9, 20)), net.input((1, 8, 9, 20))
    z = net.apply("SELECT_V2", net.apply("GREATER", x, y), x, y)
    largest = net.apply("ARG_MAX", z, np.array(3), output_type="int32")
    matrices = net.input((1, 12, 24)), net.input((1, 24, 10))
    product = net.apply("BATCH_MATMUL", *matrices, scale=0.3, zero_point=0)
    wide = net.input((1, 8, 9, 20), "int32", None)
    square = net.apply("MUL", wide, wide, fused_activation_function="NONE")
    return largest, product, square


def _thin(net: ThinBuilder) -> None:
    """Convolve with weights for the fast decoder, and with sparse ones."""
    net.levels = 16
    x = net.conv2d(net.input((1, 6, 6, 64)), 64, (1, 1))
    net.sparse = True
    net.conv2d(net.conv2d(x, 64, (1, 1)), 24, (3, 3))


Build = Callable[[ThinBuilder], Sequence[int] | None]
NETWORKS: dict[str, dict[str, tuple[Build, tuple[str, ...]]]] = {
    "u55": {
        "residual": (_residual, ("ethos-u55-128", "ethos-u65-512")),
        "wide": (_wide, ("ethos-u55-32", "ethos-u65-256")),
        "mixed": (_mixed, ("ethos-u55-256", "ethos-u65-512")),
        "weighty": (_weighty, ("ethos-u55-64", "ethos-u65-512")),
    },
    "u85": {
        "residual": (_residual, ("ethos-u85-256",)),
        "wide": (_wide, ("ethos-u85-128",)),
        "mixed": (_mixed, ("ethos-u85-512",)),
        "weighty": (_weighty, ("ethos-u85-1024",)),
        "stretched": (_stretched, ("ethos-u85-256",)),
        "chosen": (_chosen, ("ethos-u85-2048",)),
        "thin": (_thin, ("ethos-u85-256", "ethos-u85-1024")),
    },
}
"""For each generation of the NPU, the networks to be damaged, and what they are compiled for."""
