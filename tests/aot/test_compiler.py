"""Whole programs: what the C looks like, and that it runs, with partitions and without."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.ethosu.stream import scratch_bytes, stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.call import Address, Call, Function
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Blob, CpuOperator, IoStyle, Partition, Plan
from ethosgen.values.program import Program
from tests import ROOT
from tests.support.aot_harness import (
    ACCELERATOR,
    WARNINGS,
    GeneratedC,
    assert_equal,
    cpu_plan,
    samples_and_golden,
    write_sources,
)
from tests.support.needs import needs_arm_gcc, needs_gcc, needs_models
from tests.support.networks import NetworkBuilder, Spec
from tests.support.small_models import SHARED_MODELS

KWS = SHARED_MODELS / "kws_dscnn_int8.tflite"
KEPT_ON_CPU = ("AVERAGE_POOL_2D", "RESHAPE", "SOFTMAX")


def image_net() -> bytes:
    net = NetworkBuilder("image_net", seed=7)
    x = net.input((1, 8, 8, 3), name="image")
    x = net.conv2d(x, channels=8, kernel=(3, 3), activation="RELU")
    x = net.average_pool(x, (8, 8))
    x = net.reshape(x, (1, 8))
    x = net.fully_connected(x, 4)
    return net.build(net.softmax(x))


def branches() -> bytes:
    """A network whose CPU tensor lives on while the NPU runs, with two inputs and two outputs."""
    net = NetworkBuilder("branches", seed=9)
    left = net.input((1, 4, 4, 8), name="left")
    right = net.input((1, 4, 4, 8), scale=0.02, name="right")
    pooled = net.average_pool(left, (2, 2))
    total = net.conv2d(net.add(left, right), 8, (3, 3), stride=(2, 2))
    return net.build(net.add(pooled, total), pooled)


def mixed_plan(data: bytes, io: IoStyle, keep: tuple[str, ...] = KEPT_ON_CPU) -> Plan:
    return offload(parse_network(data, "mixed.tflite"), ACCELERATOR, io, ignore=keep)


class MemoryNpu:
    """Runs partitions on the functional model, in the memory that the C gave it.

    What scratch holds besides Vela's tensors is garbage after each partition, as on the NPU.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.plan = program.plan
        self.npu = PartitionRunner(program.plan)
        self.generated: GeneratedC | None = None
        self.garbage = np.random.default_rng(0)

    def __call__(self, stream: int, bases: list[int]) -> int:
        partition = self.plan.partitions[stream]
        inputs = {self._name(i): self._view(i, stream, bases).copy() for i in partition.inputs}
        results = self.npu(partition, inputs)
        self._spoil(partition.operator)
        for index in partition.outputs:
            self._view(index, stream, bases)[...] = results[self._name(index)]
        return 0

    def _name(self, index: int) -> str:
        return self.plan.residual.tensors[index].name

    def _view(self, index: int, stream: int, bases: list[int]) -> np.ndarray:
        tensor = self.plan.residual.tensors[index]
        if self.plan.io is IoStyle.CALLER:
            address = bases[stream_of(self.plan.partitions[stream]).bases.index(index)]
        else:
            address = bases[1] + self.plan.offsets[index]
        assert address % 16 == 0
        raw = (ctypes.c_uint8 * tensor.bytes).from_address(address)
        return np.frombuffer(raw, tensor.dtype).reshape(tensor.shape)

    def _spoil(self, operator: int) -> None:
        assert self.generated is not None
        inside = self.generated.arena[64:-64]
        later = [
            (p.offset, p.bytes)
            for p in self.program.placements
            if p.tensor in self.plan.offsets
            and (p.first <= operator < p.last or p.tensor in self.plan.residual.outputs)
        ]
        kept = [(offset, inside[offset : offset + size].copy()) for offset, size in later]
        inside[: scratch_bytes(self.plan)] = self.garbage.integers(0, 256, scratch_bytes(self.plan))
        for offset, data in kept:
            inside[offset : offset + data.size] = data


