"""What is measured of each front end: its operators, and whole networks.

A front end adds a `Suite` to SUITES: a function that yields the figures of its operators, one that
yields those of whole networks. Libraries are imported where they are used: each suite can be
measured where its runtime is installed.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.products import products

if TYPE_CHECKING:
    from ethosgen.values.fidelity import Fidelity
    from ethosgen.values.plan import Plan
    from tests.support.tosa_rows import U85Row
    from tests.support.trials import Trial

Figures = dict[str, Any]
"""JSON; what a format has no figure of is None or left out."""
Measure = Callable[[], Iterator[Figures]]

MOBILENET, DS_CNN, RESNET = "MobileNetV2", "DS-CNN", "ResNet-8"
CODER, TRANSFORMER, GRU = "autoencoder", "transformer block", "GRU cell"
LSTM, UNROLLED = "LSTM", "LSTM, unrolled"


@dataclass(frozen=True)
class Suite:
    """What is measured of one front end; `about` is a paragraph for the page.

    `fewer` says, by network and type, why fewer of its operators are on the NPU than of the same
    network as .tflite, apart from those at float ends.
    """

    title: str
    runtime: str
    about: str
    operators: Measure
    networks: Measure
    fewer: dict[tuple[str, str], str]


# ---- figures -------------------------------------------------------------------------------------


def figures(trial: "Trial", setting: str, known: str = "") -> Figures:
    """Return a trial as JSON; `known` is the cause of differences above one step."""
    return {
        "name": trial.name,
        "setting": setting,
        "mismatches": trial.npu + (trial.cpu or 0),
        "oracle": trial.oracle,
        "known": known,
        **_of_fidelity(trial.fidelity),
        "elements": trial.elements,
        **_of_plan(trial.plan),
    }


def _of_fidelity(fidelity: "Fidelity") -> Figures:
    if fidelity.skipped:
        return {}
    return {
        "elements": fidelity.elements,
        "equal": fidelity.equal,
        "by_one": fidelity.by_one,
        "most": round(fidelity.most_steps, 1),
        "rows": fidelity.rows,
        "same_largest": fidelity.same_largest + fidelity.close_largest,
    }


def _of_plan(plan: "Plan") -> Figures:
    graph = plan.network.graph
    chosen = [graph.operators[i] for partition in plan.partitions for i in partition.operators]
    whole = products(graph, graph.operators)
    return {
        "on_npu": len(chosen),
        "operators": len(graph.operators),
        "on_cpu": sorted({operator.code.removeprefix("TOSA_") for operator in plan.cpu_operators}),
        "share": products(graph, chosen) / whole if whole else None,
    }


def _twin(data: bytes) -> Figures:
    """Return the figures of the same network as .tflite."""
    from ethosgen.frontend.tflite.reader import parse_network
    from tests.support.trials import NPU, plan_for

    return {"twin": _of_plan(plan_for(parse_network(data, "twin"), NPU))}


# ---- ONNX ----------------------------------------------------------------------------------------


def _onnx_operators() -> Iterator[Figures]:
    from tests.support.onnx_operators import ROWS
    from tests.support.onnx_trials import KNOWN, row_trial, settings_of

    for name in ROWS:
        for setting in settings_of(name):
            with tempfile.TemporaryDirectory() as folder:
                trial = row_trial(name, setting, Path(folder))
            yield figures(trial, setting, KNOWN.get((name, setting), (0, ""))[1])


def _onnx_networks() -> Iterator[Figures]:
    from tests.support import tflite_twins as twins
    from tests.support.onnx_files import NETWORKS
    from tests.support.onnx_trials import KNOWN, network_trial, optimized

    same = {
        MOBILENET: twins.mobilenet_v2(32, 0.35, 100),
        DS_CNN: twins.ds_cnn(),
        RESNET: twins.resnet_8(),
        CODER: twins.autoencoder(),
        TRANSFORMER: twins.transformer(16, 32, 4, norm_first=True),
        LSTM: twins.lstm(8, 10, 16),
        UNROLLED: twins.lstm(8, 10, 16),
        GRU: twins.gru_cell(10, 16),
    }
    for name in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            trial = network_trial(name, Path(folder))
        ours, own = optimized(trial)
        yield {
            **figures(trial, "int8", KNOWN.get((name, "int8"), (0, ""))[1]),
            **_twin(same[name]),
            "optimized": _of_fidelity(ours),
            "optimized_own": _of_fidelity(own),
        }


# ---- PyTorch -------------------------------------------------------------------------------------

_TORCH_NETWORKS = {
    "mobilenet_v2": MOBILENET,
    "ds_cnn": DS_CNN,
    "resnet_8": RESNET,
    "autoencoder": CODER,
    "transformer": TRANSFORMER,
    "lstm": LSTM,
}


def _torch_twin(name: str) -> Figures:
    from tests.support import tflite_twins as twins

    files: dict[str, Callable[[], bytes]] = {
        MOBILENET: lambda: twins.mobilenet_v2(96, 1, 1000),
        DS_CNN: twins.ds_cnn,
        RESNET: lambda: twins.resnet_8(softmax=True),
        CODER: twins.autoencoder,
        TRANSFORMER: lambda: twins.transformer(16, 32, 4, norm_first=False),
        LSTM: lambda: twins.lstm(6, 8, 16),
    }
    return _twin(files[name]())


XNNPACKS = "int8, XNNPACK's"
_QUANTIZERS = {"ethosu": "int8", "xnnpack": XNNPACKS, "ethosu16": "int16"}


def _torch_operators() -> Iterator[Figures]:
    from tests.support.torch_rows import CONVOLUTIONS, IN_SIXTEEN_BITS, KNOWN, OTHERS
    from tests.support.torch_rows import XNNPACKS as IN_XNNPACK
    from tests.support.torch_rows import rows as torch_rows

    wanted = {
        "ethosu": [*CONVOLUTIONS, *OTHERS],
        "xnnpack": IN_XNNPACK,
        "ethosu16": IN_SIXTEEN_BITS,
    }
    for kind, names in wanted.items():
        for row in torch_rows(kind, names, alone=True):
            yield figures(row.trial, _QUANTIZERS[kind], KNOWN.get((row.name, kind), ""))


def _torch_networks() -> Iterator[Figures]:
    from tests.support.torch_rows import KNOWN, NETWORKS
    from tests.support.torch_rows import rows as torch_rows

    for kind, names in NETWORKS.items():
        for row in torch_rows(kind, names, alone=True):
            name = _TORCH_NETWORKS[row.name]
            measured = figures(row.trial, _QUANTIZERS[kind], KNOWN.get((row.name, kind), ""))
            yield {**measured, "name": name, **_torch_twin(name)}


CONVERTER = "int8, converter's"


# ---- TOSA ----------------------------------------------------------------------------------------


def _tosa_operators() -> Iterator[Figures]:
    from tests.support.tosa_cases import CASES
    from tests.support.tosa_rows import operator_row

    for name in CASES:
        row = operator_row(name)
        yield figures(row.trial, "") | u85_figures(row.u85)


def u85_figures(row: "U85Row") -> Figures:
    """Return a U85 row's figures, for the page."""
    return {
        "on_u85": row.operators,
        "u85_elements": row.elements,
        "u85_mismatches": row.mismatches,
        "u85_undefined": row.undefined,
    }


