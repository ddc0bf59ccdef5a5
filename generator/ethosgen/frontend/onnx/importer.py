"""Imports a parsed ONNX file into Relax."""

import contextlib
import io
import warnings
from typing import Any

from tvm import relax
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter, _get_convert_map

from ethosgen.frontend.onnx import compositions, einsum, recurrent
from ethosgen.frontend.onnx.converters import CONVERTERS, Node
from ethosgen.values.errors import UnsupportedError

DOMAINS = ("", "ai.onnx", "com.microsoft")
"""Domains whose operators TVM's importer knows; com.microsoft is ONNX Runtime's."""
_MICROSOFTS = {"Attention"}
"""Operators that TVM's importer knows from com.microsoft alone; ai.onnx has others of the name."""
_OURS = {
    **CONVERTERS,
    **recurrent.CONVERTERS,
    "Conv": compositions.convolution,
    "Einsum": einsum.einsum,
    "Resize": compositions.resize,
}


def imported(model: Any, name: str, shapes: dict[str, list[int]]) -> Any:
    """Return the module; its variables have the names of the file's tensors."""
    opset = next(
        (imported.version for imported in model.opset_import if imported.domain in ("", "ai.onnx")),
        1,
    )
    importer = _Importer(shapes, "float32", keep_params_in_input=False, sanitize=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importer.from_onnx(model.graph, opset)
    except Exception as error:
        cause = importer.failure or error
        words = " ".join(str(cause).split())[:300]
        if isinstance(cause, (KeyError, IndexError, AttributeError, AssertionError)):
            words = "TVM's importer does not know this form of it"  # their text is not a sentence
        raise UnsupportedError(f"cannot import '{name}'{importer.node}: {words}") from None
    return module


class _Importer(ONNXGraphImporter):  # type: ignore[misc]
    """Binds each node's result to its own variable, which TVM's importer does only later."""

    node = ""
    failure: Exception | None = None

    def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
        name = attrs["tvm_custom"]["name"]
        self.node = f" at '{name}' ({op_name})"
        result = None
        if op_name in _OURS:
            result = _OURS[op_name](Node(self.bb, op_name, list(inputs), attrs, opset))
            result = None if result is None else self.bb.normalize(result)
        if result is None:
            result = super()._convert_operator(op_name, inputs, attrs, opset)
        return self.bb.emit(result, name) if isinstance(result, relax.Call) else result

    def _construct_nodes(self, graph: Any) -> None:
        """Import the nodes; after a failure end the function in order, or TVM warns on stderr."""
        try:
            super()._construct_nodes(graph)
        except Exception as error:
            self.failure = error
            for output in graph.output:
                self._nodes[output.name] = relax.const(0.0)
        else:
            self.node = ""

    def _check_for_unsupported_ops(self, graph: Any) -> None:
        """Refuse operators that neither TVM nor ethosgen converts, with their domain."""
        known = {*_get_convert_map(), *_OURS, "If", "Constant"}
        for node in graph.node:
            is_theirs = node.op_type in _MICROSOFTS and node.domain != "com.microsoft"
            if node.op_type not in known or node.domain not in DOMAINS or is_theirs:
                domain = node.domain or "ai.onnx"
                self.node = f" at '{node.name}'"
                raise UnsupportedError(
                    f"ethosgen does not know the operator {node.op_type} of the domain {domain}"
                )

    def from_onnx(self, graph: Any, opset: int) -> Any:
        """Import a graph."""
        module = super().from_onnx(graph, opset)
        if self.failure is not None:
            raise self.failure
        return module
