"""Every operator and type of the movable families against the reference, in C and through LLVM.

Cases share networks: one run of TFLite Micro, one of gcc and one of LLVM serve some twenty of them.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator, measured_by_litert
from ethosgen.aot.registry import registry
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.values.dialect import SIGNALS
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from ethosgen.values.tosa import PREFIX
from tests.support.aot_harness import GeneratedC, cpu_plan
from tests.support.catalogue.bench import Bench
from tests.support.catalogue.cases import CASES
from tests.support.needs import needs_gcc
from tests.support.networks import Spec

UNSET_IN_TFLITE_MICRO = {"SPACE_TO_BATCH_ND"}
"""Operators of which TFLite Micro leaves part of the output unset: it pads with what was there."""

OTHER_FAMILIES = {
    *SIGNALS, "CIRCULAR_BUFFER",
    "ASSIGN_VARIABLE", "AVERAGE_POOL_2D", "BATCH_MATMUL", "CALL_ONCE", "CONV_2D", "COPY",
    "DEPTHWISE_CONV_2D", "EXPAND_DIMS", "FULLY_CONNECTED", "IF", "L2_POOL_2D", "MAX_POOL_2D",
    "READ_VARIABLE", "RESHAPE", "SOFTMAX", "SQUEEZE", "SVDF", "TFLite_Detection_PostProcess",
    "TRANSPOSE_CONV", "UNIDIRECTIONAL_SEQUENCE_LSTM", "VAR_HANDLE", "WHILE",
}  # fmt: skip
"""Operators that other tests compare."""

GROUPS = 9
LITERT_GROUPS = 5


def _is_by_litert(name: str) -> bool:
    code, dtype, _ = CASES[name]
    return code in UNSET_IN_TFLITE_MICRO or (code, dtype) in measured_by_litert()


def _group(number: int) -> list[str]:
    names = [name for name in CASES if not _is_by_litert(name)]
    return names[number::GROUPS]


def _network(names: list[str], seed: int) -> tuple[Network, list[Arrays], dict[str, str]]:
    """Return a network of cases, samples, and the case of each output."""
    net = Bench(seed)
    outputs, owners = [], {}
    for name in names:
        _, dtype, build = CASES[name]
        results = list(build(net, dtype))
        outputs += results
        owners |= {net.tensors[index].name or "": name for index in results}
    return parse_network(net.build(*outputs), "bench.tflite"), net.samples(2), owners


@needs_gcc
@pytest.mark.parametrize("number", range(GROUPS))
def test_operators_equal_tflite_micro(number: int, tmp_path: Path) -> None:
    network, samples, owners = _network(_group(number), seed=number)
    io = (IoStyle.CALLER, IoStyle.ARENA)[number % 2]
    _compare(network, samples, golden_outputs(network, samples), owners, tmp_path, io)


@needs_gcc
@pytest.mark.parametrize("number", range(LITERT_GROUPS))
def test_operators_that_tflite_micro_does_not_compute_equal_litert(
    number: int, tmp_path: Path
) -> None:
    names = [name for name in CASES if _is_by_litert(name)][number::LITERT_GROUPS]
    network, samples, owners = _network(names, seed=3 + number)
    wanted = LITERT.run(network, samples)
    _compare(network, samples, wanted, owners, tmp_path, IoStyle.ARENA)


def test_every_operator_and_type_is_compared() -> None:
    known = {
        key for key in registry() if key[0] not in OTHER_FAMILIES and not key[0].startswith(PREFIX)
    }
    assert known == {(code, dtype) for code, dtype, _ in CASES.values()}


def _compare(
    network: Network,
    samples: list[Arrays],
    wanted: list[Arrays],
    owners: Mapping[str, str],
    folder: Path,
    io: IoStyle,
) -> None:
    plan = cpu_plan(network, io)
    generated = GeneratedC(compile_program(plan, "net"), folder)
    evaluate = make_evaluator(plan)
    for sample, golden in zip(samples, wanted, strict=True):
        for _ in range(2):  # on both poisons
            outputs = generated.outputs(sample)
            _assert_close("C", outputs, golden, owners)
        _assert_close("LLVM", evaluate(sample, _unused), golden, owners)


def _assert_close(how: str, outputs: Arrays, golden: Arrays, owners: Mapping[str, str]) -> None:
    assert set(outputs) == set(golden)
    for name, wanted in golden.items():
        assert outputs[name].dtype == wanted.dtype
        code, dtype, _ = CASES[owners[name]]
        far = _distance(outputs[name], wanted) > registry()[code, dtype].ulp
        assert not far.any(), (
            f"{how}, {owners[name]}, output {name}: {far.sum()} of {far.size} differ, "
            f"{outputs[name][far][:5]} for {wanted[far][:5]}"
        )


def _distance(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the distance in numbers of the type; for integers 0 if equal, otherwise 1."""
    if a.dtype != np.float32:
        return (a != b).astype(np.int64)
    return np.abs(_ordinal(a) - _ordinal(b))


