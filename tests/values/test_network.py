"""The values of a network."""

import numpy as np
import pytest

from ethosgen.values.network import Graph, Network, Tensor


def test_sizes_follow_from_shape_and_dtype() -> None:
    assert Tensor(0, "a", (2, 3, 4), "int16").bytes == 48
    assert Tensor(0, "scalar", (), "int32").elements == 1
    assert Tensor(0, "empty", (0, 3), "int8").bytes == 0


def test_a_constant_has_its_array() -> None:
    data = np.arange(6, dtype=np.int16).tobytes()
    tensor = Tensor(0, "c", (2, 3), "int16", data=data)
    assert tensor.array().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="'v' is not a constant"):
        Tensor(0, "v", (2, 3), "int16").array()


def test_inputs_and_outputs_are_in_order_of_the_signature() -> None:
    tensors = tuple(Tensor(i, f"t{i}", (1,), "int8") for i in range(3))
    network = Network("m", (Graph("main", tensors, (), (2, 0), (1,)),))
    assert [tensor.name for tensor in network.inputs] == ["t2", "t0"]
    assert [tensor.name for tensor in network.outputs] == ["t1"]
