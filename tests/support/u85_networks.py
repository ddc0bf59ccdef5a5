"""Small networks for what only U85 does."""

from collections.abc import Sequence

import numpy as np

from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder

_SHAPE = (1, 8, 9, 20)
_WHOLE = ("DIV",)
_COMPARE = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS")
_LOGIC = ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")


def _pair(code: str, dtype: str, result: str) -> bytes:
    """Return a network of one operator on one or two tensors."""
    net = NetworkBuilder(code, seed=1)
    scale = None if dtype in ("int32", "bool") else 0.05
    inputs = [net.input(_SHAPE, dtype, scale) for _ in range(1 if "NOT" in code[-3:] else 2)]
    spec = Spec(_SHAPE, "bool") if result == "bool" else net._like(inputs[0])
    net.operator(code, inputs, [spec], {})
    return net.build()


def _selected() -> bytes:
    net = NetworkBuilder("select", seed=1)
    x, y = net.input(_SHAPE), net.input(_SHAPE)
    larger = net.operator("GREATER", [x, y], [Spec(_SHAPE, "bool")], {})[0]
    net.operator("SELECT_V2", [larger, x, y], [net._like(x)], {})
    return net.build()


def _gathered() -> bytes:
    net = NetworkBuilder("gather", seed=1)
    rows, table = net.constant(np.array([3, 1, 5, 0]), "int32"), net.input((6, 20))
    net.operator("GATHER", [table, rows], [net._like(table, (4, 20))], {"axis": 0})
    return net.build()


def transposed(order: Sequence[int]) -> bytes:
    """Return a network of one TRANSPOSE of rank 3."""
    net = NetworkBuilder("transpose", seed=1)
    net.transpose(net.input((5, 8, 16)), order)
    return net.build()


def u85_networks() -> dict[str, bytes]:
    """Return each network's file by its name."""
    return {
        **{code: _pair(code, "int32", "int32") for code in _WHOLE},
        **{code: _pair(code, "int8", "bool") for code in _COMPARE},
        **{code: _pair(code, "bool", "bool") for code in _LOGIC},
        "SELECT_V2": _selected(),
        "GATHER": _gathered(),
        "TRANSPOSE to WCH": transposed((1, 2, 0)),
    }
