"""A .pt2 file is checked before torch sees it, and what torch sees has nothing pickled in it."""

import io
import json
import pickle
import random
import zipfile
from typing import Any

import pytest

from ethosgen.frontend import recognized
from ethosgen.frontend.torch.archive import checked
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.source import Source
from tests.support.pt2_archive import archive, branch, leaf, model, node, tensor, weights


def read(data: bytes) -> Any:
    return checked(Source("pt2", "net.pt2", data))


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


def test_names_of_inputs_and_outputs_are_the_users() -> None:
    program = read(archive())
    assert program.inputs == {"x": (1, 4)}
    assert program.outputs == ("output",)
    assert not program.is_dynamic


@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        (branch("builtins.tuple", "null", leaf(), leaf()), ("output_0", "output_1")),
        (branch("builtins.dict", '["boxes", "scores"]', leaf(), leaf()), ("boxes", "scores")),
        (
            branch("builtins.dict", '["a"]', branch("builtins.list", "null", leaf(), leaf())),
            ("a_output_0", "a_output_1"),
        ),
    ],
)
def test_nested_outputs_are_named_after_their_place(outputs: Any, names: tuple[str, ...]) -> None:
    assert read(archive(model(outputs=outputs))).outputs == names


def test_what_torch_gets_has_no_pickle_no_guards_and_no_notes() -> None:
    files = members(read(archive()).archive())
    assert files["program/data/sample_inputs/model.pt"] == b""
    assert files["program/data/weights/weight_0"] == bytes(16)
    program = json.loads(files["program/models/model.json"])
    assert program["guards_code"] == []
    assert program["graph_module"]["graph"]["nodes"][0]["metadata"] == {}
    assert not any(b"pickle" in data.replace(b"use_pickle", b"") for data in files.values())


def test_devices_are_those_of_this_machine() -> None:
    program = model()
    about = tensor(1, 4) | {"device": {"type": "cuda", "index": 0}}
    program["graph_module"]["graph"]["tensor_values"]["x"] = about
    stripped = read(archive(program, weights(tensor_meta=about))).archive()
    assert b"cuda" not in b"".join(members(stripped).values())


def test_open_sizes_keep_their_symbol_and_the_size_of_the_example() -> None:
    program = read(archive(model(sizes=("s77", 4))))
    assert program.is_dynamic
    assert program.inputs == {"x": ("s77", 4)}
    assert program.hints == {"s77": 2}


def test_a_program_of_another_name_is_read() -> None:
    renamed = {
        "models/model.json": None,
        "data/weights/model_weights_config.json": None,
        "data/constants/model_constants_config.json": None,
        "models/mine.json": json.dumps(model()).encode(),
        "data/weights/mine_weights_config.json": json.dumps(weights()).encode(),
        "data/constants/mine_constants_config.json": b'{"config": {}}',
    }
    files = members(read(archive(members=renamed)).archive())
    assert "program/models/model.json" in files
    assert "program/data/weights/model_weights_config.json" in files


