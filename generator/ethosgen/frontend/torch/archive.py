"""Checks a .pt2 file, and rewrites only the parts that torch may see.

torch.export.load is not safe for untrusted files: torch 2.13 unpickles weights that are marked so,
custom objects and the example inputs (torch.load with weights_only=False, if necessary as a second
try), evaluates the text of symbolic sizes, calls whatever functions nodes name, and loads compiled
libraries. So this module, which knows only zip and JSON, refuses pickles, checks each name and
expression, and drops examples, guards and notes that no importer needs.
"""

import io
import json
import pickle
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.source import Source

PROGRAM = "program.pt2"
"""The name of a checked archive in the files of a child process."""

_FORMAT, _VALUE = "archive_format", b"pt2"
_OLD = "serialized_exported_program.json"
_PICKLED = "data.pkl"
_MAJOR = 8
"""The schema that torch 2.13 reads; its minor versions are compatible."""

_SAVE = "export and save the program with torch.export.save(torch.export.export(module, inputs), …)"
_TARGET = re.compile(
    r"torch\.ops\.(aten|quantized_decomposed|prim|prims|higher_order)\.\w+(\.\w+)?"
    r"|_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|neg|pow|eq|ne|lt|le|gt|ge|and_|or_|not_)"
    r"|math\.(ceil|floor|trunc|sqrt)|torch\.sym_\w+"
)
_FILES = frozenset({"from_file", "load", "save"})
"""Operators of aten that open files."""
_EXPRESSION = re.compile(r"[\w\s+\-*/(),<>=!&|~]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SYMBOL = re.compile(r"(s|u|z|zf|zuf)\d+")
_NAMED = re.compile(r"Symbol\('((?:s|u|z|zf|zuf)\d+)'(?:, \w+=(?:True|False))*\)")
"""A symbol as torch writes it."""
_FUNCTIONS = frozenset(
    """
    Integer Add Mul Pow Rational Half One Zero NegativeOne
    FloorDiv ModularIndexing Where PythonMod Mod CleanDiv CeilToInt FloorToInt CeilDiv LShift RShift
    PowByNatural IntTrueDiv FloatTrueDiv TruncToInt RoundToInt ToFloat Identity Max Min Eq Ne Lt Le
    Gt Ge And Or Not True False floor ceiling
    """.split()
)
_TREES = {None: None, "builtins.tuple": None, "builtins.list": None, "builtins.dict": list}
"""Types of nested inputs and outputs, and the type of the notes about each."""


def recognizes(data: bytes) -> bool:
    """Return whether the bytes are an archive of torch's, or a pickle, which `checked` refuses."""
    if not data.startswith(b"PK"):
        return _is_pickle(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return False
    return any(name.rpartition("/")[2] in (_FORMAT, _OLD, _PICKLED) for name in names)


def _is_pickle(data: bytes) -> bool:
    return len(data) > 2 and data[0] == pickle.PROTO[0] and 2 <= data[1] <= 5


@dataclass(frozen=True)
class ExportedProgram:
    """An exported program, checked.

    `inputs` maps names to sizes, with the expression for a dynamic size, `hints` these expressions
    to their sizes when the program was exported. `outputs` are names: the keys of a dictionary that
    the module returns, else output, or output_0 and so on.
    """

    inputs: Mapping[str, tuple[int | str, ...]]
    hints: Mapping[str, int]
    outputs: tuple[str, ...]
    model: Mapping[str, Any] = field(repr=False)
    members: Mapping[str, bytes] = field(repr=False)

    @property
    def is_dynamic(self) -> bool:
        """Whether a size is open."""
        return any(isinstance(size, str) for sizes in self.inputs.values() for size in sizes)

    def archive(self) -> bytes:
        """Return the archive to load: the program, raw weights, and nothing else."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, data in self.members.items():
                archive.writestr(f"program/{name}", data)
            archive.writestr("program/models/model.json", json.dumps(self.model))
            archive.writestr("program/data/sample_inputs/model.pt", b"")
            archive.writestr("program/archive_format", _VALUE)
            archive.writestr("program/archive_version", b"0")
            archive.writestr("program/.data/version", b"6\n")
            archive.writestr("program/byteorder", b"little")
        return stream.getvalue()


def checked(source: Source) -> ExportedProgram:
    """Return the program of a .pt2 file.

    Raises InputError for a damaged or pickled file, UnsupportedError for content without a
    counterpart.
    """
    try:
        members = _members(source)
        return _program(members, source.name)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, ValueError) as error:
        raise InputError(f"'{source.name}' is a damaged .pt2 file: {error}; {_SAVE}") from None
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise InputError(
            f"'{source.name}' is a damaged .pt2 file: its program lacks a part ({error}); {_SAVE}"
        ) from None


def _members(source: Source) -> dict[str, bytes]:
    """Return the archive's members by their names below its root folder."""
    name = source.name
    if _is_pickle(source.data):
        raise InputError(f"'{name}' is a pickle, which could run any code when read; {_SAVE}")
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        infos = archive.infolist()
        ends = {info.filename.rpartition("/")[2] for info in infos}
        if _FORMAT not in ends:
            _refuse_other(name, ends)
        root = next(i.filename for i in infos if i.filename.endswith(_FORMAT))
        root = root.removesuffix(_FORMAT)
        content = {}
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED:
                raise InputError(f"'{name}' is compressed, as torch writes no .pt2 file; {_SAVE}")
            content[info.filename.removeprefix(root)] = archive.read(info)
    if content[_FORMAT] != _VALUE or content.get("byteorder", b"little").strip() != b"little":
        raise InputError(f"'{name}' is in an unknown variant of the .pt2 format; {_SAVE}")
    return content


def _refuse_other(name: str, ends: set[str]) -> None:
    if _OLD in ends:
        raise InputError(
            f"'{name}' was saved by an old torch, which pickled its weights; load it there, and "
            "save it with torch 2.13"
        )
    if _PICKLED in ends:
        raise InputError(
            f"'{name}' is a pickled checkpoint or TorchScript, which could run any code when read; "
            f"{_SAVE}"
        )
    raise InputError(f"'{name}' is a zip file, but not a .pt2 file; {_SAVE}")


def _program(members: Mapping[str, bytes], name: str) -> ExportedProgram:
    models = [member for member in members if re.fullmatch(r"models/[^/]+\.json", member)]
    if len(models) != 1:
        how = "no exported program" if not models else counted(len(models), "program")
        raise InputError(f"'{name}' has {how}; {_SAVE}")
    own = models[0].removeprefix("models/").removesuffix(".json")
    model = json.loads(members[models[0]])
    version = model["schema_version"]["major"]
    if version != _MAJOR:
        raise UnsupportedError(
            f"'{name}' was saved by torch {model.get('torch_version')} in the schema {version}, "
            f"torch 2.13 reads {_MAJOR}: export it with torch 2.13"
        )
    graph = model["graph_module"]["graph"]
    _check_signature(model["graph_module"]["signature"], name)
    hints = dict(_check_names(model, name))
    outputs = _clean(model)
    kept = {
        f"data/{kind}/model_{kind}_config.json": _payload(members, kind, own, name)
        for kind in ("weights", "constants")
    }
    for kind in ("weights", "constants"):
        config = json.loads(kept[f"data/{kind}/model_{kind}_config.json"])["config"]
        for entry in config.values():
            path = f"data/{kind}/{entry['path_name']}"
            kept[path] = members[path]
    inputs = dict(_inputs(model, graph, name))
    return ExportedProgram(inputs, hints, outputs, model, kept)


def _payload(members: Mapping[str, bytes], kind: str, own: str, name: str) -> bytes:
    """Return the checked list of an archive's weights or constants."""
    if f"data/{kind}/{own}.pt" in members:
        raise InputError(f"'{name}' was saved by an old torch, which pickled its {kind}; {_SAVE}")
    listed = json.loads(members[f"data/{kind}/{own}_{kind}_config.json"])
    for weight, entry in listed["config"].items():
        path = entry["path_name"]
        if entry["use_pickle"] or not re.fullmatch(r"(weight|tensor)_\w+", path):
            raise InputError(
                f"the {kind} '{weight}' of '{name}' is pickled, which could run any code when "
                "read; make it a plain tensor of real numbers before the export"
            )
        entry["tensor_meta"]["device"] = {"type": "cpu", "index": None}
    return json.dumps(listed).encode()


def _check_signature(signature: Mapping[str, Any], name: str) -> None:
    """Refuse inputs that are not tensors, and programs that keep a state."""
    for spec in signature["input_specs"]:
        ((kind, about),) = spec.items()
        if kind == "custom_obj" or (kind == "user_input" and "as_tensor" not in about["arg"]):
            raise UnsupportedError(
                f"'{name}' has an input that is not a tensor ({json.dumps(about)[:80]}); export it "
                "with this value fixed"
            )
    for spec in signature["output_specs"]:
        ((kind, about),) = spec.items()
        if kind != "user_output":
            what = about.get("buffer_name") or about.get("user_input_name") or kind
            raise UnsupportedError(
                f"'{name}' changes '{what}' when it runs; export the module in eval mode, without "
                "a state of its own"
            )
        if "as_tensor" not in about["arg"]:
            raise UnsupportedError(f"'{name}' has an output that is not a tensor; leave it out")


def _check_names(tree: Any, name: str) -> Iterator[tuple[str, int]]:
    """Check the names that torch would look up or evaluate; yield sizes' expressions with hints."""
    if isinstance(tree, list):
        for branch in tree:
            yield from _check_names(branch, name)
        return
    if not isinstance(tree, dict):
        return
    for key in ("target", "as_operator"):
        target = tree.get(key)
        if isinstance(target, str) and not _is_operator(target):
            raise UnsupportedError(f"'{name}' calls '{target}', which ethosgen does not import")
    expression = tree.get("expr_str")
    if expression is not None:
        short = _readable(expression)
        if not _is_expression(short):
            raise InputError(f"'{name}' has a size that is not an expression: {expression}")
        yield short, int((tree.get("hint") or {}).get("as_int", 1))
    if isinstance(tree.get("type"), str) and set(tree) == {"type", "index"}:
        tree.update(type="cpu", index=None)
    for branch in tree.values():
        yield from _check_names(branch, name)


def _is_operator(target: str) -> bool:
    return bool(_TARGET.fullmatch(target)) and not _FILES.intersection(target.split("."))


def _readable(expression: Any) -> str:
    """Return an expression with symbols as bare names."""
    return _NAMED.sub(r"\1", str(expression))


def _is_expression(text: str) -> bool:
    """Return whether a text is arithmetic on symbols, which sympy may evaluate."""
    return (
        len(text) < 1000
        and bool(_EXPRESSION.fullmatch(text))
        and all(word in _FUNCTIONS or _SYMBOL.fullmatch(word) for word in _WORD.findall(text))
    )


def _clean(model: dict[str, Any]) -> tuple[str, ...]:
    """Drop the parts of a program that no importer needs; return the names of its outputs."""
    model["guards_code"] = []
    module = model["graph_module"]
    module["metadata"] = {}
    module["module_call_graph"] = [
        call for call in module["module_call_graph"] if call["fqn"] == ""
    ]
    _drop_notes(module["graph"])
    (call,) = module["module_call_graph"]
    _, inputs = json.loads(call["signature"]["in_spec"])
    _, outputs = json.loads(call["signature"]["out_spec"])
    tuple(_leaves(inputs, ()))
    paths = [path or ("output",) for path in _leaves(outputs, ())]
    return tuple("_".join(_word(part) for part in path) for path in paths)


def _drop_notes(tree: Any) -> None:
    if isinstance(tree, list):
        for branch in tree:
            _drop_notes(branch)
    elif isinstance(tree, dict):
        if "target" in tree and "metadata" in tree:
            tree["metadata"] = {}
        for branch in tree.values():
            _drop_notes(branch)


def _leaves(tree: Mapping[str, Any], path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each leaf of nested inputs or outputs; ValueError for other types."""
    kind, parts = tree["type"], tree["children_spec"]
    if kind not in _TREES:
        raise UnsupportedError(
            f"the program takes or returns a {kind}; export it with tuples, lists or dictionaries"
        )
    notes = json.loads(tree["context"] or "null")
    if "__enum__" in (tree["context"] or "") or not isinstance(notes, _TREES[kind] or type(None)):
        raise ValueError("its inputs or outputs have keys that are not text")
    if kind is None:
        yield path
        return
    keys: Sequence[Any] = notes or range(len(parts))
    for key, part in zip(keys, parts, strict=True):
        yield from _leaves(part, (*path, key))


def _word(part: Any) -> str:
    return part if isinstance(part, str) else f"output_{part}"


def _inputs(
    model: Mapping[str, Any], graph: Mapping[str, Any], name: str
) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    for spec in model["graph_module"]["signature"]["input_specs"]:
        if "user_input" not in spec:
            continue
        tensor = spec["user_input"]["arg"]["as_tensor"]["name"]
        sizes = graph["tensor_values"][tensor]["sizes"]
        yield (
            tensor,
            tuple(
                int(size["as_int"]) if "as_int" in size else _readable(size["as_expr"]["expr_str"])
                for size in sizes
            ),
        )
