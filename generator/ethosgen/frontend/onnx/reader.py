"""Reads an ONNX file through TVM's importer."""

import contextlib
import io
import warnings
from collections.abc import Sequence
from typing import Any

from ethosgen.frontend.relax import import_module
from ethosgen.values.errors import InputError, ToolError, UnsupportedError
from ethosgen.values.grammar import unknown
from ethosgen.values.network import Network
from ethosgen.values.source import CHANNELS_LAST, Source


def read_network(source: Source) -> Network:
    """Read a file; InputError if it is damaged, UnsupportedError for what has no form."""
    model = _parsed(source)
    given = {initializer.name for initializer in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in given]
    names = [one.name for one in inputs]
    module = _imported(model, source.name, _shapes(inputs, source))
    outputs = [one.name for one in model.graph.output]
    is_last = source.options.input_layout == CHANNELS_LAST
    graph, _ = import_module(module, "main", names, outputs, channels_last=is_last)
    return Network(source.name.rsplit(".", 1)[0], (graph,), source=source)


def _parsed(source: Source) -> Any:
    try:
        import onnx
    except ModuleNotFoundError:
        raise ToolError(
            "reading .onnx files needs onnx; install it with: pip install 'ethosgen[onnx]'"
        ) from None
    try:
        model = onnx.load_model_from_string(source.data)
        onnx.checker.check_model(model)
    except Exception as error:
        first = " ".join(str(error).split())[:200]
        raise InputError(f"'{source.name}' is not a valid ONNX file: {first}") from None
    for node in model.graph.node:
        if node.output:
            node.name = node.output[0]  # the importer names variables after it
    return model


def _shapes(inputs: Sequence[Any], source: Source) -> dict[str, list[int]]:
    """Return the shape of each input; InputError for open sizes, and shapes that do not fit."""
    asked = dict(source.options.shapes)
    known = {one.name for one in inputs}
    for name in asked:
        if name not in known:
            raise InputError(f"--shape {name}: {unknown('input', name, known)}")
    shapes = {}
    for one in inputs:
        sizes = [_size(size) for size in one.type.tensor_type.shape.dim]
        given: Sequence[int | str] = asked.get(one.name, sizes)
        if given is sizes:
            if any(isinstance(size, str) for size in sizes):
                listed = ", ".join(map(str, sizes))
                example = ",".join("1" if isinstance(s, str) else str(s) for s in sizes)
                raise InputError(
                    f"input '{one.name}' of '{source.name}' has the open shape ({listed}); say its "
                    f"sizes, e.g. --shape {one.name}={example}"
                )
        elif not _fits(given, sizes):
            raise InputError(
                f"--shape {one.name}={','.join(map(str, given))} does not fit the input's shape "
                f"({', '.join(map(str, sizes))}) in '{source.name}'"
            )
        shapes[one.name] = [int(size) for size in given]
    return shapes


def _fits(given: Sequence[int | str], sizes: Sequence[int | str]) -> bool:
    """Return whether given sizes are those of the file, where it has any."""
    return len(given) == len(sizes) and all(
        isinstance(size, str) or size == ours for ours, size in zip(given, sizes, strict=True)
    )


def _size(dimension: Any) -> int | str:
    """Return a dimension's size, or its symbol if it is open."""
    if dimension.HasField("dim_value") and dimension.dim_value > 0:
        return int(dimension.dim_value)
    return str(dimension.dim_param) or "?"


def _imported(model: Any, name: str, shapes: dict[str, list[int]]) -> Any:
    """Return the module; its variables have the names of the file's tensors."""
    from tvm import relax
    from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

    class Importer(ONNXGraphImporter):  # type: ignore[misc]
        """Binds each node's result to a variable of its own, which TVM's does only later."""

        def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
            made = super()._convert_operator(op_name, inputs, attrs, opset)
            is_call = isinstance(made, relax.Call)
            return self.bb.emit(made, attrs["tvm_custom"]["name"]) if is_call else made

    opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 1)
    importer = Importer(shapes, "float32", keep_params_in_input=False, sanitize=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importer.from_onnx(model.graph, opset)
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        raise UnsupportedError(f"TVM cannot import '{name}': {words}") from None