def _tosa_networks() -> Iterator[Figures]:
    from dataclasses import replace

    from ethosgen.values.fidelity import Fidelity
    from tests.support.tosa_files import CONVERTED, NETWORKS
    from tests.support.tosa_rows import on_u85
    from tests.support.tosa_trials import converted_trial, exported_trial

    for title, (_, kind) in NETWORKS.items():
        trial, name = exported_trial(title), title.removesuffix(" in int16")
        more = {"name": name, "on_u85": on_u85(trial.plan.network), **_torch_twin(name)}
        yield figures(trial, f"{kind}, ExecuTorch's") | more
    for title, build in CONVERTED.items():
        trial = replace(converted_trial(title), fidelity=Fidelity("", skipped="it is the oracle"))
        more = {"on_u85": on_u85(trial.plan.network), **_twin(build())}
        yield figures(trial, CONVERTER) | more


# ---- ExecuTorch ----------------------------------------------------------------------------------


def _programs(names: list[str]) -> Iterator[Figures]:
    """Export and measure programs whose names are "KIND-NAME"."""
    from ethosgen.values.errors import UnsupportedError
    from tests.support.pte_rows import export, row

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        export(folder, names)
        for wanted in names:
            kind, _, name = wanted.partition("-")
            named: Figures = {"name": name, "setting": _QUANTIZERS[kind]}
            try:
                measured = row(folder, wanted)
            except UnsupportedError as error:
                if "has no Ethos-U delegate" not in str(error):
                    raise
                yield {**named, "refused": "ExecuTorch delegates none of it"}
                continue
            graph = measured.plan.network.graph
            yield {
                **named,
                **_of_fidelity(measured.fidelity),
                "mismatches": measured.differing,
                "known": "",
                "operations": measured.plan.npu_operations,
                "partitions": len(measured.plan.partitions),
                "on_cpu": sorted({operator.code for operator in measured.plan.cpu_operators}),
                "share": None if products(graph, graph.operators) else 1.0,
            }


