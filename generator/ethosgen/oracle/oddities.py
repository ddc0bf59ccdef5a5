"""Known oddities of TensorFlow Lite Micro's own results, where the oracle matters.

Each is a cause in docs/exactness.md, where LiteRT, and usually the NPU too, differs.
"""

from collections.abc import Iterator

from ethosgen.values.model import Model

_QUOTIENT = "computes the quotient of scales in double, LiteRT in float"
_FIXED = "computes it in fixed point, LiteRT with a table made in float"
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
"""TensorFlow Lite Micro's behaviour, by operator and type of its first input."""


def answers_by_chance(code: str, dtype: str) -> bool:
    """Return whether TensorFlow Lite Micro computes an operator with numbers that nothing has set.

    SPACE_TO_BATCH_ND takes its padding's value so, and GREATER of int16 its multipliers: the answer
    changes with what was in memory.
    """
    return code == "SPACE_TO_BATCH_ND" or (code, dtype) == ("GREATER", "int16")


def oddities(model: Model) -> tuple[str, ...]:
    """Return a sentence for each kind of operator in a network that has an oddity."""
    return tuple(dict.fromkeys(_all(model)))


def _all(model: Model) -> Iterator[str]:
    for graph in model.graphs:
        for op in graph.operators:
            dtype = graph.tensors[op.inputs[0]].dtype if op.inputs else ""
            if (op.code, dtype) in ODD:
                yield f"{op.code} of {dtype}: TensorFlow Lite Micro {ODD[op.code, dtype]}"
