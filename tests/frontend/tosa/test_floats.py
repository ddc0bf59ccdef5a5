"""TOSA's float operators on the CPU, in float32 and float16, against the reference model."""

from dataclasses import replace

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.judgement import golden_answer
from tests.support.needs import needs_tosa
from tests.support.tosa_cases import CASES
from tests.support.tosa_float_cases import FLOAT_CASES
from tests.support.tosa_networks import TosaBuilder
from tests.support.trials import plan_for

INSTANCES, SAMPLES = 8, 3
QUICK = {"CONV2D", "MAXIMUM", "POW"}
"""Operators whose tests are not slow."""
INTEGERS_ONLY = {"RESCALE", "TABLE", "INTDIV", "CLZ", "REDUCE_ALL", "REDUCE_ANY"}

NAMES = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FLOAT_CASES
]


def outputs_of(network: Network, samples: list[Arrays]) -> list[Arrays]:
    run = make_evaluator(plan_cpu_only(network, IoStyle.ARENA))
    return [run(sample, None) for sample in samples]


def test_each_operator_but_those_of_integers_has_a_case() -> None:
    families = ("_SHIFT", "BITWISE_", "LOGICAL_")
    of_integers = {name for name in CASES if any(family in name for family in families)}
    assert set(CASES) - set(FLOAT_CASES) == of_integers | INTEGERS_ONLY


@needs_tosa
@pytest.mark.parametrize("name", NAMES)
def test_the_cpu_computes_what_the_reference_model_computes(name: str) -> None:
    net = TosaBuilder(name.lower(), seed=sum(map(ord, name)))
    network = net.network(*(FLOAT_CASES[name](net) for _ in range(INSTANCES)))
    samples = [net.sample() for _ in range(SAMPLES)]
    compared = golden_answer(network, samples).against(outputs_of(network, samples))
    assert compared.elements
    assert not compared.mismatches, compared.first and compared.first.text()


def halves() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return every float16, the middle of each pair of neighbours, and the float32 around it."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = np.sort(every[np.isfinite(every)])
    middle = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    more = np.array([65519.996, 65520, 65536, 1e9, 3e38, 1e-9, 1e-40, np.inf, np.nan], np.float32)
    around = [np.nextafter(middle, np.float32(end)) for end in (-np.inf, np.inf)]
    return np.concatenate([every, middle, *around, more, -more])


def test_a_float16_is_the_nearest_one_with_ties_to_even() -> None:
    values = halves()
    net = TosaBuilder("cast")
    x = net.input(values.shape, "float32")
    network = net.network(net.op("CAST", [x], values.shape, "float16"))
    (output,) = outputs_of(network, [{network.inputs[0].name: values}])
    with np.errstate(over="ignore"):
        wanted = values.astype(np.float16).astype(np.float32)
    got = output[network.outputs[0].name]
    is_number = ~np.isnan(wanted)
    assert np.array_equal(is_number, ~np.isnan(got))
    assert np.array_equal(got[is_number].view(np.uint32), wanted[is_number].view(np.uint32))


def test_inputs_of_float16_are_rounded() -> None:
    net = TosaBuilder("sum")
    x = net.input((1,), "float16")
    network = net.network(net.op("ABS", [x], (1,), "float16"))
    value = np.array([-0.1], np.float32)
    (output,) = outputs_of(network, [{network.inputs[0].name: value}])
    assert output[network.outputs[0].name] == np.float32(np.float16(0.1))
    again = parse_network(write_network(network), "again.tosa")
    assert again.inputs[0].is_half and again.outputs[0].is_half


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -3e38, 1e-40], np.float32)


@needs_tosa
@pytest.mark.parametrize("mode", ["PROPAGATE", "IGNORE"])
@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN", "CLAMP"])
def test_what_is_not_a_number_propagates_or_is_ignored(name: str, mode: str) -> None:
    """`MAX_POOL2D` combines by the same function."""
    net = TosaBuilder("special")
    first = np.repeat(SPECIAL, SPECIAL.size).reshape(-1, 1)
    second = np.tile(SPECIAL, SPECIAL.size).reshape(-1, 1)
    if name.startswith("REDUCE"):
        pairs = np.concatenate([first, second], axis=1)
        samples = [pairs]
        net.op(name, [net.input(pairs.shape, "float32")], first.shape, "float32", axis=1,
               nan_mode=mode)  # fmt: skip
    elif name == "CLAMP":
        samples = [first]
        low, high = np.float32(-2), np.float32(1)
        bounds = {"min_val": tuple(low.tobytes()), "max_val": tuple(high.tobytes())}
        net.op(name, [net.input(first.shape, "float32")], first.shape, "float32", **bounds,
               nan_mode=mode)  # fmt: skip
    else:
        samples = [first, second]
        inputs = [net.input(first.shape, "float32") for _ in samples]
        net.op(name, inputs, first.shape, "float32", nan_mode=mode)
    network = net.network()
    sample = {t.name: array for t, array in zip(network.inputs, samples, strict=True)}
    (got,), (wanted,) = outputs_of(network, [sample]), reference_outputs(network, [sample])
    key = network.outputs[0].name
    assert np.array_equal(got[key], wanted[key], equal_nan=True)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8e4m3", "float8e5m2"])
def test_types_of_extensions_are_refused(dtype: str) -> None:
    net = TosaBuilder("sum")
    x = net.input((2,), "float32")
    network = net.network(net.op("ABS", [x], (2,), "float32"))
    tensors = [replace(tensor, dtype=dtype) for tensor in network.graph.tensors]
    edited = network.edited(replace(network.graph, tensors=tuple(tensors)))
    with pytest.raises(InputError, match=f"is {dtype}, which ethosgen does not have"):
        parse_network(write_network(edited), "sum.tosa")


def test_floats_stay_on_the_cpu() -> None:
    net = TosaBuilder("mixed", 1)
    x = net.rescale(net.conv2d(net.input((1, 4, 4, 3)), 3, (1, 1)), "int8", 0.01)
    y = net.op("CAST", [x], (1, 4, 4, 3), "float32")
    plan = plan_for(net.network(net.op("TANH", [y], (1, 4, 4, 3), "float32")), "ethos-u85-256")
    assert plan.npu_operators
    assert {(cpu.code, cpu.reason) for cpu in plan.cpu_operators} == {
        ("TOSA_CAST", "no Ethos-U computes floats"),
        ("TOSA_TANH", "no Ethos-U computes floats"),
    }
