"""Reads an ONNX file through TVM's importer."""

from collections.abc import Sequence
from typing import Any

from ethosgen.frontend.relax import import_module
from ethosgen.frontend.shapes import fixed_shapes
from ethosgen.host.extras import EXTRAS
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.source import CHANNELS_LAST, Source


def read_network(source: Source) -> Network:
    """Read a file; InputError if it is damaged, UnsupportedError for operators without a form."""
    model = _parsed(source)
    constants = {initializer.name for initializer in model.graph.initializer}
    inputs = [port for port in model.graph.input if port.name not in constants]
    names = [port.name for port in inputs]
    _check_sizes([*inputs, *model.graph.output], source.name)
    sizes = {port.name: tuple(map(_size, port.type.tensor_type.shape.dim)) for port in inputs}
    from ethosgen.frontend.onnx.importer import imported

    module = imported(model, source.name, fixed_shapes(sizes, source))
    outputs = [port.name for port in model.graph.output]
    is_last = source.options.input_layout == CHANNELS_LAST
    graph, in_float = import_module(module, "main", names, outputs, channels_last=is_last)
    return Network(source.name.rsplit(".", 1)[0], (graph,), source=source, in_float=in_float)


def _parsed(source: Source) -> Any:
    EXTRAS["onnx"].require("reading .onnx files", "onnx")
    import onnx

    try:
        model = onnx.load_model_from_string(source.data)
        _check_scope(model, source.name, onnx.defs.onnx_opset_version())
        _check_shapes(model, source.name)
        onnx.checker.check_model(model)
    except InputError:
        raise
    except Exception as error:
        first = " ".join(str(error).split())[:200]
        raise InputError(f"'{source.name}' is not a valid ONNX file: {first}") from None
    from ethosgen.frontend.onnx.integers import in_plain_operators

    in_plain_operators(model)
    for node in model.graph.node:
        if node.output:
            node.name = node.output[0]  # the importer names variables after it
    return model


def _check_scope(model: Any, name: str, newest: int) -> None:
    """Refuse a file that is one of several, and operators newer than the installed onnx."""
    for constant in model.graph.initializer:
        for entry in constant.external_data:
            if entry.key == "location":
                raise InputError(
                    f"'{name}' keeps '{constant.name}' in the external file '{entry.value[:80]}'; "
                    "save all in one file: onnx.save_model(onnx.load(PATH), ONE_FILE)"
                )
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version > newest:
            raise UnsupportedError(
                f"'{name}' has opset {opset.version}; the installed onnx knows up to {newest}: "
                "export the network with an older one"
            )


def _check_shapes(model: Any, name: str) -> None:
    """Refuse inputs and outputs without a shape, whose names onnx's own checker does not report."""
    for kind, tensors in (("input", model.graph.input), ("output", model.graph.output)):
        for tensor in tensors:
            typed = tensor.type.tensor_type
            if tensor.type.HasField("tensor_type") and not typed.HasField("shape"):
                raise InputError(
                    f"'{name}': {kind} '{tensor.name}' has no shape; add it, for example with "
                    "onnx.shape_inference.infer_shapes, and save the network again"
                )


def _check_sizes(ports: Sequence[Any], name: str) -> None:
    """Refuse tensors without elements, which onnx allows."""
    for port in ports:
        sizes = port.type.tensor_type.shape.dim
        if any(size.HasField("dim_value") and size.dim_value == 0 for size in sizes):
            raise UnsupportedError(f"'{name}': '{port.name}' has an axis of size 0, so no elements")


def _size(dimension: Any) -> int | str:
    """Return a dimension's size, or its symbol if it is open."""
    if dimension.HasField("dim_value") and dimension.dim_value > 0:
        return int(dimension.dim_value)
    return str(dimension.dim_param) or "?"
