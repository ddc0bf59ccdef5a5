"""Quantizes float .tflite files with litert-quantizer (once called ai-edge-quantizer).

It runs in a child process, as a script that imports nothing of ethosgen (see `scripts.py` for what
the functions take and return).
"""

import pickle
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ai_edge_litert.tools import flatbuffer_utils
from litert_quantizer import calibrator, quantizer, recipe, recipe_manager
from litert_quantizer.utils import qsv_utils

from ethosgen.values.errors import InputError

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Answer = tuple[dict[str, Any], dict[str, Array]]

_GIVEN = "given.tflite"
_FLOAT = "float.tflite"
_RANGES = "ranges.pickle"
_SIGNATURE = "serving_default"
_LAST = "(.*)"
"""A pattern of everything that is newer than the recipe's own, and so wins over all before it."""
_OPERATORS = {
    number: name for name, number in vars(schema.BuiltinOperator).items() if name[0].isupper()
}


def inspect(request: dict[str, Any], _arrays: Arrays, folder: Path) -> Answer:
    """Return inputs and outputs of the network."""
    data = (folder / _GIVEN).read_bytes()
    graph = _parse(data).subgraphs[0]
    if any(map(_has_scales, graph.tensors)):
        raise InputError(f"'{request['source']}' is quantized already; pass its float original")
    interpreter = Interpreter(model_content=data)
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    return {"inputs": list(map(_port, inputs)), "outputs": list(map(_port, outputs))}, {}


def prepare(_request: dict[str, Any], _arrays: Arrays, folder: Path) -> Answer:
    """Write the network with one signature, which the quantizer needs; return its layers.

    The signature is that of the network's first subgraph, and names its tensors.
    """
    model = _parse((folder / _GIVEN).read_bytes())
    graph = model.subgraphs[0]
    _name_apart(graph)
    for tensor in graph.tensors:
        tensor.quantization = None  # a scale of floats means nothing, but the quantizer uses it
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = _SIGNATURE.encode(), 0
    signature.inputs = [_entry(graph, index) for index in graph.inputs]
    signature.outputs = [_entry(graph, index) for index in graph.outputs]
    model.signatureDefs = [signature]
    content = bytes(flatbuffer_utils.convert_object_to_bytearray(model))
    (folder / _FLOAT).write_bytes(content)
    return {
        "layers": [_name(graph, op.outputs[0]) for op in graph.operators if len(op.outputs)]
    }, {}


