import pytest

from ethosgen.values.errors import InputError
from ethosgen.values.naming import check_name, cpp_name, joined_name, name_from_file


@pytest.mark.parametrize("name", ["kws", "Net_2", "a"])
def test_identifiers_are_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "2net", "my-net", "int", "main", "ethosgen_x", "naïve", "a b"]
)
def test_what_c_refuses_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="--name"):
        check_name(name)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("kws_dscnn_int8", "kws_dscnn_int8"),
        ("My-Net.v2", "my_net_v2"),
        ("2fast", "model_2fast"),
        ("int", "model_int"),
        ("--", "model"),
    ],
)
def test_a_file_name_becomes_an_identifier(stem: str, name: str) -> None:
    assert name_from_file(stem) == name
    assert check_name(name) == name


def test_several_networks_have_a_name_that_can_name_files() -> None:
    assert joined_name(["kws"]) == "kws"
    assert joined_name(["kws", "vww"]) == "kws_vww"
    many = [f"network_{i}" for i in range(100)]
    assert joined_name(many).startswith("network_0_and_99_more_")
    assert len(joined_name(many)) < 100
    assert joined_name(many) != joined_name([*many[:-1], "another"])


def test_no_name_is_a_word_of_c_plus_plus() -> None:
    assert [cpp_name(name) for name in ("kws", "class", "run", "operator", "int")] == [
        "kws",
        "class_",
        "run_",
        "operator_",
        "int_",
    ]
