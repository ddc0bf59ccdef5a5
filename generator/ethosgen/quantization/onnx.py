"""Quantizes float .onnx files to QDQ form with ONNX Runtime's quantizer.

It runs in a child process, as a script that imports nothing of ethosgen (see `scripts.py` for what
the functions take and return).
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
from onnxruntime.quantization.execution_providers.qnn.mixed_precision_overrides_utils import (
    MixedPrecisionTensorQuantOverridesFixer,
)
from onnxruntime.quantization.qdq_loss_debug import (
    create_activation_matching,
    modify_model_output_intermediate_tensors,
)
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.quantization.tensor_quant_overrides import TensorQuantOverridesHelper
from onnxruntime.tools.onnx_model_utils import make_input_shape_fixed

from ethosgen.values.errors import InputError

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Answer = tuple[dict[str, Any], dict[str, Array]]

_FLOAT = "float.onnx"
_RANGES = "ranges.json"
_SAVED = "_ReshapedSavedOutput"
"""The end of the names of outputs that modify_model_output_intermediate_tensors adds."""
_RENAMED = "_QuantizeLinear_Input"
"""The end of the name that a quantized output of the network has before it is quantized."""
_OLDEST_OPSET = 13
"""The first with quantization by channel."""
_QUANTIZED = {"QuantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"}
_SYMMETRIC = {"symmetric": True}
_ACTIVATIONS = {"Relu", "Clip"}
"""Operators that the quantizer removes if the layer before can saturate instead."""


def inspect(request: dict[str, Any], _arrays: Arrays, _folder: Path) -> Answer:
    """Return inputs and outputs of the network; the size of an open dimension is -1."""
    graph = _load(request["source"]).graph
    constants = {constant.name for constant in graph.initializer}
    ports = [port for port in graph.input if port.name not in constants]
    return {"inputs": list(map(_port, ports)), "outputs": list(map(_port, graph.output))}, {}


def prepare(request: dict[str, Any], _arrays: Arrays, folder: Path) -> Answer:
    """Write the network with fixed shapes and folded constants to `folder`; return its layers."""
    model = _load(request["source"])
    constants = {constant.name for constant in model.graph.initializer}
    for name, shape in request["shapes"].items():
        make_input_shape_fixed(model.graph, name, shape)
    for port in list(model.graph.input):
        if port.name in constants:  # old files list them so
            model.graph.input.remove(port)
    for value in [*model.graph.output, *model.graph.value_info]:
        if any(not dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim):
            value.type.tensor_type.ClearField("shape")  # inferred again from the inputs
    onnx.save(model, folder / "given.onnx")
    model = _preprocessed(folder)
    _name_nodes(model.graph)
    _keep_used_domains(model)
    onnx.save(model, folder / _FLOAT)
    return {"layers": [node.name for node in model.graph.node]}, {}


def quantize(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Write the quantized network to `folder`; the ranges of the first call are used again."""
    is_wide = request["activations"] == "int16"
    overrides = {} if is_wide else _overrides(folder, request.get("wide", ()))
    quantize_static(
        folder / _FLOAT,
        folder / request["output"],
        _CalibrationReader(arrays),
        per_channel=True,
        activation_type=QuantType.QInt16 if is_wide else QuantType.QInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=list(request["keep"]),
        extra_options={
            "ActivationSymmetric": is_wide,
            "WeightSymmetric": True,
            "TensorQuantOverrides": overrides,
            "QDQKeepRemovableActivations": bool(overrides),  # int16 cannot saturate at 0 instead
        },
        calibration_cache_path=folder / _RANGES,
    )
    model = onnx.load(folder / request["output"])
    _fuse_activations(model.graph)
    _keep_used_domains(model)
    onnx.checker.check_model(model)
    onnx.save(model, folder / request["output"])
    return {}, {}


