"""Files that Vela compiled before: its Python core's, Regor's, and those with separate regions.

TFLite Micro answers for the original. Real files of Vela 3.0 to 4.2 have the layout that 5.2's
Python core (--debug-force-legacy-core) still writes; those that install were tried by hand.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.aot import make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import compiled_for, offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.ethosu.stream import RegionKind, scratch_bytes, stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import compare
from ethosgen.values.plan import IoStyle
from tests.support.errata_networks import FOLDER
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder

LEGACY = ("--debug-force-legacy-core",)
SEPARATE = ("--separate-io-regions", "--cop-format", "COP2")
ON_CPU = ("--ignore-ops", "MAX_POOL_2D")
SPILLING = (
    "--config", "Arm/vela.ini", "--system-config", "Ethos_U65_Client_Server",
    "--memory-mode", "Dedicated_Sram",
)  # fmt: skip


def split_in_the_middle() -> bytes:
    """A pool with strides that Vela's Python core leaves on the CPU, and three outputs."""
    net = NetworkBuilder("split", 1)
    a, b = net.input((1, 16, 16, 8), name="a"), net.input((1, 16, 16, 8), scale=0.07, name="b")
    y = net.conv2d(net.add(a, b), 16, activation="RELU")
    z = net.conv2d(net.max_pool(y, (4, 4), (4, 4)), 8)
    chosen = [net.softmax(net.fully_connected(z, 10)), net.average_pool(y, (2, 2), (2, 2)), y]
    return net.build(*chosen)


def crossing() -> bytes:
    """A tensor that one partition makes and the next reads, at another place in region 4."""
    net = NetworkBuilder("crossing", 2)
    a = net.input((1, 8, 8, 8), name="a")
    first, second = net.conv2d(a, 4), net.conv2d(a, 12)
    pooled = net.max_pool(first, (4, 4), (4, 4))
    chosen = [net.conv2d(pooled, 8), net.conv2d(second, 4), net.add(second, second)]
    return net.build(*chosen)


