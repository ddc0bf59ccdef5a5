"""Results and outputs as bytes are the same results and outputs."""

from dataclasses import replace

import numpy as np

from ethosgen.values.configurations import Energy, Exactness
from ethosgen.values.network import Tensor
from ethosgen.values.schedule import Schedule, Strategy
from ethosgen_sweep.records import (
    outputs_bytes,
    read_outputs,
    read_refusal,
    read_results,
    refusal_bytes,
    results_bytes,
)
from tests.support.costs import make_cost, make_result


def test_results_come_back_equal() -> None:
    plain = make_result()
    rich = replace(
        make_result(cost=replace(make_cost(9), energy=Energy(1 / 3, "a page"))),
        setting=replace(plain.setting, memory_mode=None, schedule=Schedule(Strategy.SIZE, 4096)),
        exactness=Exactness("oracle", 5, 50, 1, 0.1),
        notes=("one", "two"),
    )
    refused = make_result(cost=None, refusal="nö: 不")
    results = (plain, rich, refused)
    assert read_results(results_bytes(results)) == results


def test_what_is_no_result_is_none() -> None:
    for data in (b"", b"{}", b"[1]", b'[{"setting": 1}]', b"\xff"):
        assert read_results(data) is None


TENSORS = (Tensor(0, "a/b:0", (1, 2), "int8"), Tensor(1, "made", (), "float32"))


def test_outputs_come_back_equal() -> None:
    random = np.random.default_rng(1)
    outputs = [
        {"a/b:0": random.integers(-9, 9, (1, 2), np.int8), "made": np.float32(random.normal())}
        for _ in range(4)
    ]
    outputs[0]["made"] = np.array(np.nan, np.float32)
    some = [outputs[0], {}, *outputs[1:], {}]
    for kept in (outputs, some, [{}, {}]):
        data = outputs_bytes(kept, TENSORS)
        restored = read_outputs(data, TENSORS, len(kept))
        assert restored is not None and len(restored) == len(kept)
        for got, wanted in zip(restored, kept, strict=True):
            assert got.keys() == wanted.keys()
            for name, array in wanted.items():
                assert (got[name].shape, got[name].dtype) == (array.shape, array.dtype)
                assert got[name].tobytes() == array.tobytes()
        assert outputs_bytes(restored, TENSORS) == data
        assert read_refusal(data) == ""


def test_what_is_no_output_is_none() -> None:
    data = outputs_bytes([{"a/b:0": np.zeros((1, 2), np.int8), "made": np.zeros(())}], TENSORS)
    assert read_outputs(data, TENSORS, 1) is None  # a float64
    good = outputs_bytes([{"a/b:0": np.zeros((1, 2), np.int8)}], TENSORS[:1])
    assert read_outputs(good, TENSORS[:1], 1) is not None
    assert read_outputs(good, TENSORS[:1], 2) is None
    assert read_outputs(good, TENSORS, 1) is None
    for damaged in (b"", good[:-9], good[20:], refusal_bytes("why"), b"PK\3\4"):
        assert read_outputs(damaged, TENSORS[:1], 1) is None
    assert read_refusal(refusal_bytes("nö: why")) == "nö: why"
