"""Finds the smallest network of a row that differs; hypothesis makes and shrinks the choices."""

from typing import Any

from ethosgen.frontend.tflite.reader import decode_network
from tests.corpus.choices import drawn, seeded
from tests.corpus.draft import Case
from tests.corpus.registry import GENERATORS
from tests.corpus.settings import choose_setting
from tests.corpus.trial import Key, Trial, explain_trials, judge, run_case


def cases(operator: str, dtype: str) -> Any:
    """Return hypothesis's strategy for the networks of a row."""
    from hypothesis import strategies

    generator = GENERATORS[operator][0]

    @strategies.composite
    def make(draw: Any) -> Case:
        return generator(drawn(draw), dtype)

    return make()


def run_once(key: Key, case: Case, product: str) -> Trial:
    """Run one network with the setting of a key's seed for a product."""
    run = run_case(key, case, [choose_setting(seeded(key.seed), product)])
    judge([run])
    explain_trials([run])
    return run.trials[0]


def shrink(operator: str, dtype: str, product: str, tries: int) -> list[str]:
    """Find an unexpected difference, shrink it, and return its description."""
    import hypothesis
    from hypothesis import errors

    key = Key(operator, dtype, 0)
    try:
        case = hypothesis.find(
            cases(operator, dtype),
            lambda case: bool(run_once(key, case, product).unexpected),
            settings=hypothesis.settings(
                max_examples=tries,
                deadline=None,
                suppress_health_check=list(hypothesis.HealthCheck),
            ),
        )
    except errors.NoSuchExample:
        return []
    return [*run_once(key, case, product).unexpected, describe(case.data)]


def describe(data: bytes) -> str:
    """Return a network's operators and their tensors as text."""
    graph = decode_network(data, "case").graph
    lines = []
    for operator in graph.operators:
        lines.append(f"{operator.code} {dict(operator.options)}")
        for name, indices in (("in", operator.inputs), ("out", operator.outputs)):
            for index in (i for i in indices if i >= 0):
                tensor = graph.tensors[index]
                known = tensor.quantization
                scale = (
                    f"scale {known.scale[:4]} zero point {known.zero_point[:4]}" if known else ""
                )
                values = str(tensor.array().reshape(-1)[:12]) if tensor.data is not None else ""
                shape = "x".join(map(str, tensor.shape))
                lines.append(f"  {name:3} {tensor.name} {tensor.dtype} {shape} {scale} {values}")
    return "\n".join(lines)
