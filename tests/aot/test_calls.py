"""Networks without CPU operators: the C is written without TVM, and is what TVM would write."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.aot import compile_program, compiler
from ethosgen.backend import load_wrapped
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.plan import CpuOperator, IoStyle, Plan
from tests import ROOT
from tests.support.lazy_accelerator import EAGER, LAZY, write_lazy_folder
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import PLAIN, write_folder

NPUS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")


def on_the_npu(npu: str, io: IoStyle) -> Plan:
    net = NetworkBuilder("whole", 3)
    x = net.conv2d(net.input((1, 6, 6, 4)), 8, (3, 3))
    network = parse_network(net.build(net.max_pool(x, (2, 2), (2, 2)), x), "whole")
    plan = offload(network, find_accelerator(npu), io=io)
    assert not plan.cpu_operators
    return plan


def on_an_accelerator(folder: Path, io: IoStyle) -> Plan:
    """Return a plan of three calls, the first of which reads an input twice."""
    net = NetworkBuilder("sums", seed=4)
    x, y = net.input((1, 33), name="x", **PLAIN), net.input((1, 33), name="y", **PLAIN)
    first = net.add(x, x, **PLAIN)
    second = net.add(first, y, **PLAIN)
    network = parse_network(net.build(net.add(second, first, **PLAIN), second), "sums")
    operators = network.graph.operators
    plan = Plan(
        network,
        io,
        network.graph,
        origins={op.index: op.index for op in operators},
        cpu_operators=tuple(CpuOperator(op.index, op.code, "", "") for op in operators),
    )
    compiled = load_wrapped(str(folder)).compile(plan, {})
    assert len(compiled.partitions) == 3
    return compiled


def equal_by_both_ways(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether TVM writes the same program."""
    written = compile_program(plan, "net")
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "has_only_calls", lambda _schedule: False)
        by_tvm = compile_program(plan, "net")
    assert written.sources["net_graph.c"] == by_tvm.sources["net_graph.c"]
    return replace(written, plan=plan) == replace(by_tvm, plan=plan)


@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("npu", NPUS)
def test_a_partition_alone(npu: str, io: IoStyle, monkeypatch: pytest.MonkeyPatch) -> None:
    assert equal_by_both_ways(on_the_npu(npu, io), monkeypatch)


@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("form", [LAZY, EAGER, None])
def test_calls_after_each_other(
    form: str | None, io: IoStyle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "toy"
    if form is None:
        write_folder(folder)
    else:
        write_lazy_folder(folder, form)
    plan = on_an_accelerator(folder, io)
    assert equal_by_both_ways(plan, monkeypatch)
    void = tuple(
        replace(p, call=replace(p.call, function=replace(p.call.function, returns_status=False)))
        for p in plan.partitions
    )
    for some in (void, (plan.partitions[0], *void[1:]), (*void[:-1], plan.partitions[-1])):
        assert equal_by_both_ways(replace(plan, partitions=some), monkeypatch)


IMPORTS = """
import sys
from ethosgen.cli import cli
status = cli(sys.argv[1:], standalone_mode=False)
print(sorted({"tvm", "tvm_ffi"} & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


def test_a_project_without_cpu_operators_does_not_import_tvm(tmp_path: Path) -> None:
    network = ROOT / "demo" / "digits_int8.tflite"
    command = ["project", str(network), "--board", "corstone300", "-o", str(tmp_path / "project")]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
