"""C names for the network's inputs and outputs."""

import pytest

from ethosgen.aot.code.port_names import identifier, name_ports
from ethosgen.values.network import Tensor


def tensor(name: str) -> Tensor:
    return Tensor(0, name, (1,), "int8")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("input_1", "input_1"),
        ("serving_default_x:0", "serving_default_x_0"),
        ("model/dense/BiasAdd;model/dense/MatMul;" + "x" * 99, "model_dense_biasadd"),
        ("a/" * 30 + "Relu", "relu"),
        ("x" * 99, "default"),
        ("3d", "tensor_3d"),
        ("int", "int_"),
        ("", "default"),
        ("äß", "default"),
        ("a__b", "a__b"),
    ],
)
def test_identifiers(name: str, wanted: str) -> None:
    assert identifier(name, "default") == wanted


def test_all_ports_have_names_of_their_own() -> None:
    inputs, outputs = name_ports([tensor("x"), tensor("X"), tensor("arena")], [tensor("x")])
    assert inputs == ("x", "x_2", "arena_2")
    assert outputs == ("x_3",)


def test_ports_do_not_hide_what_the_c_calls() -> None:
    inputs, _ = name_ports([tensor("memcpy"), tensor("net/relu_0")], [], ["net_relu_0"])
    assert inputs == ("memcpy_2", "net_relu_0_2")


def test_input_and_output_are_left_to_the_functions_that_every_network_has() -> None:
    names = [tensor("input"), tensor("output"), tensor("x")]
    assert name_ports(names, names) == (
        ("input_2", "output_2", "x"),
        ("input_3", "output_3", "x_2"),
    )
    assert name_ports([tensor("output")], [tensor("input")]) == (("output_2",), ("input_2",))
    assert name_ports([tensor("input")], [tensor("output")]) == (("input",), ("output",))
