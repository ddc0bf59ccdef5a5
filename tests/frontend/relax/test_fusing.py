"""A clamp joins the operator before it only where both compute the same."""

import numpy as np
import pytest

from ethosgen.frontend.relax.draft import Draft
from ethosgen.frontend.relax.fusing import with_fused_clamps
from ethosgen.oracle import TFLM
from ethosgen.values.network import Graph, Network, Operator, Quantization

SCALE = Quantization((0.05,), (-10,))
ZERO, SIX = -10, 110


def drafted(
    clamps: list[tuple[str, int]], *, scale: Quantization = SCALE, is_used: bool = False
) -> tuple[Draft, list[int]]:
    """Return ADD, then clamps by constants, and the outputs; `is_used`: the sum is one too."""
    draft = Draft()
    x = draft.add_input("x", (1, 4, 4, 2), "float32")
    q = draft.add_operator("QUANTIZE", (x.tensor,), x.shape, "int8", SCALE)
    options = {"fused_activation_function": "NONE"}
    value = draft.add_operator("ADD", (q.tensor, q.tensor), x.shape, "int8", SCALE, options)
    outputs = [value.tensor] if is_used else []
    for code, bound in clamps:
        held = draft.add_constant(np.array([[[[bound]]]], np.int8), scale)
        value = draft.add_operator(code, (value.tensor, held), x.shape, "int8", scale)
    return draft, [value.tensor, *outputs]


def codes(operators: list[Operator] | tuple[Operator, ...]) -> list[str]:
    return [
        f"{operator.code} {operator.options.get('fused_activation_function', '')}".strip()
        for operator in operators
    ]


@pytest.mark.parametrize(
    ("clamps", "expected"),
    [
        ([("MAXIMUM", ZERO)], ["QUANTIZE", "ADD RELU"]),
        ([("MAXIMUM", ZERO), ("MINIMUM", SIX)], ["QUANTIZE", "ADD RELU6"]),
        ([("MAXIMUM", ZERO + 1)], ["QUANTIZE", "ADD NONE", "MAXIMUM"]),
        ([("MAXIMUM", ZERO), ("MINIMUM", SIX - 1)], ["QUANTIZE", "ADD RELU", "MINIMUM"]),
        ([("MINIMUM", SIX)], ["QUANTIZE", "ADD NONE", "MINIMUM"]),
    ],
)
def test_clamps_that_have_a_name_are_fused(
    clamps: list[tuple[str, int]], expected: list[str]
) -> None:
    draft, outputs = drafted(clamps)
    assert codes(draft.graph("g", outputs).operators) == expected


def test_a_sum_that_is_used_elsewhere_keeps_its_values() -> None:
    draft, outputs = drafted([("MAXIMUM", ZERO)], is_used=True)
    assert codes(draft.graph("g", outputs).operators) == ["QUANTIZE", "ADD NONE", "MAXIMUM"]


def test_a_clamp_of_another_scale_stays() -> None:
    draft, outputs = drafted([("MAXIMUM", ZERO)], scale=Quantization((0.04,), (-10,)))
    assert codes(draft.graph("g", outputs).operators) == ["QUANTIZE", "ADD NONE", "MAXIMUM"]


def test_the_results_are_the_same() -> None:
    draft, outputs = drafted([("MAXIMUM", ZERO), ("MINIMUM", SIX)])
    fused = with_fused_clamps(draft.operators, draft.tensors, outputs)
    assert len(fused) == 2
    samples = [
        {"x": np.random.default_rng(seed).uniform(-5, 9, (1, 4, 4, 2)).astype(np.float32)}
        for seed in range(5)
    ]
    results = []
    for operators in (draft.operators, fused):
        graph = Graph(
            "g", tuple(draft.tensors), tuple(operators), tuple(draft.inputs), tuple(outputs)
        )
        results.append(TFLM.run(Network("g", (graph,)), samples))
    for before_sample, other in zip(*results, strict=True):
        (before,), (after,) = before_sample.values(), other.values()
        assert np.array_equal(before, after)
        assert {ZERO, SIX} <= {int(after.min()), int(after.max())}
