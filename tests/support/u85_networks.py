"""Small networks for what only U85 does."""

from collections.abc import Sequence

from tests.support.networks import NetworkBuilder

_SHAPE = (1, 8, 9, 20)
_WHOLE = ("DIV",)
_COMPARE = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS")
_LOGIC = ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")


def _pair(code: str, dtype: str) -> bytes:
    """Return a network of one operator on one or two tensors."""
    net = NetworkBuilder(code, seed=1)
    scale = None if dtype in ("int32", "bool") else 0.05
    inputs = [net.input(_SHAPE, dtype, scale) for _ in range(1 if "NOT" in code[-3:] else 2)]
    net.apply(code, *inputs)
    return net.build()


def _selected() -> bytes:
    net = NetworkBuilder("select", seed=1)
    x, y = net.input(_SHAPE), net.input(_SHAPE)
    net.apply("SELECT_V2", net.apply("GREATER", x, y), x, y)
    return net.build()


def _gathered() -> bytes:
    net = NetworkBuilder("gather", seed=1)
    net.apply("GATHER", net.input((6, 20)), [3, 1, 5, 0], axis=0)
    return net.build()


def transposed(order: Sequence[int]) -> bytes:
    """Return a network of one TRANSPOSE of rank 3."""
    net = NetworkBuilder("transpose", seed=1)
    net.transpose(net.input((5, 8, 16)), order)
    return net.build()


def u85_networks() -> dict[str, bytes]:
    """Return each network's file by its name."""
    return {
        **{code: _pair(code, "int32") for code in _WHOLE},
        **{code: _pair(code, "int8") for code in _COMPARE},
        **{code: _pair(code, "bool") for code in _LOGIC},
        "SELECT_V2": _selected(),
        "GATHER": _gathered(),
        "TRANSPOSE to WCH": transposed((1, 2, 0)),
    }