def compile_file(folder: Path, data: bytes, npu: str, options: tuple[str, ...]) -> Network:
    """Run Vela's own command line."""
    (folder / "net.tflite").write_bytes(data)
    vela = Path(sys.executable).with_name("vela")
    command = [vela, "net.tflite", "--accelerator-config", npu, "--output-dir", ".", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return parse_network((folder / "net_vela.tflite").read_bytes(), "net_vela")


CASES = [
    (split_in_the_middle, "ethos-u55-128", LEGACY, 2),
    (split_in_the_middle, "ethos-u55-64", ON_CPU, 2),
    (split_in_the_middle, "ethos-u65-256", (*SEPARATE, *ON_CPU), 2),
    (split_in_the_middle, "ethos-u65-512", (*LEGACY, *SPILLING), 2),
    (crossing, "ethos-u55-128", LEGACY, 2),
    (crossing, "ethos-u55-256", (*SEPARATE, *ON_CPU), 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("build", "npu", "options", "least"), CASES)
def test_a_compiled_file_gives_the_originals_answer(
    tmp_path: Path, build: Callable[[], bytes], npu: str, options: tuple[str, ...], least: int
) -> None:
    original = parse_network(build(), "original")
    network = compile_file(tmp_path, file_of(original), npu, options)
    assert compiled_for(network).name == npu
    samples = random_samples(original, 2, 7)
    golden = golden_outputs(original, samples)
    names = [tensor.name for tensor in original.outputs]
    styles = list(IoStyle) if SEPARATE[0] in options else [IoStyle.ARENA]
    for io in styles:
        plan = offload(network, find_accelerator(npu), io)
        assert len(plan.partitions) >= least
        assert plan.npu_operators is None
        assert {c.code for c in plan.cpu_operators} == {"MAX_POOL_2D"}
        runner = PartitionRunner(plan)
        got = []
        for sample in samples:
            renamed = dict(zip((t.name for t in network.inputs), sample.values(), strict=True))
            outputs = make_evaluator(plan)(renamed, runner)
            got.append(dict(zip(names, (outputs[t.name] for t in network.outputs), strict=True)))
        assert compare("tflm", got, golden).mismatches == 0


@pytest.fixture(scope="module")
def legacy(tmp_path_factory: pytest.TempPathFactory) -> Network:
    net = NetworkBuilder("small", 3)
    net.conv2d(net.input((1, 8, 8, 4)), 8)
    return compile_file(tmp_path_factory.mktemp("vela"), net.build(), "ethos-u55-128", LEGACY)


U55 = find_accelerator("ethos-u55-128")


def test_both_scratches_of_an_old_file_are_one_where_only_one_is_used(legacy: Network) -> None:
    plan = offload(legacy, U55)
    assert stream_of(plan.partitions[0]).bases == (RegionKind.READ_ONLY, RegionKind.SCRATCH)
    assert scratch_bytes(plan, RegionKind.SCRATCH_FAST) == 0
    assert plan.sram_bytes == scratch_bytes(plan) > 0


@pytest.mark.parametrize(("options", "warned"), [((), True), (("--disable-chaining",), False)])
def test_a_stream_that_uses_the_wrong_table_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: tuple[str, ...], warned: bool
) -> None:
    data = (FOLDER / "chained-tables.tflite").read_bytes()
    network = compile_file(tmp_path, data, "ethos-u85-128", options)
    offload(network, find_accelerator("ethos-u85-128"))
    assert ("the outputs of 'net_vela' can be wrong" in caplog.text) == warned


def test_a_compiled_file_has_no_estimate_rather_than_none_of_cycles(legacy: Network) -> None:
    assert offload(legacy, U55).summary().npu_cycles is None


def test_another_npu_is_refused_with_the_one_that_the_file_is_for(legacy: Network) -> None:
    with pytest.raises(UnsupportedError, match=r"is compiled for ethos-u55-128, not for ethos-u65"):
        offload(legacy, find_accelerator("ethos-u65-256"))


def test_the_callers_buffers_need_separate_regions(legacy: Network) -> None:
    with pytest.raises(UnsupportedError, match="vela --separate-io-regions --cop-format COP2"):
        offload(legacy, U55, IoStyle.CALLER)


def test_operators_cannot_be_moved_any_more(legacy: Network) -> None:
    with pytest.raises(InputError, match="already compiled"):
        offload(legacy, U55, ignore=["CONV_2D"])


def test_an_ethos_u85_is_known(tmp_path: Path) -> None:
    net = NetworkBuilder("u85", 3)
    net.conv2d(net.input((1, 8, 8, 4)), 8)
    network = compile_file(tmp_path, net.build(), "ethos-u85-256", ())
    assert compiled_for(network).name == "ethos-u85-256"


def test_a_file_without_its_memories_is_damaged() -> None:
    net = NetworkBuilder("damaged")
    x = net.input((1, 4))
    memories = [net.tensor(Spec((16,), "uint8")) for _ in range(2)]
    net.operator("CUSTOM", [*memories, x], [Spec((1, 4), "int8", 0.5, 0)], custom_code="ethos-u")
    network = parse_network(net.build(), "damaged")
    with pytest.raises(InputError, match="'damaged' is damaged: its 'ethos-u' operator 0"):
        compiled_for(network)


def test_a_file_without_a_command_stream_is_refused(legacy: Network) -> None:
    (operator,) = legacy.graph.operators
    tensors = list(legacy.graph.tensors)
    tensors[operator.inputs[0]] = replace(tensors[operator.inputs[0]], data=None)
    graph = replace(legacy.graph, tensors=tuple(tensors))
    with pytest.raises(UnsupportedError, match="neither COP1 nor COP2"):
        compiled_for(replace(legacy, graphs=(graph,)))


def test_a_file_without_a_placement_is_refused(legacy: Network) -> None:
    with pytest.raises(UnsupportedError, match="no complete OfflineMemoryAllocation"):
        offload(replace(legacy, metadata={}), U55)
