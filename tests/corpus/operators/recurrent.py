"""The LSTM over a sequence, which keeps its state from sample to sample."""

import numpy as np

from tests.corpus.choices import Choices
from tests.corpus.draft import Case, Draft
from tests.support.network_file import Spec

ABSENT = -1
GATES = 4
Q3_12 = 2.0**-12


def lstm(choices: Choices, dtype: str) -> Case:
    """Draw UNIDIRECTIONAL_SEQUENCE_LSTM without peephole, projection and normalization."""
    net = Draft(choices, dtype)
    batch, steps = choices.pick((1, 1, 2, 3)), choices.integer(1, 5)
    features, units = net.extent(24), net.extent(24)
    by_time = choices.chance(3)
    shape = (steps, batch) if by_time else (batch, steps)
    x = net.feed(
        (*shape, features),
        scale=choices.real(0.004, 0.03) if dtype == "int8" else choices.real(1e-5, 1e-4),
    )
    point = choices.pick((0, 0, -128, choices.integer(-20, 20))) if dtype == "int8" else 0
    hidden = choices.real(0.9, 1.1) / (128 if dtype == "int8" else 32768)
    state = net.variable(Spec((batch, units), dtype, hidden, point, name="output_state"))
    cell_scale = 2.0 ** -choices.pick((11, 11, 12, 10))
    cell = net.variable(Spec((batch, units), "int16", cell_scale, 0, name="cell_state"))
    inputs, biases = _weights(net, features), []
    recurrent = _weights(net, units)
    for weights in inputs:
        wide = "int64" if dtype == "int16" else "int32"
        values = net.random.integers(-3000, 3000, units)
        biases.append(net.constant(values, wide, net.scale_of(x) * net.scale_of(weights)))
    absent = [ABSENT] * 3
    operands = [x, *inputs, *recurrent, *absent, *biases, *absent[:2], state, cell, *absent, ABSENT]
    options = {"fused_activation_function": "TANH", "time_major": by_time}
    if choices.chance(3):
        options["cell_clip"] = choices.pick((1.0, 2.0, 4.0, choices.real(0.5, 8.0)))
    scratch = [net.tensor(Spec((0,), "int16", Q3_12, 0, name=f"gate_{i}")) for i in range(GATES)]
    scratch.append(net.tensor(Spec((0,), dtype, hidden, point, name="hidden")))
    out = Spec((*shape, units), dtype, hidden, point)
    code = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    return net.case(*net.operator(code, operands, [out], options, intermediates=scratch))


def _weights(net: Draft, columns: int) -> list[int]:
    """Add the weights of the four gates; their scales keep the gates out of saturation."""
    units = next(t.shape[-1] for t in net.tensors if t.name == "cell_state")
    scale = net.choices.real(0.3, 3.0) / (60 * np.sqrt(columns))
    return [
        net.constant(net.random_integers((units, columns)), "int8", float(np.float32(scale)))
        for _ in range(GATES)
    ]
