"""Quantizes float programs (.pt2) with torchao's PT2E and Arm's quantizer for Ethos-U.

It runs in the environment "torch", as a script that imports nothing of ethosgen (see `scripts.py`
for what the functions take and return).
"""

import copy
import functools
import operator
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec
from executorch.backends.arm.quantizer import (
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from ethosgen.values.errors import InputError

warnings.simplefilter("ignore")

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Answer = tuple[dict[str, Any], dict[str, Array]]

GIVEN = "given.pt2"
"""The float program in the folder: checked by ethosgen, without anything pickled."""
_FIXED_SIZES = "fixed.pt2"
"""The same with the shapes of the calibration data, if the given one leaves sizes open."""
_SAMPLES = "samples.npz"
_NPU = "ethos-u55-128"
"""Arm's quantizer is the same for all; only the delegate that nobody makes here depends on it."""
_SOFTMAX = (torch.ops.aten.softmax.int, torch.ops.aten._softmax.default)
_FIXED = {
    "int8": FixedQParamsQuantizationSpec(torch.int8, 1 / 256, -128, -128, 127),
    "int16": FixedQParamsQuantizationSpec(torch.int16, 1 / 32768, 0, -32768, 32767),
}
"""The type of SOFTMAX's output."""
_LEAST_SCALE = 2**-20
"""Of int16: the smallest range is int8's. Arm's 2**-12 wastes bits of all ranges below 8."""
_ACTIVATIONS = ("relu", "relu_", "clamp", "hardtanh", "hardtanh_", "relu6")


def run(request: Mapping[str, Any], arrays: Arrays, _files: Path) -> Answer:
    """Call several functions in turn; their arrays are named STEP/NAME, and so are the answers'."""
    folder = Path(request["folder"])
    values: list[dict[str, Any]] = []
    outputs: dict[str, Array] = {}
    for number, (function, asked) in enumerate(request["steps"]):
        own = {
            name.partition("/")[2]: array
            for name, array in arrays.items()
            if name.partition("/")[0] == str(number)
        }
        answer, results = _FUNCTIONS[function](asked, own, folder)
        values.append(answer)
        outputs |= {f"{number}/{name}": array for name, array in results.items()}
    return {"values": values}, outputs


def inspect(request: dict[str, Any], _arrays: Arrays, folder: Path) -> Answer:
    """Return inputs and outputs of the program; the size of an open dimension is -1."""
    program = _load(folder / GIVEN)
    if any("quantized_decomposed" in str(node.target) for node in program.graph.nodes):
        raise InputError(f"'{request['source']}' is quantized already; pass its float original")
    nodes = {node.name: node for node in program.graph.nodes}
    signature = program.graph_signature
    ports = [_port(nodes[name]) for name in signature.user_inputs]
    return {"inputs": ports, "outputs": list(map(str, signature.user_outputs))}, {}


def prepare(request: dict[str, Any], _arrays: Arrays, folder: Path) -> Answer:
    """Store the program with fixed shapes; return its layers, after batch norms are folded."""
    _fix_sizes(request, folder)
    return {"layers": [node.name for node in _operators(_prepared(request, folder))]}, {}


def quantize(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Write the quantized program to `folder`."""
    stored: dict[str, Any] = dict(arrays)
    np.savez(folder / _SAMPLES, **stored)
    samples = list(_samples(folder, arrays))
    module = convert_pt2e(_calibrated(request, folder))
    program = torch.export.export(module, samples[0])
    torch.export.save(program, folder / request["output"])
    return {}, {}


def integer_ends(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Let the quantized program take and return integers; return their names."""
    path = folder / request["output"]
    program = _load(path)
    module = program.module(check_guards=False)
    (sample,) = list(_samples(folder, arrays))[:1]
    names = _input_names(folder)
    ports = [node for node in module.graph.nodes if node.op == "placeholder"]
    examples, changed = list(sample), []
    for place, port in enumerate(ports):
        readers = list(port.users)
        if [_kind(node) for node in readers] == ["quantize_per_tensor"]:
            dtype = readers[0].args[-1]
            readers[0].replace_all_uses_with(port)
            module.graph.erase_node(readers[0])
            examples[place] = torch.zeros(sample[place].shape, dtype=dtype)
            changed.append(names[place])
    (last,) = (node for node in module.graph.nodes if node.op == "output")
    for name, node in zip(program.graph_signature.user_outputs, last.all_input_nodes, strict=True):
        if _kind(node) == "dequantize_per_tensor":
            last.replace_input_with(node, node.args[0])
            changed.append(str(name))
    module.graph.eliminate_dead_code()
    module.recompile()
    torch.export.save(torch.export.export(module, tuple(examples)), path)
    return {"ends": changed}, {}


def measure(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return each layer of the quantized program with its signal and noise, summed over samples."""
    reference = _calibrated(request, folder)
    module = convert_pt2e(copy.deepcopy(reference))
    energies = _energies(reference, module, _samples(folder, arrays))
    outputs = [energies[name] for name in _outputs(reference) if name in energies]
    layers = list(_layers(reference, module, energies))
    weights = [_weights_bytes(_load(folder / name)) for name in (GIVEN, request["output"])]
    return {"layers": layers, "outputs": outputs, "weights": weights}, {}


def explore(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return signal and noise of the outputs for each list of layers to keep in float."""
    layers = []
    for trial in request["trials"]:
        reference = _calibrated(request | trial, folder)
        module = convert_pt2e(copy.deepcopy(reference))
        energies = _energies(reference, module, _samples(folder, arrays))
        layers.append([energies[name] for name in _outputs(reference) if name in energies])
    return {"trials": layers}, {}


def answers(request: dict[str, Any], arrays: Arrays, folder: Path) -> Answer:
    """Return the index of the largest element of the only output, for each sample.

    Without an output named in the request, it is the float program that runs.
    """
    path = folder / (request["output"] or GIVEN)
    module = _load(path).module(check_guards=False)
    largest = []
    for sample in _samples(folder, arrays):
        with torch.no_grad():
            result = module(*sample)
        (only,) = torch.utils._pytree.tree_leaves(result)
        largest.append(int(only.argmax()))
    return {}, {"largest": np.array(largest, np.int64)}


_FUNCTIONS = {
    function.__name__: function
    for function in (inspect, prepare, quantize, measure, explore, answers, integer_ends)
}


# ---- the program ---------------------------------------------------------------------------------


def _load(path: Path) -> Any:
    return torch.export.load(path)


def _weights_bytes(program: Any) -> int:
    """Return the size of the constants that operators read, without scales and zero points."""
    nodes = {node.name: node for node in program.graph.nodes}
    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    read = {
        stored
        for name, stored in names.items()
        if any(user.args[:1] == (nodes[name],) or not _rounds(user) for user in nodes[name].users)
    }
    tensors = {**program.constants, **program.state_dict}
    return sum(tensors[name].numel() * tensors[name].element_size() for name in read)


def _rounds(node: Any) -> bool:
    return _kind(node).startswith(("quantize_per", "dequantize_per"))


def _fix_sizes(request: Mapping[str, Any], folder: Path) -> None:
    """Export a program with open sizes again, for the shapes of the calibration data.

    With symbols for sizes the quantizer fails on a transformer ("different device inputs").
    """
    program = _load(folder / GIVEN)
    nodes = {node.name: node for node in program.graph.nodes}
    names = list(map(str, program.graph_signature.user_inputs))
    if all(size >= 0 for name in names for size in _port(nodes[name])[1]):
        return
    shapes = [request["shapes"][name] for name in names]
    examples = tuple(
        torch.zeros(shape, dtype=nodes[name].meta["val"].dtype)
        for name, shape in zip(names, shapes, strict=True)
    )
    try:
        fixed = torch.export.export(program.module(check_guards=False), examples)
    except Exception as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        text = ", ".join(f"'{n}' {tuple(shape)}" for n, shape in zip(names, shapes, strict=True))
        raise InputError(
            f"'{request['source']}' does not run with the shapes of the calibration data ({text}: "
            f"{message}); export it for these shapes, or calibrate with others"
        ) from None
    torch.export.save(fixed, folder / _FIXED_SIZES)


def _float_program(folder: Path) -> Any:
    """Return the program to quantize."""
    fixed = folder / _FIXED_SIZES
    return _load(fixed if fixed.exists() else folder / GIVEN)


def _port(node: Any) -> list[Any]:
    value = node.meta["val"]
    sizes = [size if isinstance(size, int) else -1 for size in value.shape]
    return [node.name, sizes, str(value.dtype).removeprefix("torch.")]


class _Quantizer(EthosUQuantizer):  # type: ignore[misc] # torch is not installed here
    """Arm's quantizer, but SOFTMAX stays whole, with TFLite's fixed output scale.

    Arm decomposes it for TOSA, into seven operators that round seven times.
    """

    def __init__(self, activations: str, keep: Sequence[str], wide: Sequence[str] = ()) -> None:
        super().__init__(EthosUCompileSpec(_NPU))
        self._kept, self._wide = set(keep), set(wide)
        self._config = _config(activations)
        self._output = _FIXED[activations]
        self.set_global(self._config)
        for target in _SOFTMAX:
            self.set_node_target(target, None)
        for name in keep:
            self.set_node_name(name, None)

    def annotate(self, model: Any) -> Any:
        model = super().annotate(model)
        for node in model.graph.nodes:
            if node.target in _SOFTMAX and node.name not in self._kept:
                source = node.all_input_nodes[0]
                node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(
                    input_qspec_map={source: self._config.input_activation},
                    output_qspec=self._output,
                    _annotated=True,
                )
        self._widen(model)
        return model

    def _widen(self, model: Any) -> None:
        """Let the layers that write or read the results of some compute in int16."""
        wide = _config("int16").input_activation
        narrow = (self._config.input_activation, self._config.output_activation)

        def widened(spec: Any) -> Any:
            if spec == self._output:
                return _FIXED["int16"]
            return wide if spec in narrow else spec

        for node in _at_wide_results(model, self._wide):
            about = node.meta.get(Q_ANNOTATION_KEY)
            if about is not None:
                node.meta[Q_ANNOTATION_KEY] = replace(
                    about,
                    input_qspec_map={n: widened(s) for n, s in about.input_qspec_map.items()},
                    output_qspec=widened(about.output_qspec),
                )


def _at_wide_results(model: Any, wide: Collection[str]) -> set[Any]:
    """Return the nodes of some layers and of those that read their results, with activations."""
    chosen: set[Any] = set()
    for node in model.graph.nodes:
        if node.name in wide:
            chain = _with_activations(node)
            chosen.update(chain)
            for reader in chain[-1].users:
                chosen.update(_with_activations(reader))
    return chosen


def _with_activations(node: Any) -> list[Any]:
    """Return a node and the activations that are the only readers in turn."""
    chain = [node]
    while [_kind(reader) in _ACTIVATIONS for reader in chain[-1].users] == [True]:
        chain += chain[-1].users
    return chain


def _config(activations: str) -> Any:
    """Return Arm's configuration; int16 uses its whole range, as in TFLite."""
    if activations == "int8":
        return get_symmetric_quantization_config(is_per_channel=True)
    config = get_symmetric_a16w8_quantization_config(epsilon=_LEAST_SCALE)
    whole = replace(config.input_activation, quant_min=-(1 << 15))
    return replace(config, input_activation=whole, output_activation=whole)


def _prepared(request: Mapping[str, Any], folder: Path) -> Any:
    """Return the float module with observers, which do not change its values."""
    quantizer = _Quantizer(request["activations"], request["keep"], request.get("wide", ()))
    return prepare_pt2e(_float_program(folder).module(check_guards=False), quantizer)


def _calibrated(request: Mapping[str, Any], folder: Path) -> Any:
    """Return the prepared module that has seen all samples of the calibration."""
    module = _prepared(request, folder)
    with np.load(folder / _SAMPLES) as stored, torch.no_grad():
        for sample in _samples(folder, dict(stored)):
            module(*sample)
    return module


@functools.cache
def _input_names(folder: Path) -> tuple[str, ...]:
    return tuple(map(str, _load(folder / GIVEN).graph_signature.user_inputs))


def _samples(folder: Path, arrays: Arrays) -> Iterator[tuple[Any, ...]]:
    """Yield each sample's inputs in the program's order."""
    names = _input_names(folder)
    count = len(next(iter(arrays.values())))
    for number in range(count):
        yield tuple(torch.from_numpy(np.array(arrays[name][number])) for name in names)


# ---- running it ----------------------------------------------------------------------------------


class _Observed(torch.fx.Interpreter):  # type: ignore[misc] # torch is not installed here
    """Keeps the value of each node."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.values: dict[str, Any] = {}

    def run_node(self, n: Any) -> Any:
        self.values[n.name] = result = super().run_node(n)
        return result


def _energies(reference: Any, module: Any, samples: Any) -> dict[str, list[float]]:
    """Return signal and noise by node of the reference, rounded where the module rounds."""
    energies: dict[str, list[float]] = {}
    rounded = _rounded(module)
    for sample in samples:
        runs = [_Observed(program) for program in (reference, module)]
        with torch.no_grad():
            for run in runs:
                run.run(*sample)
        was, now = (run.values for run in runs)
        for node in reference.graph.nodes:
            name = node.name
            pair: list[Any] = [was.get(name), now.get(rounded.get(name, name))]
            if not all(map(_is_real, pair)) or pair[0].shape != pair[1].shape:
                continue
            true, computed = (values.double() for values in pair)
            energy = energies.setdefault(name, [0.0, 0.0])
            energy[0] += float(true.square().sum())
            energy[1] += float((true - computed).square().sum())
    return energies


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _kind(node: Any) -> str:
    """Return the name of a node's operator: conv2d, quantize_per_tensor, add."""
    target = node.target
    return str(getattr(getattr(target, "overloadpacket", target), "__name__", target))


def _rounded(module: Any) -> dict[str, str]:
    """Return, by node, the node that has its value after rounding."""
    rounded: dict[str, str] = {}
    for node in module.graph.nodes:
        for quantizing in node.users:
            if _kind(quantizing).startswith("quantize_per") and quantizing.args[0] is node:
                rounded[node.name] = next(iter(quantizing.users)).name
    return rounded


def _operators(module: Any) -> list[Any]:
    """Return the nodes of a prepared module that compute something."""
    return [
        node
        for node in module.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]


def _outputs(reference: Any) -> list[str]:
    (last,) = (node for node in reference.graph.nodes if node.op == "output")
    return [_source(node).name for node in last.all_input_nodes]


def _source(node: Any) -> Any:
    """Return the node that an observer watches; any other node is its own."""
    while node.op == "call_module" and len(node.all_input_nodes) == 1:
        node = node.all_input_nodes[0]
    return node


def _layers(
    reference: Any, module: Any, energies: Mapping[str, list[float]]
) -> Iterator[dict[str, Any]]:
    """Yield the operators of the float module; a fused activation is not a layer of its own."""
    rounded = _rounded(module)
    fused: set[str] = set()
    nodes = {node.name: node for node in module.graph.nodes}
    readers: dict[str, list[Any]] = {}
    for node in _operators(reference):
        for source in node.all_input_nodes:
            readers.setdefault(_source(source).name, []).append(node)
    for node in _operators(reference):
        if node.name in fused:
            continue
        codes, result = [_kind(node)], node.name
        while result not in rounded and _is_activation(readers.get(result, []), rounded):
            (follower,) = readers[result]
            result = follower.name
            fused.add(result)
            codes.append(_kind(follower))
        if result in energies:
            sources = [_source(source).name for source in node.all_input_nodes]
            is_whole = result in rounded and _reads_integers(nodes.get(node.name))
            yield {
                "name": node.name,
                "operator": " + ".join(codes),
                "dtype": _integer_of(nodes[rounded[result]]) if is_whole else "float32",
                "energy": energies[result],
                "inputs": [energies[source] for source in sources if source in energies],
                "readers": [reader.name for reader in readers.get(result, [])],
            }


def _integer_of(dequantize: Any) -> str:
    """Return the type of the integers that a node reads."""
    (quantize,) = dequantize.all_input_nodes[:1]
    return str(quantize.args[-1]).removeprefix("torch.")


def _is_activation(readers: Sequence[Any], rounded: Mapping[str, str]) -> bool:
    return [_kind(reader) in _ACTIVATIONS and reader.name in rounded for reader in readers] == [
        True
    ]


def _reads_integers(node: Any) -> bool:
    """Return whether all inputs of an operator in the converted module were rounded."""
    if node is None:
        return False
    return all(_kind(source).startswith("dequantize") for source in node.all_input_nodes)