def _ordinal(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bits = np.ascontiguousarray(a).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _unused(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")


# ---- what is refused -----------------------------------------------------------------------------


_OTHERS = ("int16", "int64")
"""The types of indices that only LiteRT has; one of 2**32 is not 0."""


def _gather(net: Bench, dtype: str = "int32") -> int:
    x, places = net.feed((4, 5), "int8"), net.feed((2,), dtype, name="places")
    return net.apply("GATHER", x, places, axis=0)


def _gather_nd(net: Bench, dtype: str = "int32") -> int:
    x, places = net.feed((4, 5), "int8"), net.feed((1, 2), dtype, name="places")
    return net.apply("GATHER_ND", x, places)


def _lookup(net: Bench) -> int:
    x, places = net.feed((4, 5), "int8"), net.feed((2,), "int32", name="places")
    return net.apply("EMBEDDING_LOOKUP", places, x)


def _slice(net: Bench) -> int:
    x, begin = net.feed((4, 5), "int8"), net.feed((2,), "int32", name="places")
    return net.apply("SLICE", x, begin, [1, 1])


@needs_gcc
@pytest.mark.parametrize(
    "build",
    [
        _gather, _gather_nd, _lookup, _slice,
        *(partial(each, dtype=dtype) for each in (_gather, _gather_nd) for dtype in _OTHERS),
    ],
)  # fmt: skip
def test_places_outside_a_tensor_end_the_network_with_a_status(build: Any, tmp_path: Path) -> None:
    net = Bench(1)
    plan = cpu_plan(net.build(build(net)))
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    good = net.samples(1)[0]
    shape, dtype = good["places"].shape, good["places"].dtype
    good["places"] = np.zeros(shape, dtype)
    assert generated.run(good)[0] == 0
    for bad in {-1, 100, np.iinfo(dtype).min, 1 << (8 * dtype.itemsize // 2)}:
        sample = good | {"places": np.full(shape, bad, dtype)}
        assert generated.run(sample)[0] == 15
        with pytest.raises(InputError, match="does not accept"):
            make_evaluator(plan)(sample, _unused)


def test_a_missing_type_is_named() -> None:
    """No integer type has code either, so quantizing it would not help."""
    net = Bench(1)
    y = net.make("MATRIX_DIAG", [net.feed((4, 3), "float32")], Spec((4, 3, 3), "float32"))
    with pytest.raises(UnsupportedError, match=r"MATRIX_DIAG.*no CPU code for float32; change"):
        compile_program(cpu_plan(net.build(y)), "net")


@pytest.mark.parametrize("part", [(2, 6), (3,)])
def test_a_part_that_does_not_fit_is_refused(part: tuple[int, ...]) -> None:
    net = Bench(1)
    x, update = net.feed((4, 5), "int8"), net.feed(part, "int8")
    y = net.apply("DYNAMIC_UPDATE_SLICE", x, update, net.feed((2,), "int32"))
    with pytest.raises(UnsupportedError, match="does not fit into"):
        compile_program(cpu_plan(net.build(y)), "net")
