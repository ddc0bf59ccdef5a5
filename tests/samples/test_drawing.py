"""Random samples: several distributions, and never a value that the network refuses."""

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.litert import litert_outputs
from ethosgen.oracle.pieces import undefined_outputs
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import count_distributions, distribution_of, draw_samples
from ethosgen.samples.spans import LOOPS
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.support.control_networks import no_turn_or_many
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder

TABLE = 7


def parse(net: NetworkBuilder, *outputs: int) -> Network:
    return decode_network(net.build(*outputs), "net")


def by_distribution(samples: list[Arrays], name: str) -> dict[str, np.ndarray]:
    samples_by_kind: dict[str, np.ndarray] = {}
    for index, sample in enumerate(samples):
        samples_by_kind.setdefault(distribution_of(index), sample[name])
    return samples_by_kind


def quantized() -> Network:
    net = NetworkBuilder("quantized")
    return parse(net, net.relu(net.input((1, 40, 40, 2), "int8", 0.1, zero_point=5, name="x")))


def test_ten_samples_come_from_seven_distributions() -> None:
    names = ["uniform", "lowest", "extremes", "highest", "normal", "sparse", "constant"]
    assert count_distributions(10) == dict.fromkeys(names, 1) | dict.fromkeys(names[:3], 2)
    assert count_distributions(1) == {"uniform": 1}
    drawn = by_distribution(draw_samples(quantized(), 7, 0), "x")
    assert list(drawn) == names
    assert (drawn["uniform"].min(), drawn["uniform"].max()) == (-128, 127)
    assert abs(float(drawn["normal"].mean()) - 5) < 3 and 30 < drawn["normal"].std() < 55
    assert 0.8 < (drawn["sparse"] == 5).mean() < 0.95
    assert set(np.unique(drawn["extremes"]).tolist()) == {-128, 5, 127}
    assert set(np.unique(drawn["constant"]).tolist()) == {5}
    assert set(np.unique(drawn["lowest"]).tolist()) == {-128}
    assert set(np.unique(drawn["highest"]).tolist()) == {127}


def test_in_the_second_round_one_element_is_at_the_other_end() -> None:
    again = draw_samples(quantized(), 12, 0)
    for index, most, least in ((8, -128, 127), (10, 127, -128)):
        values, counts = np.unique(again[index]["x"], return_counts=True)
        assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {most: 3199, least: 1}


def test_samples_differ_and_depend_on_seed_and_place_alone() -> None:
    first, again = draw_samples(quantized(), 3, 7), draw_samples(quantized(), 12, 7)
    assert all(np.array_equal(first[i]["x"], again[i]["x"]) for i in range(3))
    assert not np.array_equal(again[0]["x"], again[7]["x"])
    assert not np.array_equal(again[2]["x"], draw_samples(quantized(), 3, 8)[2]["x"])
    assert again[11]["x"].std() < again[4]["x"].std()  # the second normal one is narrower


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32", "bool"])
def test_every_type_has_every_distribution(dtype: str) -> None:
    net = NetworkBuilder("typed")
    kept = net.relu(net.input((1, 8), name="kept"))
    net.input((1, 64), dtype, None, name="x")
    drawn = draw_samples(parse(net, kept), 15, 1)
    assert all(sample["x"].dtype == np.dtype(dtype) for sample in drawn)
    assert all(np.isfinite(sample["x"]).all() for sample in drawn if dtype == "float32")
    assert len({sample["x"].tobytes() for sample in drawn}) > 8 if dtype != "bool" else True


def test_reals_cover_what_the_quantization_behind_them_can_represent() -> None:
    net = NetworkBuilder("reals")
    x = net.input((1, 500), "float32", None, name="x")
    y = net.unary("QUANTIZE", x, dtype="int8", scale=0.5, zero_point=-28)
    drawn = by_distribution(draw_samples(parse(net, y), 5, 1), "x")
    assert (drawn["extremes"].min(), drawn["extremes"].max()) == (-50.0, 77.5)


def gather_net(between: str) -> Network:
    """Return a network whose input chooses rows of a table, directly or by way of an operator."""
    net = NetworkBuilder("text")
    table = net.constant(net.random_integers((TABLE, 3)), "int8", 0.5)
    if between == "CAST":
        x = net.input((1, 4), "float32", None, name="x")
    else:
        x = net.input((1, 4), "int32", None, name="x")
    places = x
    if between == "CAST":
        places = net.apply("CAST", x, dtype="int32")
    if between == "RESHAPE":
        places = net.reshape(x, (4,))
    return parse(net, net.apply("GATHER", table, places))