class Boom:
    """Running this test's code when unpickled would be seen."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('unpickled')",)


def checkpoint() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("weights/data.pkl", pickle.dumps(Boom()))
        file.writestr("weights/version", "3")
    return stream.getvalue()


def old_export() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("serialized_exported_program.json", "{}")
        file.writestr("serialized_state_dict.pt", pickle.dumps(Boom()))
        file.writestr("version", "8.2")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pickle.dumps(Boom()), "is a pickle"),
        (checkpoint(), "is a pickled checkpoint"),
        (old_export(), "pickled its weights"),
    ],
)
def test_a_pickle_is_recognized_and_refused_with_what_to_export(data: bytes, words: str) -> None:
    front_end = recognized(data)
    assert front_end is not None
    assert front_end.name == "pt2"
    with pytest.raises(InputError, match=words) as caught:
        front_end.read(Source("pt2", "net.pt2", data))
    assert "save" in str(caught.value)


PICKLED: list[dict[str, Any]] = [
    {"listed": weights(use_pickle=True)},
    {"listed": weights(path_name="custom_obj_0")},
    {"listed": weights(path_name="opaque_obj_0")},
    {"listed": weights(path_name="../weight_0")},
    {"members": {"data/weights/model.pt": b"\x80\x02"}},
    {"members": {"data/constants/model.pt": b"\x80\x02"}},
]


@pytest.mark.parametrize("changes", PICKLED)
def test_pickled_weights_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="pickled"):
        read(archive(**changes))


@pytest.mark.parametrize(
    "target",
    [
        "torch.load",
        "torch.serialization.load",
        "torch.ops.aten.from_file.default",
        "torch.ops.inductor.resize_storage_bytes_.default",
        "_operator.methodcaller",
        "math.__loader__.load_module",
        "torch.ops.aten.add.Tensor.__class__",
        "#mine.Operator",
    ],
)
def test_functions_other_than_operators_are_never_looked_up(target: str) -> None:
    with pytest.raises(UnsupportedError, match="calls '"):
        read(archive(model(target)))


@pytest.mark.parametrize(
    "size",
    ["__import__('os').abort()", "s0.__class__", "open('x')", "s0[0]", "lambda: 1", "Symbol('x')"],
)
def test_sizes_other_than_arithmetic_are_never_evaluated(size: str) -> None:
    with pytest.raises(InputError, match="not an expression"):
        read(archive(model(sizes=(size, 4))))


@pytest.mark.parametrize(
    ("size", "readable"),
    [
        ("2*s0 + 1", "2*s0 + 1"),
        ("Max(1, s77)", "Max(1, s77)"),
        ("Symbol('s77', positive=True, integer=True)", "s77"),
        ("Mul(Integer(2), Symbol('s0', integer=True))", "Mul(Integer(2), s0)"),
    ],
)
def test_arithmetic_on_symbols_is_accepted(size: str, readable: str) -> None:
    assert read(archive(model(sizes=(size, 4)))).inputs == {"x": (readable, 4)}


def changed(**specs: Any) -> bytes:
    program = model()
    program["graph_module"]["signature"].update(specs)
    return archive(program)


STATES: list[tuple[bytes, str]] = [
    (
        changed(
            output_specs=[{"buffer_mutation": {"arg": {"name": "made"}, "buffer_name": "cache"}}]
        ),
        "changes 'cache' when it runs",
    ),
    (
        changed(input_specs=[{"user_input": {"arg": {"as_int": 3}}}]),
        "an input that is not a tensor",
    ),
    (
        changed(input_specs=[{"custom_obj": {"arg": {"name": "o"}, "custom_obj_name": "o"}}]),
        "an input that is not a tensor",
    ),
    (
        changed(output_specs=[{"user_output": {"arg": {"as_none": True}}}]),
        "an output that is not a tensor",
    ),
    (archive(model(outputs=branch("mine.Output", "null", leaf()))), "returns a mine.Output"),
    (archive(model() | {"schema_version": {"major": 9, "minor": 0}}), "in the schema 9"),
]


@pytest.mark.parametrize(("data", "words"), STATES)
def test_what_has_no_counterpart_is_named(data: bytes, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        read(data)


def compressed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mine/archive_format", "pt2")
    return stream.getvalue()


def unrelated() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("a.txt", "text")
    return stream.getvalue()


FAULTS: list[tuple[bytes, str]] = [
    (compressed(), "is compressed"),
    (unrelated(), "not a .pt2 file"),
    (archive(members={"models/model.json": None}), "no exported program"),
    (archive(members={"models/second.json": b"{}"}), "2 programs"),
    (archive(members={"archive_format": b"pt3"}), "unknown variant"),
    (archive(members={"byteorder": b"big"}), "unknown variant"),
    (archive(members={"models/model.json": b"[" * 100_000}), "damaged"),
    (archive(members={"models/model.json": b"{}"}), "damaged"),
    (archive(members={"data/weights/weight_0": None}), "damaged"),
    (archive()[:-30], "damaged"),
]


@pytest.mark.parametrize(("data", "words"), FAULTS)
def test_a_damaged_file_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(data)


def test_a_node_with_a_graph_of_its_own_is_checked_as_well() -> None:
    program = model()
    inner = {"nodes": [node("torch.load", "x")]}
    argument = {"name": "body", "arg": {"as_graph": {"name": "body", "graph": inner}}, "kind": 1}
    program["graph_module"]["graph"]["nodes"][0]["inputs"].append(argument)
    with pytest.raises(UnsupportedError, match=r"calls 'torch\.load'"):
        read(archive(program))


def test_an_operator_given_to_another_is_checked_as_well() -> None:
    program = model()
    argument = {"name": "function", "arg": {"as_operator": "torch.load"}, "kind": 1}
    program["graph_module"]["graph"]["nodes"][0]["inputs"].append(argument)
    with pytest.raises(UnsupportedError, match=r"calls 'torch\.load'"):
        read(archive(program))


def test_a_truncated_or_mutated_file_is_refused_or_means_the_same() -> None:
    """The zip's checksums see changes of contents; other bytes say nothing about the program."""
    whole = archive()
    meant = read(whole).archive()
    rng = random.Random(13)
    refused = 0
    for _ in range(200):
        data = bytearray(whole)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        else:
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            again = read(bytes(data)).archive()
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert members(again) == members(meant)
    assert refused > 150


def test_a_program_with_any_value_replaced_never_ends_in_another_error() -> None:
    rng = random.Random(14)
    for _ in range(200):
        program = model(sizes=("s0", 4))
        _replace(program, rng)
        data = archive(program)
        try:
            read(data)
        except InputError as error:
            assert "net.pt2" in str(error) or "the program" in str(error)


def _replace(tree: Any, rng: random.Random) -> None:
    """Replace or remove one value somewhere in nested lists and dictionaries."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
            tree = tree[key]
            continue
        value = rng.choice([None, -1, 1 << 70, "x", [], {}, {"as_int": "y"}, True, 0.5])
        if rng.random() < 0.2:
            del tree[key]
        else:
            tree[key] = value
        return