def check_mixed(plan: Plan, folder: Path) -> Program:
    program = compile_program(plan, "net")
    npu = MemoryNpu(program)
    npu.generated = GeneratedC(program, folder, npu)
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(*samples_and_golden(plan.network, 2), strict=True):
        for _ in range(2):
            outputs = npu.generated.outputs(sample)
            assert_equal(outputs, wanted)
        assert_equal(evaluate(sample, runner), wanted)
    return program


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("build", [image_net, branches])
def test_mixed_networks_equal_tflite_micro(
    build: Callable[[], bytes], io: IoStyle, tmp_path: Path
) -> None:
    plan = mixed_plan(build(), io)
    assert plan.partitions
    assert plan.cpu_operators
    check_mixed(plan, tmp_path)


@needs_gcc
@needs_models
@pytest.mark.parametrize("io", IoStyle)
def test_mixed_keyword_spotting_equals_tflite_micro(io: IoStyle, tmp_path: Path) -> None:
    program = check_mixed(mixed_plan(KWS.read_bytes(), io), tmp_path)
    if io is IoStyle.ARENA:
        assert program.arena_bytes == scratch_bytes(program.plan)


@pytest.mark.parametrize("io", IoStyle)
def test_a_fully_offloaded_network_is_one_call(io: IoStyle) -> None:
    plan = mixed_plan(image_net(), io, keep=())
    program = compile_program(plan, "net")
    assert len(plan.partitions) == 1
    assert not plan.cpu_operators
    assert program.arena_bytes == scratch_bytes(plan)
    text = program.sources["net_graph.c"]
    assert text.count("net_npu_invoke(0") == 1
    assert "memcpy" not in text
    entry = text[text.index("int32_t net_entry") :]
    calls = [line for line in entry.splitlines() if "(" in line and "ETHOSGEN_STEP" not in line]
    assert len(calls) == 2, "the head, and one straight call"


def test_the_entry_takes_the_ports_that_the_caller_owns() -> None:
    caller = compile_program(mixed_plan(branches(), IoStyle.CALLER), "net")
    assert caller.entry_parameters == (
        "arena",
        "read_only",
        "left",
        "right",
        "add_7",
        "average_pool_2d_2",
    )
    assert all(port.offset is None for port in (*caller.inputs, *caller.outputs))
    assert "const int8_t *left" in caller.sources["net_graph.h"]
    arena = compile_program(mixed_plan(branches(), IoStyle.ARENA), "net")
    assert arena.entry_parameters == ("arena", "read_only")
    assert all(port.offset is not None for port in (*arena.inputs, *arena.outputs))


@needs_gcc
def test_a_failing_npu_ends_the_run_with_its_status(tmp_path: Path) -> None:
    program = compile_program(mixed_plan(image_net(), IoStyle.CALLER), "net")
    calls: list[int] = []

    def fail(stream: int, bases: list[int]) -> int:
        calls.append(stream)
        assert bases[0] != 0
        assert bases[-1] == 0, "what a partition has no base for is null"
        return -7

    sample = samples_and_golden(program.plan.network, 1)[0][0]
    assert GeneratedC(program, tmp_path, fail).run(sample)[0] == -7
    assert calls == [0]


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_inputs_and_constants_may_be_outputs(io: IoStyle, tmp_path: Path) -> None:
    net = NetworkBuilder("odd", seed=2)
    x = net.input((1, 5), name="x")
    y = net.relu(x)
    constant = net.constant(np.arange(-3, 9, dtype=np.int8), scale=0.5, name="table")
    network = parse_network(net.build(y, x, constant), "odd.tflite")
    generated = GeneratedC(compile_program(cpu_plan(network, io), "net"), tmp_path)
    sample = {"x": np.array([[-128, -1, 0, 5, 127]], np.int8)}
    outputs = generated.outputs(sample)
    np.testing.assert_array_equal(outputs["x"], sample["x"])
    np.testing.assert_array_equal(outputs["table"], np.arange(-3, 9))
    assert_equal(outputs, make_evaluator(cpu_plan(network, io))(sample, _never))


