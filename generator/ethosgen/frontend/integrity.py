"""Checks that a network is consistent, so that later stages need not check it."""

from collections.abc import Mapping

from ethosgen.values.dialect import CUSTOM, WITH_MAP
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import ABSENT, HANDLE, Network, Operator


def check(network: Network) -> None:
    """Refuse a network without outputs, with dynamic shapes, or with reads before writes.

    A custom operator that the dialect does not declare, such as that of a compiled network, may
    read memories that nothing writes; its backend checks them by `check_dataflow`.

    Raises InputError if the file is damaged or has nothing to run, UnsupportedError for shapes,
    inputs and outputs that no firmware can have.
    """
    _check_ends(network)
    _refuse_dynamic(network)
    _refuse_zero_scales(network)
    _refuse_computed_shapes(network)
    _refuse_changed_shapes(network)
    check_dataflow(network)


_SHAPE_OPERANDS = {"BROADCAST_TO": 1, "EXPAND_DIMS": 1, "FILL": 0, "TILE": 1, "TOPK_V2": 1}
"""Operators whose output's shape follows from the value of an operand."""


def _refuse_computed_shapes(network: Network) -> None:
    """Refuse a shape that follows from an input: a firmware's buffers have fixed sizes."""
    graph = network.graph
    for operator in graph.operators:
        place = _SHAPE_OPERANDS.get(operator.code)
        if place is None or len(operator.inputs) <= place:
            continue
        if operator.inputs[place] in graph.inputs:
            raise UnsupportedError(
                f"'{network.name}': {operator.code} makes '{graph.output_name(operator)}', whose "
                f"shape follows from the input '{graph.tensors[operator.inputs[place]].name}'; "
                "convert the network again with this input as a constant"
            )


def _refuse_changed_shapes(network: Network) -> None:
    """Refuse a loop whose values change their shapes: each has one buffer."""
    for graph in network.graphs:
        for operator in graph.operators:
            if operator.code != "WHILE":
                continue
            for before, after in zip(operator.inputs, operator.outputs, strict=False):
                first, last = graph.tensors[before], graph.tensors[after]
                if first.shape != last.shape:
                    raise UnsupportedError(
                        f"'{network.name}': WHILE makes '{last.name}' of shape {list(last.shape)} "
                        f"from '{first.name}' of shape {list(first.shape)}; convert the network "
                        "again with fixed shapes"
                    )


def _check_ends(network: Network) -> None:
    if not network.outputs:
        raise InputError(f"'{network.name}' has no outputs: there is nothing to run")
    if not network.graph.operators:
        raise InputError(f"'{network.name}' has no operators: there is nothing to run")


_DIVIDING = frozenset(
    "ADD AVERAGE_POOL_2D BATCH_MATMUL CONV_2D DEPTHWISE_CONV_2D DIV ELU EXP FULLY_CONNECTED "
    "HARD_SWISH L2_NORMALIZATION LEAKY_RELU LOGISTIC LOG MEAN MUL PRELU QUANTIZE RELU RELU6 "
    "RELU_N1_TO_1 RSQRT SOFTMAX SQUARED_DIFFERENCE SUB SUM TANH TRANSPOSE_CONV".split()
)
"""Operators on integers that compute with the reciprocal of their output's scale."""


def _refuse_zero_scales(network: Network) -> None:
    """Refuse outputs with a scale of 0 by which an interpreter would divide; moves allow it."""
    for graph in network.graphs:
        for operator in graph.operators:
            for tensor in (graph.tensors[i] for i in operator.outputs if i != ABSENT):
                known = tensor.quantization
                if operator.code in _DIVIDING and known and 0 in known.scale:
                    raise InputError(
                        f"'{network.name}': {operator.code} makes '{tensor.name}', whose scale is "
                        "0, and would divide by it; quantize the network again with samples for "
                        "which this tensor is not constant"
                    )


def _refuse_dynamic(network: Network) -> None:
    for graph in network.graphs:
        for tensor in graph.tensors:
            if -1 in tensor.shape:
                shape = ["?" if size < 0 else size for size in tensor.shape]
                raise UnsupportedError(
                    f"tensor '{tensor.name}' of '{network.name}' has a dynamic shape "
                    f"[{', '.join(map(str, shape))}]; convert the network again with a fixed input "
                    "shape (a tf.function with a full input_signature, or "
                    "interpreter.resize_tensor_input)"
                )
    for tensor in (*network.inputs, *network.outputs):
        if tensor.dtype == HANDLE:
            raise UnsupportedError(
                f"tensor '{tensor.name}' of '{network.name}' is a variable's handle; convert the "
                "network again with the variable's value as input or output"
            )
        if not tensor.elements:
            raise UnsupportedError(
                f"tensor '{tensor.name}' of '{network.name}' has no elements (shape "
                f"{list(tensor.shape)}); convert the network again with a fixed input shape"
            )


def check_dataflow(network: Network, memories: Mapping[str, int] | None = None) -> None:
    """Refuse a graph in which an operator reads a tensor that nothing has written yet.

    TFLite's interpreters run operators in the file's order and do not check. `memories` has, for
    each custom operator that a backend knows, the number of its first inputs that nothing writes.
    Raises InputError.
    """
    for graph in network.graphs:
        ready = set(graph.inputs) | {
            tensor.index
            for tensor in graph.tensors
            if tensor.data is not None or tensor.is_variable or not tensor.elements
        }
        fixed = {tensor.index for tensor in graph.tensors if tensor.data is not None}
        for operator in graph.operators:
            for index in _tensors_read(operator, memories or {}):
                if index != ABSENT and index not in ready:
                    raise InputError(
                        f"'{network.name}' is damaged: operator {operator.index} ({operator.code}) "
                        f"reads '{graph.tensors[index].name}', which nothing has written before"
                    )
            for index in operator.outputs:
                if index in fixed or index in graph.inputs:
                    raise InputError(
                        f"'{network.name}' is damaged: operator {operator.index} ({operator.code}) "
                        f"writes '{graph.tensors[index].name}', which is a constant or an input"
                    )
            ready.update(operator.outputs)
        for index in graph.outputs:
            if index not in ready:
                name = graph.tensors[index].name
                raise InputError(f"'{network.name}' is damaged: nothing writes its output '{name}'")


def _tensors_read(operator: Operator, memories: Mapping[str, int]) -> tuple[int, ...]:
    """Return the inputs that must have been written before; none if they are unknown."""
    code = operator.custom_code
    if operator.code != CUSTOM or code is None or code in WITH_MAP:
        return operator.inputs
    return operator.inputs[memories[code] :] if code in memories else ()