@pytest.mark.parametrize("between", ["", "RESHAPE", "CAST"])
def test_indices_of_a_gather_stay_in_its_table_and_tflite_micro_runs_them(between: str) -> None:
    network = gather_net(between)
    samples = draw_samples(network, 10, 0)
    values = np.stack([sample["x"] for sample in samples])
    assert (values.min(), values.max()) == (0, TABLE - 1)
    assert np.array_equal(values, np.rint(values))
    table = network.graph.operators[-1].inputs[0]
    rows = network.graph.tensors[table].array()
    for sample, golden in zip(samples, golden_outputs(network, samples), strict=True):
        (answer,) = golden.values()
        assert np.array_equal(answer.reshape(-1, 3), rows[sample["x"].astype(int).ravel()])


def test_indices_of_several_dimensions_have_a_bound_each() -> None:
    net = NetworkBuilder("nd")
    table = net.constant(net.random_integers((2, 9, 3)), "int8", 0.5)
    places = net.input((6, 2), "int32", None, name="x")
    y = net.apply("GATHER_ND", table, places)
    samples = draw_samples(parse(net, y), 20, 0)
    most = np.stack([sample["x"] for sample in samples]).max(axis=(0, 1))
    assert most.tolist() == [1, 8]


def test_the_start_of_a_slice_leaves_room_for_it() -> None:
    net = NetworkBuilder("slice")
    x = net.input((4, 10), "int8", 0.5, name="x")
    begin = net.input((2,), "int32", None, name="begin")
    y = net.apply("SLICE", x, begin, [4, 3])
    drawn = np.stack([s["begin"] for s in draw_samples(parse(net, y), 20, 0)])
    assert (drawn.min(axis=0).tolist(), drawn.max(axis=0).tolist()) == ([0, 0], [0, 7])


def test_a_loop_starts_with_a_small_counter() -> None:
    net = NetworkBuilder("loops")
    (output, *_) = no_turn_or_many(net)
    network = parse(net, output)
    counter = network.inputs[0].name
    drawn = draw_samples(network, 10, 0)
    assert max(int(abs(sample[counter]).max()) for sample in drawn) == LOOPS


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -20), ("int16", 0)])
def test_a_reciprocal_root_gets_no_negative_number(dtype: str, zero_point: int) -> None:
    """TFLite Micro ends the inference at one, and then nothing could be checked."""
    net = NetworkBuilder("roots")
    x = net.input((1, 40), dtype, 0.1, zero_point, name="x")
    network = parse(net, net.unary("RSQRT", net.reshape(x, (5, 8)), scale=0.02, zero_point=0))
    samples = draw_samples(network, 10, 0)
    assert min(int(sample["x"].min()) for sample in samples) == zero_point
    assert max(int(sample["x"].max()) for sample in samples) == np.iinfo(dtype).max
    assert len(golden_outputs(network, samples)) == 10


@pytest.mark.parametrize(
    ("code", "dtype", "least"),
    [("FLOOR_DIV", "int16", 1), ("FLOOR_MOD", "int32", 1), ("FLOOR_DIV", "float32", 0.25)],
)
def test_a_divisor_is_never_zero(code: str, dtype: str, least: float) -> None:
    """LiteRT ends the inference at one, and then nothing could be checked."""
    net = NetworkBuilder("quotients")
    x, y = (net.input((1, 40), dtype, None, name=name) for name in "xy")
    quotient = net.apply(code, x, y)
    samples = draw_samples(parse(net, quotient), 10, 0)
    assert min(sample["y"].min() for sample in samples) == least
    assert len(litert_outputs(parse(net, quotient), samples)) == 10


@pytest.mark.parametrize("constant", ["neither", "base", "exponent"])
def test_a_power_of_integers_fits(constant: str) -> None:
    """LiteRT ends the inference at a negative exponent, and C++ leaves an overflow undefined."""
    net = NetworkBuilder("powers")
    ends = [
        net.constant(np.array(value, np.int32), "int32")
        if name == constant
        else net.input((1, 40), "int32", None, name=name)
        for name, value in (("base", -7), ("exponent", 5))
    ]
    network = parse(net, net.apply("POW", *ends))
    samples = draw_samples(network, 10, 0)
    for sample, output in zip(samples, litert_outputs(network, samples), strict=True):
        base, exponent = sample.get("base", np.array(-7)), sample.get("exponent", np.array(5))
        exact = base.astype(object) ** exponent.astype(object)
        (computed,) = output.values()
        assert np.array_equal(computed, exact)
    assert undefined_outputs(network, samples) is None


def test_sizes_to_broadcast_fit_each_other() -> None:
    """The oracles abort where they do not, and then nothing could be checked."""
    net = NetworkBuilder("sizes")
    x, y = (net.input((n,), "int32", None, name=name) for n, name in ((2, "x"), (3, "y")))
    (sizes,) = net.operator("BROADCAST_ARGS", (x, y), (Spec((3,), "int32"),))
    samples = draw_samples(parse(net, sizes), 10, 0)
    assert len({sample["x"].tobytes() for sample in samples}) > 1
    assert len(golden_outputs(parse(net, sizes), samples)) == 10