def _pte_operators() -> Iterator[Figures]:
    from tests.support.torch_rows import CONVOLUTIONS, IN_SIXTEEN_BITS, OTHERS

    names = [f"ethosu-{name}" for name in (*CONVOLUTIONS, *OTHERS)]
    yield from _programs([*names, *(f"ethosu16-{name}" for name in IN_SIXTEEN_BITS)])


def _pte_networks() -> Iterator[Figures]:
    for measured in _programs([f"ethosu-{name}" for name in _TORCH_NETWORKS]):
        name = _TORCH_NETWORKS[measured["name"]]
        yield {**measured, "name": name, **_torch_twin(name)}


# ---- all -----------------------------------------------------------------------------------------

_NORMS = "has no layer norm in integers: its mean and root stay in float"
_SUMS = (
    "Arm's quantizer writes softmax as its steps: the quotient is in float, and Vela rounds SUM "
    "once, TensorFlow Lite Micro twice (erratum sum-rounding)"
)
SUITES: list[Suite] = [
    Suite(
        "ONNX",
        "ONNX Runtime",
        "Networks in QDQ form, quantized by onnxruntime's quantize_static. Weights are int8 per "
        "channel unless the row says otherwise; several shapes a row. ONNX Runtime runs without "
        "graph optimizations: they round once more or less than the file says.",
        _onnx_operators,
        _onnx_networks,
        {
            (TRANSFORMER, "int8"): f"onnxruntime's quantizer {_NORMS}",
            (
                LSTM,
                "int8",
            ): "onnxruntime's quantizer leaves the operator LSTM in float; see it unrolled",
            (
                UNROLLED,
                "int8",
            ): "TensorFlow Lite Micro and Vela scale two products otherwise (erratum factor-float)",
        },
    ),
    Suite(
        "PyTorch",
        "PyTorch",
        "Programs of torch.export, saved as .pt2, quantized by PT2E with ExecuTorch's quantizer "
        "for Ethos-U, or that of XNNPACK where the row says so. PyTorch computes the quantized "
        "program in float.",
        _torch_operators,
        _torch_networks,
        {
            (DS_CNN, XNNPACKS): "XNNPACK's quantizer leaves SOFTMAX in float",
            (RESNET, XNNPACKS): "XNNPACK's quantizer leaves AVERAGE_POOL_2D and SOFTMAX in float",
            (DS_CNN, "int8"): _SUMS,
            (RESNET, "int8"): _SUMS,
            (TRANSFORMER, "int8"): f"{_SUMS}; likewise layer norms and their roots",
        },
    ),
    Suite(
        "TOSA",
        "TOSA's reference model",
        "Random instances of each operator of TOSA's integer profile, and whole networks: from "
        "PyTorch, lowered by ExecuTorch, and from .tflite, by Arm's tosa-converter-for-tflite. The "
        "oracle is TOSA's reference model, which is also the format's runtime, so there is no "
        "fidelity beside exactness, except for PyTorch's networks, with torch's outputs. "
        "Outputs are those of the NPU model of Ethos-U55-128 with what "
        "Vela takes for it, and of the CPU alone (`--npu none`). For Ethos-U85 each instance of "
        "an operator is a network of its own: the last columns have the operators that Vela takes, "
        "and the outputs that differ on the model of U85-256. The tests compare the networks "
        "there too (tests/frontend/tosa/test_networks.py).",
        _tosa_operators,
        _tosa_networks,
        dict.fromkeys(
            (("digits", CONVERTER), (TRANSFORMER, CONVERTER)),
            "Vela refuses REDUCE_MAX of int32 on U55, which the converter writes for SOFTMAX",
        ),
    ),
    Suite(
        "ExecuTorch",
        "PyTorch",
        "The same modules as in PyTorch's tables, quantized by ExecuTorch's quantizer for Ethos-U "
        "and lowered by its partitioner for Ethos-U55-128, as .pte. A delegate is compiled, so no "
        "oracle reads the file. Mismatches are with TOSA's reference model on the graph that "
        "ExecuTorch gave to Vela; a program of several delegates has no such graph, and is not "
        "compared. Fidelity is the comparison with torch's own outputs. NPU operations are those "
        "in the command streams.",
        _pte_operators,
        _pte_networks,
        {(RESNET, "int8"): "ExecuTorch's partitioner leaves the average pool to the CPU"},
    ),
]
