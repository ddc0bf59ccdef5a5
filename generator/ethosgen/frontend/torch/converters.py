"""Converters of PyTorch's operators to Relax, besides those that TVM has; for importer.py."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from tvm import relax
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from ethosgen.values.errors import UnsupportedError

_DTYPES = {torch.int8: "int8", torch.uint8: "uint8", torch.int16: "int16", torch.int32: "int32"}
_RANGES = {
    name: (torch.iinfo(dtype).min, torch.iinfo(dtype).max) for dtype, name in _DTYPES.items()
}

Convert = Callable[[Any, Any], Any]
"""Converts a node for an importer of TVM's, and returns the variable."""


class Converters:
    """The converters for one program; `held` has its constants by the names of their nodes.

    Variables are named after nodes; `nodes` has the node of each variable, by names. torch computes
    quantized values that depend on constants alone: such a chain would otherwise be an island
    without an activation.
    """

    def __init__(self, held: Mapping[str, Any]) -> None:
        self.held = dict(held)
        self.nodes: dict[str, str] = {}

    def by_name(self) -> dict[str, Convert]:
        """Return all converters for custom_convert_map."""
        base = {name: partial(_by_tvm, name) for name in _base()}
        copies = {
            name.replace(".", "_copy.", 1): converter
            for name, converter in base.items()
            if "." in name
        }
        known: dict[str, Convert] = {**copies, **base}
        known["amax.default"] = partial(_extreme, relax.op.max)
        known["amin.default"] = partial(_extreme, relax.op.min)
        for variant in ("per_tensor.default", "per_tensor.tensor", "per_channel.default"):
            known[f"quantize_{variant}"] = self._quantize
            known[f"dequantize_{variant}"] = self._dequantize
        return {name: partial(self._named, converter) for name, converter in known.items()}

    def _named(self, convert: Convert, node: Any, importer: Any) -> Any:
        """Convert a node, and give the result the node's name."""
        builder = importer.block_builder

        def emit(expression: Any, name_hint: str = "") -> Any:
            variable = type(builder).emit(builder, expression, name_hint or node.name)
            self.nodes[variable.name] = node.name
            return variable

        builder.emit = emit
        try:
            self._fold(node)
            return convert(node, importer)
        finally:
            del builder.emit

    def _fold(self, node: Any) -> None:
        """Compute a node of constants alone."""
        if all(source.name in self.held for source in node.all_input_nodes):
            arguments = torch.fx.map_arg(node.args, lambda argument: self.held[argument.name])
            keywords = torch.fx.map_arg(node.kwargs, lambda argument: self.held[argument.name])
            with torch.no_grad():
                folded = node.target(*arguments, **keywords)
            if isinstance(folded, torch.Tensor):
                self.held[node.name] = folded

    def _quantize(self, node: Any, importer: Any) -> Any:
        scale, zero_point, axis, dtype = self._quantization(node, is_checked=True)
        if node.name in self.held:
            return relax.const(self.held[node.name].numpy())
        data = importer.env[node.args[0]]
        return importer.block_builder.emit(relax.op.quantize(data, scale, zero_point, axis, dtype))

    def _dequantize(self, node: Any, importer: Any) -> Any:
        scale, zero_point, axis, _ = self._quantization(node, is_checked=False)
        data = importer.env[node.args[0]]
        real = relax.op.dequantize(data, scale, zero_point, axis, "float32")
        return importer.block_builder.emit(real)

    def _quantization(self, node: Any, is_checked: bool) -> tuple[Any, Any, int, str]:
        """Return a node's scale and zero point as constants, its axis and its type.

        If `is_checked`, refuse a range other than the whole type's. It may lack the lowest value,
        as with Arm's quantizer for int16: values that saturate there then differ by one step.
        """
        _, scale, zero_point, *rest = node.args
        axis = rest.pop(0) if "per_channel" in node.target.__name__ else -1
        low, high, dtype = rest[:3]
        name = _DTYPES.get(dtype)
        if name is None:
            raise UnsupportedError(
                f"its node '{node.name}' is quantized to {dtype}; use int8 or int16"
            )
        least, most = _RANGES[name]
        is_whole = low in (least, least + 1) and high == most
        if is_checked and not is_whole and node.name not in self.held:
            raise UnsupportedError(
                f"its node '{node.name}' quantizes to {low}..{high}, not to all of {name}; "
                "quantize activations over the type's whole range"
            )
        scales, zeros = (self._array(node, argument) for argument in (scale, zero_point))
        return relax.const(scales.astype("float32")), relax.const(zeros.astype(name)), axis, name

    def _array(self, node: Any, value: Any) -> Any:
        if isinstance(value, (int, float)):
            return np.array(value)
        if value.name not in self.held:
            raise UnsupportedError(
                f"its node '{node.name}' computes its scale when it runs (dynamic quantization); "
                "quantize activations statically"
            )
        return self.held[value.name].detach().numpy()


def known_names() -> set[str]:
    """Return the names of all operators that can be converted."""
    return set(Converters({}).by_name())


def _base() -> Mapping[str, Any]:
    names: Mapping[str, Any] = ExportedProgramImporter().convert_map
    return names


def _by_tvm(name: str, node: Any, importer: Any) -> Any:
    """Convert with TVM's own converter; the importer's map has ours in its place."""
    return importer.create_convert_map()[name](node)


def _extreme(reduce: Any, node: Any, importer: Any) -> Any:
    """Convert the largest or smallest elements along axes."""
    data, *rest = importer.retrieve_args(node)
    axes = list(rest[0]) if rest and rest[0] else None
    keeps = bool(rest[1]) if len(rest) > 1 else bool(node.kwargs.get("keepdim", False))
    return importer.block_builder.emit(reduce(data, axes, keeps))
