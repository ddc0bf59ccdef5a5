"""The networks whose command streams npu_fuzz damages: every kind of operation is in one."""

from collections.abc import Callable, Sequence

import numpy as np

from tests.backend.ethosu.simulator.test_npu_networks import block
from tests.support.network_file import Spec
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
    size = net.constant(np.array((12, 20)), "int32")
    options = {"align_corners": False, "half_pixel_centers": True}
    y = net.operator("RESIZE_BILINEAR", [x, size], [net._like(x, (1, 12, 20, 20))], options)[0]
    turned = net.transpose(x, (0, 3, 2, 1))
    axis = net.constant(np.array([2]), "int32")
    z = net.operator("REVERSE_V2", [turned, axis], [net._like(turned)], {})[0]
    rows = net.constant(np.array([3, 1, 5, 0]), "int32")
    table = net.input((6, 20))
    (chosen,) = net.operator("GATHER", [table, rows], [net._like(table, (4, 20))], {"axis": 0})
    return net.mean(y), net.add(z, z), chosen


def _chosen(net: NetworkBuilder) -> Sequence[int]:
    """Compare, select, find a maximum, multiply matrices and 32-bit numbers."""
    x, y = net.input((1, 8, 9, 20)), net.input((1, 8, 9, 20))
    larger = net.operator("GREATER", [x, y], [Spec((1, 8, 9, 20), "bool")], {})[0]
    z = net.operator("SELECT_V2", [larger, x, y], [net._like(x)], {})[0]
    axis = net.constant(np.array(3), "int32")
    indices = Spec((1, 8, 9), "int32")
    (found,) = net.operator("ARG_MAX", [z, axis], [indices], {"output_type": "int32"})
    one, other = net.input((1, 12, 24)), net.input((1, 24, 10))
    options = {"adj_x": False, "adj_y": False, "asymmetric_quantize_inputs": False}
    spec = Spec((1, 12, 10), "int8", 0.3)
    (product,) = net.operator("BATCH_MATMUL", [one, other], [spec], options)
    wide = net.input((1, 8, 9, 20), "int32", None)
    plain = {"fused_activation_function": "NONE"}
    (square,) = net.operator("MUL", [wide, wide], [net._like(wide)], plain)
    return found, product, square


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
