"""Every operator and type of the table once on a Cortex-M, all in one firmware.

Shapes and values are the breadth tests'; here it is the target's own compiler, C library and
instructions (Helium among them) that must give the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethosgen import flow
from ethosgen.aot.operators import LIBRARY_ULP
from ethosgen.aot.registry import code_of, deciding_dtype, registry
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.oracle import LITERT
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.project import open_project
from ethosgen.samples.drawing import random_samples
from ethosgen.targets import run
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.tosa import PREFIX
from ethosgen.values.watch import Watch
from tests.aot import test_detection
from tests.aot.test_operator_breadth import _distance, _is_by_litert
from tests.support import signal_networks, stream_networks
from tests.support.catalogue.bench import Bench
from tests.support.catalogue.cases import CASES
from tests.support.catalogue.layers import LAYERS
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

SEED = 7
PARTS = 3
"""Networks that share the cases, so that none has too many inputs."""

MOVED = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "bool")
"""Types of which bytes are only moved."""
CONTROL = {"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE"}
"""The networks that tests/flow/test_firmware_graphs.py runs on QEMU."""


@dataclass(frozen=True)
class Part:
    """A network of the firmware, one sample, and what the outputs must be, within so many ulp."""

    network: Network
    sample: Arrays
    wanted: Arrays
    ulp: Mapping[str, int]


def _cases(name: str, chosen: Sequence[str], by_litert: bool = False) -> Part:
    """Return a network with one output of each case, drawn from a fixed seed."""
    net = Bench(SEED)
    owners: dict[int, str] = {}
    for case in chosen:
        _, dtype, build = CASES[case]
        owners[int(net.random.choice(list(build(net, dtype))))] = case
    net.keep(list(owners))
    network = parse_network(net.build(*owners), name)
    sample = net.samples(1)[0]
    wanted = LITERT.run(network, [sample]) if by_litert else golden_outputs(network, [sample])
    ulp = {net.tensors[i].name or "": registry()[CASES[case][:2]].ulp for i, case in owners.items()}
    return Part(network, sample, wanted[0], ulp)


def _parts() -> list[Callable[[], Part]]:
    exact = [case for case in CASES if not _is_by_litert(case)]
    others = [case for case in CASES if _is_by_litert(case)]
    return [
        *(lambda i=i: _cases(f"cases_{i}", exact[i::PARTS]) for i in range(PARTS)),
        *(lambda i=i: _cases(f"litert_{i}", others[i::PARTS], True) for i in range(PARTS)),
        _layers,
        _moved,
        _detector,
        _quantized_detector,
        _streams,
        _signals,
    ]


def _layers() -> Part:
    """Layers with weights, pools and softmaxes of each type, recurrent ones."""
    net = NetworkBuilder("layers", seed=SEED)
    outputs = [build(net, t) for t in ("int8", "int16", "float32") for build in LAYERS]
    for dtype in ("int8", "int16", "float32"):
        scale = {"int8": 0.02, "int16": 0.0005}.get(dtype)
        outputs.append(lstm(net, net.input((1, 2, 4), dtype, scale, None), 5))
        kinds = ("AVERAGE_POOL_2D", "MAX_POOL_2D", *(["L2_POOL_2D"] if scale is None else []))
        x = net.input((1, 5, 6, 9), dtype, scale, None)
        outputs += [net._pool(code, x, (3, 2), (2, 1), padding="SAME") for code in kinds]
    outputs.append(svdf(net, net.input((1, 9), scale=0.02), 7, 5))
    outputs.append(svdf(net, net.input((1, 9), "float32", None, 0), 7, 5))
    network = parse_network(net.build(*outputs), "layers")
    sample = random_samples(network, 1, SEED)[0]
    floats = {t.name: LIBRARY_ULP for t in network.outputs if t.dtype == "float32"}
    return Part(network, sample, golden_outputs(network, [sample])[0], floats)


def _moved() -> Part:
    """Operators that give bytes another shape; TFLite Micro has them for few types."""
    net = Bench(SEED)
    moved: dict[int, int] = {}
    for dtype in MOVED:
        x = net.feed((2, 1, 3), dtype)
        for code, shape, more, options in (
            ("RESHAPE", (3, 2), [net.constant([3, 2], "int32")], None),
            ("SQUEEZE", (2, 3), [], {"squeeze_dims": [1]}),
            ("EXPAND_DIMS", (2, 1, 1, 3), [net.constant(np.array(1), "int32")], None),
        ):
            moved[net.make(code, [x, *more], net.to(dtype, shape, x), options)] = x
    network, sample = parse_network(net.build(*moved), "moved"), net.samples(1)[0]
    tensors = net.tensors
    wanted = {
        tensors[y].name or "": sample[tensors[x].name or ""].reshape(tensors[y].shape)
        for y, x in moved.items()
    }
    return Part(network, sample, wanted, {})


def _detector() -> Part:
    network = test_detection.detector(40, 3, 4)
    sample = test_detection.samples_of(network, None)[0]
    ulp = {tensor.name: LIBRARY_ULP for tensor in network.outputs}
    return Part(network, sample, golden_outputs(network, [sample])[0], ulp)


def _quantized_detector() -> Part:
    """Random boxes leave fewer detections than there is room for: LiteRT fills it by chance."""
    network = test_detection.quantized()
    sample = random_samples(network, 1, SEED)[0]
    wanted = LITERT.run(network, [sample])
    kept = int(wanted[0][network.outputs[-1].name].item())
    for tensor in network.outputs[:-1]:
        wanted[0][tensor.name][:, kept:] = 0
    return Part(network, sample, wanted[0], {})


def _streams() -> Part:
    network = stream_networks.network_of(stream_networks.valid_at_once)
    sample = random_samples(network, 1, SEED)[0]
    return Part(network, sample, golden_outputs(network, [sample])[0], {})


def _signals() -> Part:
    network = signal_networks.all_of_them()
    sample = signal_networks.samples_of(network, 1)[0]
    return Part(network, sample, golden_outputs(network, [sample])[0], {})


def _runs(network: Network) -> set[tuple[str, str]]:
    tensors = network.graph.tensors
    return {(code_of(op), deciding_dtype(op, tensors)) for op in network.graph.operators}


@needs_qemu
def test_every_operator_and_type_runs_on_a_cortex_m(tmp_path: Path) -> None:
    parts = [part() for part in _parts()]
    covered = set().union(*(_runs(part.network) for part in parts))
    missing = {
        key
        for key in registry()
        if key[0] not in CONTROL | {"COPY"} and not key[0].startswith(PREFIX)
    } - covered
    assert not missing, f"of `ethosgen ops` no firmware runs {sorted(missing)}"
    files = []
    for number, part in enumerate(parts):
        files.append(tmp_path / f"part_{number}.tflite")
        files[-1].write_bytes(file_of(part.network))
    folder, watch = tmp_path / "firmware", Watch()
    flow.create_project(
        recipe(*files, npu="none", io="caller", check=False),  # each part has an oracle of its own
        directory=folder,
        watch=watch,
    )
    built = flow.build_project(folder, watch=watch)
    samples = [part.sample for part in parts]
    outcome = run(built.elf, open_project(folder), samples, order=range(len(parts)), attach=None)
    assert outcome.ended
    for part, result in zip(parts, outcome.samples, strict=True):
        assert set(result.outputs) == set(part.wanted)
        for name, wanted in part.wanted.items():
            far = _distance(result.outputs[name], wanted) > part.ulp.get(name, 0)
            assert not far.any(), f"{part.network.name}: {name}: {far.sum()} of {far.size} differ"
