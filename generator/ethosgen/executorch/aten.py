"""Programs in ExecuTorch's edge dialect as programs of torch.export, and those as Relax."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantization
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from tvm import relax

from ethosgen.frontend import written
from ethosgen.frontend.relax import import_module
from ethosgen.frontend.torch.converters import Converters
from ethosgen.frontend.torch.importer import (
    held_tensors,
    known_operators,
    with_converters,
)
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network

_COPY = "_clone_dim_order"
_CAST = "_to_dim_order_copy"


def network_of(program: Any, name: str) -> Network:
    """Return a quantized program in either dialect as a network, stored as a .tflite file.

    Inputs have the program's names, outputs are output_0 and so on. UnsupportedError for an
    operator without a form.
    """
    plain = known_operators(as_aten(program))
    module, _ = relax_of(plain)
    signature = plain.graph_signature
    outputs = [f"output_{number}" for number in range(len(signature.user_outputs))]
    graph, in_float = import_module(module, "main", list(signature.user_inputs), outputs)
    network = Network(name, (graph,), in_float=in_float)
    return Network(name, (graph,), source=written(network), in_float=in_float)


def relax_of(program: Any) -> tuple[Any, Mapping[str, str]]:
    """Return a program as a Relax module, and the node of each variable, by names.

    An operator that TVM does not know becomes a call without a meaning.
    """
    converters = Converters(held_tensors(program))
    known = converters.by_name()
    called = [node.target.__name__ for node in program.graph.nodes if node.op == "call_function"]
    module = with_converters(program, {**dict.fromkeys(called, _opaque), **known})
    return module, converters.nodes


class Values:
    """The weights of programs: ExecuTorch shows partitioners a program without their values.

    It does show them with values before it decomposes their operators.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def keep(self, program: Any) -> None:
        """Keep the values of a program in aten's dialect."""
        self._known.update(program.state_dict)

    def given_to(self, program: Any) -> Any:
        """Return a copy of a program with its values; InputError if none are known.

        A weight that the program did not have before is zero.
        """
        if not self._known and program.state_dict:
            raise InputError(
                "the partitioner has not seen the weights: pass it to to_edge_transform_and_lower, "
                "not to to_backend"
            )
        return _exported(
            _copied(program),
            program,
            {name: self._of(name, value) for name, value in program.state_dict.items()},
            program.constants,
        )

    def _of(self, name: str, value: Any) -> Any:
        known = self._known.get(name)
        if known is not None and (known.shape, known.dtype) == (value.shape, value.dtype):
            return known
        return torch.zeros(tuple(value.shape), dtype=value.dtype)


def is_edge(program: Any) -> bool:
    """Return whether a program is in the edge dialect."""
    return any(isinstance(node.target, EdgeOpOverload) for node in program.graph.nodes)


def as_aten(program: Any) -> Any:
    """Return a copy of a program, with aten's operators for those of the edge dialect."""
    module = _copied(program)
    for node in module.graph.nodes:
        if isinstance(node.target, EdgeOpOverload):
            _replace(node)
    module.recompile()
    return _exported(module, program, program.state_dict, program.constants, [Verifier])


def _copied(program: Any) -> Any:
    """Return a copy of a program's module; copying alone renames nodes such as "input"."""
    module = copy.deepcopy(program.graph_module)
    for old, new in zip(program.graph.nodes, module.graph.nodes, strict=True):
        new.name = old.name
        if new.meta.get("tensor_meta") is None:
            new.meta.pop("tensor_meta", None)  # TVM reads it, and else "val"
    return module


def _exported(
    module: Any, like: Any, state: Any, constants: Any, verifiers: list[Any] | None = None
) -> Any:
    """Return a program with the signature of another one."""
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=copy.deepcopy(like.graph_signature),
        state_dict=state,
        range_constraints=copy.deepcopy(like.range_constraints),
        module_call_graph=copy.deepcopy(like.module_call_graph),
        constants=constants,
        verifiers=verifiers or [like.verifier],
    )


def _replace(node: Any) -> None:
    """Give a node aten's operator; copies in another order of dimensions are plain copies."""
    name = node.target._op.__name__.partition(".")[0]
    if name == _COPY:
        node.target, node.kwargs = torch.ops.aten.clone.default, {}
    elif name == _CAST:
        dtype = node.kwargs.get("dtype") or node.meta["val"].dtype
        node.target, node.kwargs = torch.ops.aten._to_copy.default, {"dtype": dtype}
    else:
        node.target = node.target._op


def _opaque(node: Any, importer: Any) -> Any:
    """Convert a node of an unknown operator to a call that no pattern matches."""
    value = node.meta["val"]
    kinds = [_type(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
    inputs = [importer.env[source] for source in node.all_input_nodes if source in importer.env]
    kind = kinds[0] if not isinstance(value, (list, tuple)) else relax.TupleType(kinds)
    call = relax.call_pure_packed(str(node.target), *inputs, ty_args=[kind])
    return importer.block_builder.emit(call, node.name)


def _type(value: Any) -> Any:
    return relax.TensorType(tuple(map(int, value.shape)), str(value.dtype).removeprefix("torch."))
