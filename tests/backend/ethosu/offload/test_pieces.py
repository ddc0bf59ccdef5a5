"""What Vela would divide into thousands of operations stays on the CPU, with their number."""

from collections.abc import Callable

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import Vela, offload
from ethosgen.backend.ethosu.offload.pieces import MOST_PIECES, divided_operators
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from tests.support.networks import NetworkBuilder
from tests.support.tosa_networks import TosaBuilder

NPU = find_accelerator("ethos-u85-256")
FEW = 20
MANY = MOST_PIECES + 1


def _shape(net: TosaBuilder, values: list[int]) -> int:
    return net.tensor((len(values),), "int64", np.array(values).tobytes())


def _added(net: TosaBuilder, n: int) -> None:
    inputs = [net.input((1, n, 1, 2, 3), "int32"), net.input((1, 1, 1, 2, 3), "int32")]
    net.op("ADD", inputs, (1, n, 1, 2, 3), "int32")


def _multiplied(net: TosaBuilder, n: int) -> None:
    points = [net.constant([0], "int8")] * 2
    inputs = [net.input((n, 2, 3)), net.input((n, 3, 4)), *points]
    net.op("MATMUL", inputs, (n, 2, 4), "int32")


def _pooled(net: TosaBuilder, n: int) -> None:
    options = {"kernel": (2, 2), "stride": (1, 1), "pad": (0, 0, 0, 0), "nan_mode": "PROPAGATE"}
    net.op("MAX_POOL2D", [net.input((n, 3, 3, 2))], (n, 2, 2, 2), "int8", **options)


def _cut(net: TosaBuilder, n: int) -> None:
    ends = [_shape(net, [0, 0, 1, 0]), _shape(net, [n, 2, 1, 2])]
    net.op("SLICE", [net.input((n, 2, 3, 2)), *ends], (n, 2, 1, 2), "int8")


def _joined(net: TosaBuilder, n: int) -> None:
    parts = [net.input((n // 2 + 1, 2, size, 3)) for size in (2, 1)]
    net.op("CONCAT", parts, (n // 2 + 1, 2, 3, 3), "int8", axis=2)


def _repeated(net: TosaBuilder, n: int) -> None:
    inputs = [net.input((n // 3 + 1, 2, 3, 2)), _shape(net, [1, 1, 1, 3])]
    net.op("TILE", inputs, (n // 3 + 1, 2, 3, 6), "int8")


CASES = [_added, _multiplied, _pooled, _cut, _joined, _repeated]


def tosa_network(case: Callable[[TosaBuilder, int], None], n: int) -> Network:
    net = TosaBuilder("pieces", 1)
    case(net, n)
    return net.network()


@pytest.mark.parametrize("case", CASES)
def test_an_operator_of_thousands_of_pieces_stays_on_the_cpu(
    case: Callable[[TosaBuilder, int], None],
) -> None:
    plan = offload(tosa_network(case, MANY), NPU)
    (cpu,) = plan.cpu_operators
    assert cpu.reason.startswith("Vela divides it into 4,09")
    assert not plan.partitions


@pytest.mark.parametrize("case", CASES)
def test_vela_makes_an_operation_of_each_piece(case: Callable[[TosaBuilder, int], None]) -> None:
    network = tosa_network(case, FEW)
    assert divided_operators(network.graph) == {}
    compiled = Vela(NPU).compile(network, IoStyle.ARENA, None, ())
    assert len(compiled.tables["queue"]) >= FEW


def test_equal_shapes_and_single_values_are_one_piece() -> None:
    net = TosaBuilder("whole", 1)
    shape = (1, MANY, 1, 2, 3)
    x = net.op("ADD", [net.input(shape, "int32"), net.input(shape, "int32")], shape, "int32")
    net.op("SUB", [x, net.input((1, 1, 1, 1, 1), "int32")], shape, "int32")
    network = net.network()
    assert divided_operators(network.graph) == {}
    assert len(Vela(NPU).compile(network, IoStyle.ARENA, None, ()).tables["queue"]) == 2


def test_a_tflite_operator_stays_too() -> None:
    net = NetworkBuilder("broadcast")
    net.add(net.input((MANY, 1, 2, 2)), net.input((1, 1, 2, 2)))
    plan = offload(decode_network(net.build(), "broadcast.tflite"), NPU)
    (cpu,) = plan.cpu_operators
    assert f"{MANY:,} operations" in cpu.reason
