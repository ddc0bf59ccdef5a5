"""Operators of TOSA with a RESCALE before and after them, which Vela makes one operation.

The RESCALE's rounding is then the rounding of the operation's input or output.
"""

from collections.abc import Callable, Sequence

from tests.support.tosa_networks import TosaBuilder

Case = Callable[[TosaBuilder], int]

_ROUNDINGS = ("SINGLE_ROUND", "DOUBLE_ROUND")


def _rescaled(net: TosaBuilder, shape: Sequence[int], dtype: str, rounding: str) -> int:
    point = int(net.random.integers(-128, 128)) if dtype == "int8" else 0
    factor = float(net.random.uniform(0.01, 4))
    return net.rescale(net.input(shape, dtype), "int32", factor, input_zp=point, rounding=rounding)


def _fused(name: str, count: int = 2, result: str = "int32") -> Case:
    def case(net: TosaBuilder) -> int:
        """Draw the operator; its first input is rounded once, the others are not always."""
        shape = (1, *(int(n) for n in net.random.integers(1, 9, 3)))
        dtype = str(net.random.choice(["int8", "int16"]))
        roundings = [_ROUNDINGS[0], str(net.random.choice(_ROUNDINGS))][:count]
        inputs = [_rescaled(net, shape, dtype, rounding) for rounding in roundings]
        more = {"nan_mode": "PROPAGATE"} if name in ("MAXIMUM", "MINIMUM") else {}
        x = net.op(name, inputs, shape, result, **more)
        if result == "bool" or net.random.random() < 0.5:
            return x
        factor, point = float(net.random.uniform(0.01, 1)), int(net.random.integers(-128, 128))
        rounding = str(net.random.choice(_ROUNDINGS))
        return net.rescale(x, "int8", factor, output_zp=point, rounding=rounding)

    return case


FUSED: dict[str, Case] = {
    "rescaled ADD": _fused("ADD"),
    "rescaled SUB": _fused("SUB"),
    "rescaled MAXIMUM": _fused("MAXIMUM"),
    "rescaled MINIMUM": _fused("MINIMUM"),
    "rescaled EQUAL": _fused("EQUAL", result="bool"),
    "rescaled GREATER": _fused("GREATER", result="bool"),
    "rescaled ABS": _fused("ABS", 1),
}
"""By a title: what the stream of one operation does."""