@needs_arm_gcc
def test_the_c_compiles_for_the_board_without_a_warning(tmp_path: Path) -> None:
    net = NetworkBuilder("all", seed=4)
    x = net.input((1, 8, 8, 4))
    y = net.depthwise(net.conv2d(x, 4, (3, 3)), (3, 3), per_channel=False)
    y = net.pad(net.add(y, x), [(0, 0), (1, 1), (1, 1), (0, 0)])
    y = net.concat([net.max_pool(y, (2, 2)), net.average_pool(y, (2, 2))], axis=3)
    y = net.softmax(net.fully_connected(net.tanh(y), 4))
    for plan in (cpu_plan(net.build(y)), mixed_plan(branches(), IoStyle.CALLER)):
        sources = write_sources(compile_program(plan, "net"), tmp_path)
        command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-O2", *WARNINGS]
        for path in sources:
            done = subprocess.run(
                [*command, "-c", str(path), "-o", str(tmp_path / "out.o")],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_same_network_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(image_net())
    script = (
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from tests.aot.test_compiler import everything_of\n"
        "print(everything_of(Path(sys.argv[1]).read_bytes()))\n"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    there = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "net.tflite"), str(ROOT)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed},
    ).stdout  # fmt: skip
    assert there == everything_of(image_net()) + "\n"


def everything_of(network: bytes) -> str:
    program = compile_program(cpu_plan(network), "net")
    return f"{program.sources} {program.constants} {program.placements}"


def test_evaluating_a_fully_offloaded_network_imports_no_tvm() -> None:
    script = (
        "import sys, ethosgen.aot, numpy as np\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from tests.support.programs import make_program\n"
        "plan = make_program().plan\n"
        "x, y = plan.residual.tensors\n"
        "npu = lambda partition, inputs: {y.name: inputs[x.name] + 1}\n"
        "made = ethosgen.aot.make_evaluator(plan)({x.name: np.zeros(x.shape, np.int8)}, npu)\n"
        "assert (made[y.name] == 1).all()\n"
        "assert 'tvm' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script, str(ROOT)], check=True)


@pytest.mark.parametrize("code", ["FULLY_CONNECTED", "CONV_2D"])
def test_a_dynamic_range_network_is_named_with_what_to_do(code: str) -> None:
    net = NetworkBuilder("hybrid", seed=1)
    shapes = {"FULLY_CONNECTED": ((1, 4), (3, 4), (1, 3)), "CONV_2D": ((1, 2, 2, 4), (3, 1, 1, 4))}
    shape, weight, *rest = shapes[code]
    x = net.input(shape, "float32", None)
    weights = net.constant(net.random_integers(weight), scale=0.02)
    bias = net.constant([0.5, -1.0, 2.0], "float32")
    spec = Spec((*rest, (1, 2, 2, 3))[0], "float32")
    (y,) = net.operator(code, [x, weights, bias], [spec])
    with pytest.raises(UnsupportedError) as refusal:
        compile_program(cpu_plan(net.build(y)), "net")
    said = str(refusal.value)
    assert "dynamic-range quantization" in said
    assert "ethosgen quantize FLOAT.tflite --data SAMPLES.npz -o FLOAT_int8.tflite" in said
    assert "ethosgen/aot" not in said and "\n" not in said


def test_an_unknown_operator_is_named_with_its_place_and_reason() -> None:
    net = NetworkBuilder("odd")
    x = net.input((1, 4))
    (y,) = net.operator("LSH_PROJECTION", [x], [Spec((1, 4), "int8", 0.1, 0, name="act/out")])
    reasons = (CpuOperator(0, "LSH_PROJECTION", "act/out", "its scale is too small"),)
    plan = replace(cpu_plan(net.build(y)), cpu_operators=reasons)
    with pytest.raises(UnsupportedError) as caught:
        compile_program(plan, "net")
    for word in (
        "operator 1 of 1",
        "LSH_PROJECTION",
        "'act/out'",
        "int8",
        "its scale is too small",
    ):
        assert word in str(caught.value)


def test_an_unknown_form_of_a_known_operator_is_named_too() -> None:
    net = NetworkBuilder("odd")
    y = net.relu(net.input((1, 4)))
    plan = cpu_plan(net.build(y))
    graph = plan.residual
    floats = replace(graph.tensors[1], dtype="int16")
    broken = replace(graph, tensors=(graph.tensors[0], floats))
    with pytest.raises(UnsupportedError, match=r"RELU that makes .*int16"):
        compile_program(replace(plan, residual=broken), "net")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, "'x' is missing"),
        ({"x": np.zeros((1, 4), np.int8)}, r"int8 \[1, 4\].*int8 \[1, 5\]"),
        ({"x": np.zeros((1, 5), np.int16)}, r"int16 \[1, 5\]"),
    ],
)
def test_wrong_inputs_are_refused(inputs: Arrays, words: str) -> None:
    net = NetworkBuilder("small")
    plan = cpu_plan(net.build(net.relu(net.input((1, 5), name="x"))))
    with pytest.raises(InputError, match=words):
        make_evaluator(plan)(inputs, _never)