def quantize(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Write the quantized network to `folder`; the ranges of the first call are used again."""
    is_wide = request["activations"] == "int16"
    steps = recipe.static_wi8_ai16() if is_wide else recipe.static_wi8_ai8()
    ranges, data = folder / _RANGES, (folder / _FLOAT).read_bytes()
    if not ranges.exists():
        ranges.write_bytes(pickle.dumps(_ranges(data, steps, arrays)))
    for name in _at_wide_results(data, request.get("wide", ())):
        steps = steps + [{**step, "regex": _only(name)} for step in recipe.static_wi8_ai16()]
    worker = quantizer.Quantizer(data, steps)
    if request.get("io") == "float":
        for end in ("INPUT", "OUTPUT"):
            worker.update_quantization_recipe(_LAST, end, algorithm_key="no_quantize")
    for name in request["keep"]:
        worker.update_quantization_recipe(_only(name), "*", algorithm_key="no_quantize")
    quantized = worker.quantize(pickle.loads(ranges.read_bytes()), enable_progress_report=False)
    (folder / request["output"]).write_bytes(quantized.quantized_model)
    return {}, {}


def _only(name: str) -> str:
    """Return the quantizer's pattern of the layer with this result."""
    return f"(^|;){re.escape(name)};"


def _at_wide_results(data: bytes, wide: Collection[str]) -> list[str]:
    """Return the layers that write or read the results of some; these compute in int16."""
    graph = _parse(data).subgraphs[0]
    names = {i: _name(graph, i) for op in graph.operators for i in op.outputs}
    chosen = {index for index, name in names.items() if name in wide}
    at_them = [op for op in graph.operators if chosen & {*op.inputs, *op.outputs}]
    return [names[op.outputs[0]] for op in at_them if len(op.outputs)]


def measure(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return each layer of the quantized network with its signal and noise, summed over samples."""
    data = (folder / request["output"]).read_bytes()
    energies = _energies(folder, data, arrays)
    kinds = {
        _text(t.name): str(np.dtype(_DTYPES[t.type])) for t in _parse(data).subgraphs[0].tensors
    }
    model = _parse((folder / _FLOAT).read_bytes())
    outputs = [_name(model.subgraphs[0], index) for index in model.subgraphs[0].outputs]
    reached = [energies[name] for name in outputs if name in energies]
    return {
        "layers": list(_layers(model, kinds, energies)),
        "outputs": reached,
        "weights": [_weights_bytes(model), _weights_bytes(_parse(data))],
    }, {}


def explore(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return signal and noise of the outputs for each list of layers to keep in float."""
    graph = _parse((folder / _FLOAT).read_bytes()).subgraphs[0]
    outputs = [_name(graph, index) for index in graph.outputs]
    layers = []
    for trial in request["trials"]:
        quantize(request | trial | {"output": "trial.tflite"}, arrays, folder)
        energies = _energies(folder, (folder / "trial.tflite").read_bytes(), arrays)
        layers.append([energies[name] for name in outputs if name in energies])
    return {"trials": layers}, {}


def answers(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return the index of the largest element of the only output, for each sample.

    Without an output named in the request, it is the float network that runs.
    """
    runner = _Runner((folder / (request["output"] or _FLOAT)).read_bytes())
    largest = [int(np.argmax(runner.outputs(sample)[0])) for sample in _samples(arrays)]
    return {}, {"largest": np.array(largest, np.int64)}


# ---- the network ---------------------------------------------------------------------------------

_DTYPES = {
    schema.TensorType.FLOAT32: "float32",
    schema.TensorType.FLOAT16: "float16",
    schema.TensorType.INT8: "int8",
    schema.TensorType.UINT8: "uint8",
    schema.TensorType.INT16: "int16",
    schema.TensorType.INT32: "int32",
    schema.TensorType.INT64: "int64",
    schema.TensorType.BOOL: "bool",
}


def _parse(data: bytes) -> Any:
    return flatbuffer_utils.read_model_from_bytearray(bytearray(data))


def _has_scales(tensor: Any) -> bool:
    """Return whether a tensor holds quantized integers; a scale of floats has no effect."""
    if _DTYPES.get(tensor.type, "int4") in ("float32", "float16") or tensor.quantization is None:
        return False
    return tensor.quantization.scale is not None and len(tensor.quantization.scale) > 0


def _weights_bytes(model: Any) -> int:
    """Return the size of all constants; each buffer counts once."""
    used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    stored = (model.buffers[index].data for index in used)
    return sum(len(data) for data in stored if data is not None)


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _name(graph: Any, index: int) -> str:
    return _text(graph.tensors[index].name)


def _name_apart(graph: Any) -> None:
    """Give each tensor a name of its own: the quantizer knows tensors by their names."""
    seen: set[str] = set()
    for index, tensor in enumerate(graph.tensors):
        name = _text(tensor.name)
        while not name or name in seen:
            name = f"{name or 'tensor'}_{index}"
        seen.add(name)
        tensor.name = name.encode()


def _entry(graph: Any, index: int) -> Any:
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = graph.tensors[index].name, index
    return entry


def _port(detail: Mapping[str, Any]) -> list[Any]:
    return [detail["name"], [int(d) for d in detail["shape"]], str(np.dtype(detail["dtype"]))]


def _layers(
    model: Any, kinds: Mapping[str, str], energies: Mapping[str, list[float]]
) -> Iterator[dict[str, Any]]:
    """Yield the operators of the float network whose first output holds floats."""
    graph = model.subgraphs[0]
    for op in graph.operators:
        name = _name(graph, op.outputs[0]) if len(op.outputs) else ""
        if name not in energies:
            continue
        code = flatbuffer_utils.get_builtin_code_from_operator_code(
            model.operatorCodes[op.opcodeIndex]
        )
        sources = [_name(graph, index) for index in op.inputs if index >= 0]
        yield {
            "name": name,
            "operator": _OPERATORS.get(code, str(code)),
            "dtype": kinds.get(name, "float32"),
            "energy": energies[name],
            "inputs": [energies[source] for source in sources if source in energies],
            "readers": [
                _name(graph, reader.outputs[0])
                for reader in graph.operators
                if op.outputs[0] in reader.inputs and len(reader.outputs)
            ],
        }


def _ranges(data: bytes, steps: Any, arrays: Arrays) -> Any:
    """Return the lowest and highest value of each tensor.

    By default the quantizer would average them over samples, so that outliers saturate.
    """
    manager = recipe_manager.RecipeManager()
    manager.load_quantization_recipe(steps)
    calibration = calibrator.Calibrator(data, qsv_update_func=qsv_utils.min_max_update)
    calibration.calibrate({_SIGNATURE: list(_samples(arrays))}, manager)
    return calibration.get_model_qsvs()


# ---- running it ----------------------------------------------------------------------------------


def _samples(arrays: Arrays) -> Iterator[dict[str, Array]]:
    count = len(next(iter(arrays.values())))
    return ({name: array[i] for name, array in arrays.items()} for i in range(count))


class _Runner:
    """Runs a network with LiteRT's own kernels, and gives each value as floats."""

    def __init__(self, data: bytes) -> None:
        self._interpreter = Interpreter(
            model_content=data,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=True,
        )
        self._interpreter.allocate_tensors()
        graph = _parse(data).subgraphs[0]
        written = {*graph.inputs, *(index for op in graph.operators for index in op.outputs)}
        details = self._interpreter.get_tensor_details()
        self._written = [d for d in details if d["index"] in written and _is_real(d)]

    def outputs(self, sample: dict[str, Array]) -> list[Array]:
        """Run a sample and return the outputs."""
        self._run(sample)
        return [self._value(detail) for detail in self._interpreter.get_output_details()]

    def values(self, sample: dict[str, Array]) -> dict[str, Array]:
        """Run a sample and return every tensor of floats or quantized integers, by name."""
        self._run(sample)
        return {detail["name"]: self._value(detail) for detail in self._written}

    def _run(self, sample: dict[str, Array]) -> None:
        for detail in self._interpreter.get_input_details():
            array = sample[detail["name"]]
            if _is_quantized(detail):
                array = _quantized(array, detail)
            self._interpreter.set_tensor(detail["index"], array)
        self._interpreter.invoke()

    def _value(self, detail: Mapping[str, Any]) -> Array:
        array = self._interpreter.get_tensor(detail["index"])
        if not _is_quantized(detail):
            return np.asarray(array)
        scale, zero = detail["quantization"]
        return np.asarray((array.astype(np.float64) - zero) * scale)


def _is_quantized(detail: Mapping[str, Any]) -> bool:
    return bool(detail["quantization"][0] != 0 and detail["dtype"] is not np.float32)


def _is_real(detail: Mapping[str, Any]) -> bool:
    return bool(detail["dtype"] is np.float32 or _is_quantized(detail))


def _quantized(array: Array, detail: Mapping[str, Any]) -> Array:
    scale, zero = detail["quantization"]
    limits = np.iinfo(detail["dtype"])
    values = np.rint(np.asarray(array, np.float64) / scale) + zero
    return np.asarray(np.clip(values, limits.min, limits.max).astype(detail["dtype"]))


def _energies(folder: Path, data: bytes, arrays: Arrays) -> dict[str, list[float]]:
    """Return signal and noise by tensor of the float network, for those in both networks."""
    energies: dict[str, list[float]] = {}
    runners = [_Runner((folder / _FLOAT).read_bytes()), _Runner(data)]
    for sample in _samples(arrays):
        was, now = (runner.values(sample) for runner in runners)
        for name in was.keys() & now.keys():
            energy = energies.setdefault(name, [0.0, 0.0])
            true = np.asarray(was[name], np.float64)
            energy[0] += float(np.sum(true**2))
            energy[1] += float(np.sum((true - now[name]) ** 2))
    return energies
