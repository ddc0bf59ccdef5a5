"""The archive of a small exported program, written by hand: it needs no torch."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

FLOAT = 7


def tensor(*sizes: Any) -> dict[str, Any]:
    """Return a program's note of a tensor; a text in `sizes` is the symbol of an open size."""
    return {
        "dtype": FLOAT,
        "sizes": [
            {"as_int": size}
            if isinstance(size, int)
            else {"as_expr": {"expr_str": size, "hint": {"as_int": 2}}}
            for size in sizes
        ],
        "requires_grad": False,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": 1} for _ in sizes],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def leaf() -> dict[str, Any]:
    return {"type": None, "context": None, "children_spec": []}


def branch(kind: str, context: str, *parts: Any) -> dict[str, Any]:
    return {"type": kind, "context": context, "children_spec": list(parts)}


def node(target: str, *inputs: str, output: str = "made") -> dict[str, Any]:
    return {
        "target": target,
        "inputs": [
            {"name": source, "arg": {"as_tensor": {"name": source}}, "kind": 1} for source in inputs
        ],
        "outputs": [{"as_tensor": {"name": output}}],
        "metadata": {"stack_trace": "private"},
        "is_hop_single_tensor_return": None,
        "name": output,
    }


def model(
    target: str = "torch.ops.aten.mul.Tensor",
    sizes: tuple[Any, ...] = (1, 4),
    outputs: Any = None,
) -> dict[str, Any]:
    """Return a program that multiplies its input `x` with the weight `w`."""
    takes = branch(
        "builtins.tuple",
        "null",
        branch("builtins.tuple", "null", leaf()),
        branch("builtins.dict", "[]"),
    )
    graph = {
        "inputs": [{"as_tensor": {"name": name}} for name in ("p_w", "x")],
        "outputs": [{"as_tensor": {"name": "made"}}],
        "nodes": [node(target, "x", "p_w")],
        "tensor_values": {
            "p_w": tensor(4),
            "x": tensor(*sizes),
            "made": tensor(*sizes),
        },
        "sym_int_values": {},
        "sym_bool_values": {},
        "sym_float_values": {},
        "custom_obj_values": {},
        "is_single_tensor_return": False,
    }
    signature = {
        "input_specs": [
            {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
            {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
        ],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "made"}}}}],
    }
    call = {
        "inputs": [],
        "outputs": [],
        "in_spec": json.dumps([1, takes]),
        "out_spec": json.dumps([1, outputs or leaf()]),
        "forward_arg_names": ["x"],
    }
    return {
        "graph_module": {
            "graph": graph,
            "signature": signature,
            "module_call_graph": [{"fqn": "", "signature": call}],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {
            str(size): {"min_val": 1, "max_val": 8} for size in sizes if isinstance(size, str)
        },
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.13.0",
        "guards_code": ["__import__('os').abort()"],
    }


def weights(**changes: Any) -> dict[str, Any]:
    """Return the list of weights, with `changes` in the entry of `w`."""
    entry = {
        "path_name": "weight_0",
        "is_param": True,
        "use_pickle": False,
        "tensor_meta": tensor(4),
    }
    return {"config": {"w": entry | changes}}


def archive(
    program: Any = None, listed: Any = None, members: Mapping[str, bytes | None] | None = None
) -> bytes:
    """Return the file; `members` adds or replaces members, None removes one."""
    stored: dict[str, bytes | None] = {
        "archive_format": b"pt2",
        "archive_version": b"0",
        ".data/version": b"6\n",
        "byteorder": b"little",
        "models/model.json": json.dumps(program or model()).encode(),
        "data/weights/model_weights_config.json": json.dumps(listed or weights()).encode(),
        "data/weights/weight_0": bytes(16),
        "data/constants/model_constants_config.json": b'{"config": {}}',
        "data/sample_inputs/model.pt": b"\x80\x02a pickle",
        **(members or {}),
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, data in stored.items():
            if data is not None:
                file.writestr(f"mine/{name}", data)
    return stream.getvalue()