def _overrides(folder: Path, wide: Collection[str]) -> dict[str, Any]:
    """Return the types of tensors that differ if the results of some layers are int16.

    The layers that write or read such a result compute in int16, and convert their other inputs. An
    input of the network is rounded to int16 at once.
    """
    model = onnx.load(folder / _FLOAT)
    readers, inputs = _readers(model.graph), {port.name for port in model.graph.input}
    chosen: dict[str, list[dict[str, Any]]] = {}
    for node in model.graph.node:
        if node.name not in wide:
            continue
        chain = [node]
        while [n.op_type in _ACTIVATIONS for n in readers.get(chain[-1].output[0], [])] == [True]:
            chain.append(readers[chain[-1].output[0]][0])
        names = [n.output[0] for n in chain] + [name for name in node.input if name in inputs]
        chosen |= {name: [{"quant_type": QuantType.QInt16, **_SYMMETRIC}] for name in names}
    if chosen:
        fixed = TensorQuantOverridesHelper(chosen)
        MixedPrecisionTensorQuantOverridesFixer.create_from_model(
            fixed, model, QuantType.QInt8
        ).apply(QuantType.QInt8, False)
        chosen = dict(fixed.get_dict())
    return chosen


def integer_ends(request: dict[str, Any], _arrays: Arrays, folder: Path) -> Answer:
    """Remove QuantizeLinear after the inputs, and DequantizeLinear before the outputs.

    Inputs and outputs keep their names. Return those that changed.
    """
    path = folder / request["output"]
    model = onnx.load(path)
    graph, readers = model.graph, _readers(model.graph)
    kinds = {tensor.name: tensor.data_type for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    changed = []
    for port in graph.input:
        reading = readers.get(port.name, [])
        if [node.op_type for node in reading] == ["QuantizeLinear"]:
            (node,) = reading
            _rename(readers.get(node.output[0], []), node.output[0], port.name)
            changed.append((port, node))
    for port in graph.output:
        node = makers.get(port.name)
        if node is not None and node.op_type == "DequantizeLinear" and not readers.get(port.name):
            maker = makers[node.input[0]]
            others = [other for other in readers[node.input[0]] if other is not node]
            _rename(others, node.input[0], port.name)
            maker.output[[*maker.output].index(node.input[0])] = port.name
            changed.append((port, node))
    for port, node in changed:
        port.type.tensor_type.elem_type = kinds[node.input[2]]
        graph.node.remove(node)
    onnx.save(model, path)
    return {"ends": [port.name for port, _ in changed]}, {}


def _rename(readers: Sequence[Any], old: str, new: str) -> None:
    """Give a tensor another name where nodes read it."""
    for reader in readers:
        for place, name in enumerate(reader.input):
            if name == old:
                reader.input[place] = new


def measure(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return each layer of the quantized network with its signal and noise, summed over samples."""
    energies = _energies(folder, request["output"], arrays)
    outputs = [port.name for port in onnx.load(folder / _FLOAT).graph.output]
    reached = [energies[name] for name in outputs if name in energies]
    return {
        "layers": list(_layers(folder, request, energies)),
        "outputs": reached,
        "weights": [_weights_bytes(folder / name) for name in (_FLOAT, request["output"])],
    }, {}


def explore(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return signal and noise of the outputs for each list of layers to keep in float."""
    outputs = [port.name for port in onnx.load(folder / _FLOAT).graph.output]
    layers = []
    for trial in request["trials"]:
        quantize(request | trial | {"output": "trial.onnx"}, arrays, folder)
        energies = _energies(folder, "trial.onnx", arrays, outputs)
        layers.append([energies[name] for name in outputs if name in energies])
    return {"trials": layers}, {}


def answers(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return the index of the largest element of the only output, for each sample.

    Without an output named in the request, it is the float network that runs.
    """
    session = _session(folder / (request["output"] or _FLOAT))
    largest = [int(np.argmax(session.run(None, sample)[0])) for sample in _samples(arrays)]
    return {}, {"largest": np.array(largest, np.int64)}


# ---- the network ---------------------------------------------------------------------------------


def _load(path: str) -> Any:
    try:
        model = onnx.load(path)
    except FileNotFoundError as error:
        raise InputError(
            f"a file with the constants of '{path}' is missing ({error}); keep both in one folder"
        ) from None
    except Exception as error:
        words = " ".join(str(error).split())
        raise InputError(f"'{path}' is not a valid ONNX file ({words})") from None
    if not model.graph.node:
        raise InputError(f"'{path}' is not a valid ONNX file, or its network has no operators")
    quantized = next(
        (node.op_type for node in model.graph.node if node.op_type in _QUANTIZED), None
    )
    if quantized:
        raise InputError(
            f"'{path}' is quantized already: it has {quantized}; pass its float original"
        )
    return model


def _weights_bytes(path: Path) -> int:
    """Return the size of a network's constants, without scales and zero points."""
    graph = onnx.load(path).graph
    ends = ("QuantizeLinear", "DequantizeLinear")
    scales = {name for n in graph.node if n.op_type in ends for name in n.input[1:]}
    stored = [constant for constant in graph.initializer if constant.name not in scales]
    return sum(onnx.numpy_helper.to_array(constant).nbytes for constant in stored)


def _port(port: Any) -> list[Any]:
    tensor = port.type.tensor_type
    if not tensor.elem_type:
        raise InputError(f"'{port.name}' is not a tensor, which ethosgen does not support")
    shape = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
    return [port.name, shape, str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))]


def _preprocessed(folder: Path) -> Any:
    """Return the network with folded batch norms and constants, in ONNX's own operators only.

    ONNX Runtime's optimizer may fuse operators into its own; then it is left out.
    """
    _convert_if_old(folder / "given.onnx")
    for skip in (False, True):
        path = folder / "preprocessed.onnx"
        quant_pre_process(
            folder / "given.onnx", path, skip_optimization=skip, skip_symbolic_shape=True
        )
        model = onnx.load(path)
        if not any(node.domain not in ("", "ai.onnx") for node in model.graph.node):
            break
    return model


def _name_nodes(graph: Any) -> None:
    """Name each node that has no name of its own after its first output."""
    seen: set[str] = set()
    for node in graph.node:
        if not node.name or node.name in seen:
            node.name = node.output[0]
        seen.add(node.name)


def _convert_if_old(path: Path) -> None:
    model = onnx.load(path)
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if versions and versions[0] < _OLDEST_OPSET:
        onnx.save(onnx.version_converter.convert_version(model, _OLDEST_OPSET), path)


def _keep_used_domains(model: Any) -> None:
    """Remove the declarations of operator sets that ONNX Runtime adds to every file."""
    used = {node.domain for node in model.graph.node} | {""}
    kept = [entry for entry in model.opset_import if entry.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def _fuse_activations(graph: Any) -> None:
    """Remove the rounding between a layer and its activation.

    The quantizer removes the activation instead, but not if the range is symmetric, as in int16.
    """
    readers = _readers(graph)
    makers = {node.output[0]: node for node in graph.node}
    outputs = {port.name for port in graph.output}
    for node in [node for node in graph.node if node.op_type in _ACTIVATIONS]:
        dequantize = makers.get(node.input[0])
        if dequantize is None or dequantize.op_type != "DequantizeLinear":
            continue
        rounding = makers.get(dequantize.input[0])
        if rounding is None:
            continue
        links = (rounding.input[0], rounding.output[0], dequantize.output[0])
        if any(len(readers[name]) > 1 or name in outputs for name in links):
            continue
        if makers.get(links[0]) is None:  # an input of the network
            continue
        node.input[0] = links[0]
        graph.node.remove(rounding)
        graph.node.remove(dequantize)
        if not any(name in outputs for name in node.output):
            _move_before_rounding(graph, node)


def _move_before_rounding(graph: Any, activation: Any) -> None:
    """Let an activation that reads a rounded int16 result act before the rounding.

    Between an int16 result and int8 readers it would compute in float. For Relu both orders give
    the same values, because int16 has the zero point 0; for Clip they may differ by half a step of
    int16, where a limit is not a multiple of one. The written file is the same for every runtime.
    """
    readers = _readers(graph)
    makers = {node.output[0]: node for node in graph.node}
    dequantize = makers[activation.input[0]]
    if dequantize.op_type != "DequantizeLinear" or dequantize.input[0] not in makers:
        return
    rounding = makers[dequantize.input[0]]
    links = (rounding.input[0], rounding.output[0], dequantize.output[0])
    if any(len(readers[name]) > 1 for name in links) or links[0] not in makers:
        return
    _rename(readers[activation.output[0]], activation.output[0], links[2])
    activation.input[0] = links[0]
    rounding.input[0] = activation.output[0]
    graph.node.remove(activation)
    graph.node.insert([*graph.node].index(rounding), activation)


def _readers(graph: Any) -> dict[str, list[Any]]:
    """Return the nodes that read each tensor."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    return readers


# ---- running it ----------------------------------------------------------------------------------


class _CalibrationReader(CalibrationDataReader):  # type: ignore[misc] # onnxruntime has no types
    def __init__(self, arrays: Arrays) -> None:
        self._left = _samples(arrays)

    def get_next(self) -> dict[str, Array] | None:
        return next(self._left, None)


def _samples(arrays: Arrays) -> Iterator[dict[str, Array]]:
    count = len(next(iter(arrays.values())))
    return ({name: array[i] for name, array in arrays.items()} for i in range(count))


def _session(path: Path) -> Any:
    """Return a session that computes QuantizeLinear and DequantizeLinear as ONNX defines them.

    Its optimizer would replace them by integer kernels, which saturate on some processors.
    """
    options = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _energies(
    folder: Path, output: str, arrays: Arrays, wanted: Sequence[str] | None = None
) -> dict[str, list[float]]:
    """Return signal and noise by tensor of the float network, for those in both networks."""
    energies: dict[str, list[float]] = {}
    sessions = [_observed(folder, name) for name in (_FLOAT, output)]
    for sample in _samples(arrays):
        was, now = (_values(session, sample) for session in sessions)
        both = create_activation_matching(now, was)
        pairs = {name: (was[name], now[name]) for name in was if name in now}
        pairs |= {name: (p["float"], p["post_qdq"]) for name, p in both.items() if "float" in p}
        for name, (true, computed) in pairs.items():
            if wanted is None or name in wanted:
                energy = energies.setdefault(name, [0.0, 0.0])
                energy[0] += float(np.sum(np.square(true, dtype=np.float64)))
                energy[1] += float(np.sum(np.square(np.subtract(true, computed, dtype=np.float64))))
    return energies


def _observed(folder: Path, name: str) -> Any:
    """Return a session of a network in `folder` that also outputs every tensor of floats."""
    path = folder / f"observed_{name}"
    modify_model_output_intermediate_tensors(folder / name, path)
    return _session(path)


def _values(session: Any, sample: dict[str, Array]) -> dict[str, Array]:
    values = zip(session.get_outputs(), session.run(None, sample), strict=True)
    return {
        output.name.removesuffix(_SAVED): array
        for output, array in values
        if output.name.endswith(_SAVED)
    }


# ---- layers --------------------------------------------------------------------------------------


def _layers(
    folder: Path, request: dict[str, Any], energies: Mapping[str, list[float]]
) -> Iterator[dict[str, Any]]:
    """Yield the float network's layers; a fused activation is not a layer of its own."""
    graph = onnx.load(folder / _FLOAT).graph
    quantized_graph = onnx.load(folder / request["output"]).graph
    kinds = {constant.name: constant.data_type for constant in quantized_graph.initializer}
    types = {
        node.input[0].removesuffix(_RENAMED): _kind(kinds[node.input[2]])
        for node in quantized_graph.node
        if node.op_type == "QuantizeLinear"
    }
    integers = types.keys()
    whole = _fed_with_integers(quantized_graph, energies)
    readers, fused = _readers(graph), set()
    for node in graph.node:
        if node.output[0] in fused:
            continue
        codes, result = [node.op_type], node.output[0]
        while (follower := _activation(readers.get(result, []), integers)) and (
            result not in integers
        ):
            result = follower.output[0]
            fused.add(result)
            codes.append(follower.op_type)
        if result in energies:
            is_quantized = result in integers and node.name in whole
            yield {
                "name": node.name,
                "operator": " + ".join(codes),
                "dtype": types[result] if is_quantized else "float32",
                "energy": energies[result],
                "inputs": [energies[source] for source in node.input if source in energies],
                "readers": [reader.name for reader in readers.get(result, [])],
            }


def _kind(number: int) -> str:
    return str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)))


def _fed_with_integers(graph: Any, floats: Collection[str]) -> set[str]:
    """Return the nodes of the quantized network whose float inputs all were integers.

    `floats` are the names of activations.
    """
    constants = {c.name for c in graph.initializer if c.data_type == onnx.TensorProto.FLOAT}
    dequantized = {n.output[0] for n in graph.node if n.op_type == "DequantizeLinear"}
    plain = (constants | set(floats)) - dequantized
    return {node.name for node in graph.node if not plain & set(node.input)}


def _activation(readers: Sequence[Any], integers: Collection[str]) -> Any:
    """Return the only reader of a tensor if it is an activation that was quantized."""
    if [reader.op_type in _ACTIVATIONS for reader in readers] != [True]:
        return None
    return readers[0] if readers[0].output[0] in integers else None


logging.getLogger().setLevel(logging.ERROR)  # the quantizer advises this