def test_names_from_the_file_cannot_break_the_c() -> None:
    net = NetworkBuilder("evil")
    x = net.input((1, 5), name='x*/ #error "\n')
    plan = cpu_plan(net.build(net.relu(x, name="while")))
    plan = replace(plan, network=replace(plan.network, name="a*/\n#error"))
    program = compile_program(plan, "net")
    for text in program.sources.values():
        assert "#error" not in [line.strip()[:6] for line in text.splitlines()]
        assert text.count("/*") == text.count("*/")
    assert [port.c_name for port in program.inputs] == ["x_error"]
    assert [port.c_name for port in program.outputs] == ["while_"]


def test_equal_constants_are_kept_once() -> None:
    net = NetworkBuilder("twice")
    x = net.input((1, 64))
    middle = net.relu(x, scale=0.05, zero_point=3)
    y = net.relu(middle, scale=0.05, zero_point=3)
    program = compile_program(cpu_plan(net.build(middle, y)), "net")
    assert [constant.c_name for constant in program.constants] == ["net_relu_0_table"]


def _never(*_: object) -> Arrays:
    raise AssertionError("there is no partition")


SCALE = Function(
    "toy_scale", ("const uint8_t *table", "void *x", "void *y", "int32_t n"), "Toy.", False
)


@needs_gcc
def test_a_call_of_any_function_is_emitted(tmp_path: Path) -> None:
    """A partition of no real backend: a blob that the C names, tensors, a number, no status."""
    tensors = tuple(Tensor(i, name, (4,), "uint8") for i, name in enumerate("xy"))
    graph = Graph("main", tensors, (Operator(0, "CUSTOM", (0,), (1,), "toy"),), (0,), (1,))
    call = Call(SCALE, (Address("table"), Address(0), Address(1), 4))
    plan = Plan(
        Network("m", b"", (graph,)),
        IoStyle.CALLER,
        graph,
        partitions=(Partition("partition_0", 0, call, (0,), (1,)),),
        blobs=(Blob("table", bytes(range(256)), dtype="uint8"),),
    )
    program = compile_program(plan, "net")
    header, source = program.sources["net_graph.h"], program.sources["net_graph.c"]
    assert (
        "/* Toy. */\nvoid toy_scale(const uint8_t *table, void *x, void *y, int32_t n);" in header
    )
    assert "extern const uint8_t net_table[];" in source
    for name, text in program.sources.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "main.c").write_text(TOY_MAIN)
    sources = [str(path) for path in tmp_path.glob("*.c")]
    program_path = str(tmp_path / "toy")
    subprocess.run(["gcc", *WARNINGS, *sources, "-o", program_path], check=True)
    subprocess.run([program_path], check=True)


TOY_MAIN = """\
#include "net_graph.h"
#include <string.h>
extern const uint8_t net_table[4];
const uint8_t net_table[4] = {2, 3, 5, 7};
void toy_scale(const uint8_t *table, void *x, void *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        ((uint8_t *)y)[i] = (uint8_t)(table[i] * ((uint8_t *)x)[i]);
    }
}
int main(void)
{
    const uint8_t x[4] = {1, 2, 3, 4};
    uint8_t y[4] = {0};
    return net_entry(NULL, NULL, x, y) || memcmp(y, "\\x02\\x06\\x0f\\x1c", 4);
}
"""
