"""Where TensorFlow Lite Micro itself is known to compute oddly: what decides there is a choice.

Each is a cause in docs/exactness.md, where LiteRT, and mostly the NPU too, computes otherwise.
"""

from collections.abc import Iterator

from ethosgen.values.model import Model

_QUOTIENT = "computes the quotient of scales in double, LiteRT in float"
_FIXED = "computes it in fixed point, LiteRT by a table made in float"
ODD = {
    ("RELU6", "int8"): "clamps without rescaling to the output's scale",
    ("RELU6", "int16"): "clamps without rescaling to the output's scale",
    ("RSQRT", "int16"): "computes each value, LiteRT interpolates in a coarse table",
    ("SOFTMAX", "int16"): "makes its tables in float, LiteRT in double",
    ("LOGISTIC", "int8"): _FIXED,
    ("TANH", "int8"): _FIXED,
    ("SQUARED_DIFFERENCE", "int8"): "shifts the square in 32 bits, which may overflow",
    ("MUL", "int16"): _QUOTIENT,
    ("RELU", "int16"): _QUOTIENT,
}
"""By operator and type of its first input: what TensorFlow Lite Micro does."""


def answers_by_chance(code: str, dtype: str) -> bool:
    """Return whether TensorFlow Lite Micro computes an operator with numbers that nothing has set.

    SPACE_TO_BATCH_ND takes its padding's value so, and GREATER of int16 its multipliers: the answer
    changes with what was in memory.
    """
    return code == "SPACE_TO_BATCH_ND" or (code, dtype) == ("GREATER", "int16")


def oddities(model: Model) -> tuple[str, ...]:
    """Return a sentence for each kind of operator in a network that is among them."""
    return tuple(dict.fromkeys(_all(model)))


def _all(model: Model) -> Iterator[str]:
    for graph in model.graphs:
        for op in graph.operators:
            dtype = graph.tensors[op.inputs[0]].dtype if op.inputs else ""
            if (op.code, dtype) in ODD:
                yield f"{op.code} of {dtype}: TensorFlow Lite Micro {ODD[op.code, dtype]}"
