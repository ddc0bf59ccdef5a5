"""Tables of an accelerator's cycles, measured in networks."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.backend import load_wrapped, wrapped_of
from ethosgen.backend.protocol import AcceleratorCall
from ethosgen.flow import RunOptions
from ethosgen.flow.planning import PlanSettings, make_plan, read
from ethosgen.host.resources import resource_folder
from ethosgen.studies.cost_tables import (
    CostRequest,
    CostTable,
    MeasuredCall,
    described,
    measure_costs,
    write_tables,
)
from ethosgen.values.errors import InputError
from ethosgen.values.plan import EXACT, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_gcc, needs_qemu

DIGITS = ROOT / "demo" / "digits_int8.tflite"
ENGINE = "matrix-engine"
ASKED = CostRequest((DIGITS,), "corstone300", "qemu", RunOptions(Inputs(None, 1, 0)))


def _plan(name: str) -> Plan:
    settings = PlanSettings(None, OffloadOptions(check=False), wrapped=[load_wrapped(name)])
    return make_plan(read(DIGITS, None, Watch()), settings, Watch())


def _engine(folder: Path, **changes: str) -> Path:
    """Return a copy of the matrix engine whose files have other lines."""
    copy = folder / ENGINE
    shutil.copytree(resource_folder("accelerators") / ENGINE, copy)
    for name, change in changes.items():
        path = copy / name.replace("__", ".")
        old, _, new = change.partition(" -> ")
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    return copy


@pytest.fixture(scope="module")
def tables() -> list[CostTable]:
    """Return the tables of the matrix engine in the demo's network."""
    return measure_costs(ENGINE, ASKED, Watch())


@needs_gcc
@needs_qemu
def test_calls_take_what_driver_and_engine_take(tables: list[CostTable]) -> None:
    """The engine needs depth + 16 cycles for each block of 16 x 16 results of a command."""
    convolutions, dense = tables
    assert [table.number for table in tables] == [0, 1]
    assert [call.output for call in convolutions.calls] == ["conv_0", "conv_2", "residual_4_conv"]
    # One command: 64 rows of 1x1x16 to 32 columns; one row of 128 to 10 columns.
    assert convolutions.calls[1].device == 4 * 2 * (16 + 16)
    (call,) = dense.calls
    assert call.device == 1 * 1 * (128 + 16)
    for call in (*convolutions.calls, *dense.calls):
        assert call.start * 0.9 < call.driver < call.start * 1.4
        assert call.estimate is not None
        assert call.cycles == call.device and call.total == call.driver + call.device


@needs_gcc
@needs_qemu
def test_a_table_replaces_the_formula(tables: list[CostTable], tmp_path: Path) -> None:
    change = 'cycles = "engine_cycles"\nstart -> cycles_table = "cycles_conv_2d.csv"\nstart'
    folder = _engine(tmp_path, accelerator__toml=change)
    toml = folder / "accelerator.toml"
    head, last = toml.read_text().rsplit("cycles_conv_2d", 1)
    toml.write_text(f"{head}{tables[1].file.removesuffix('.csv')}{last}")
    assert [path.name for path in write_tables(tables, folder)] == [t.file for t in tables]
    plan = _plan(str(folder))
    estimates = [partition.cycles for partition in plan.partitions]
    assert estimates == [call.cycles for table in tables for call in table.calls]
    with pytest.raises(InputError, match=r"cycles_conv_2d\.csv' exists; remove it"):
        write_tables(tables, folder)


@needs_gcc
def test_models_in_c_and_python_count_the_same(tmp_path: Path) -> None:
    counts = []
    for name in (
        ENGINE,
        str(_engine(tmp_path, accelerator__toml="model.py:MatrixEngine -> model.c")),
    ):
        plan = _plan(name)
        (accelerator,) = wrapped_of(plan)
        runner = accelerator.runner(plan)
        counts.append([])
        for partition in plan.partitions:
            tensors = [plan.residual.tensors[i] for i in partition.inputs]
            zeros = {t.name: np.zeros(t.shape, t.dtype) for t in tensors}
            counts[-1].append(runner.device_cycles(partition, zeros))
        runner.close()
    assert counts[0] == counts[1] and all(counts[0])


@needs_gcc
@needs_qemu
def test_a_model_that_counts_nothing_needs_an_estimate(tmp_path: Path) -> None:
    change = "self.cycles += blocks -> _ = blocks"
    silent = _engine(tmp_path, model__py=change)
    path = silent / "model.py"
    path.write_text(path.read_text().replace("        self.cycles = 0\n", ""))
    declared = measure_costs(str(silent), ASKED, Watch())
    call = declared[0].calls[0]
    assert call.device == call.estimate  # the declaration's
    toml = silent / "accelerator.toml"
    toml.write_text(toml.read_text().replace('cycles = "engine_cycles"\n', ""))
    with pytest.raises(InputError, match=r"counts no cycles.*ethosgen_model_spend"):
        measure_costs(str(silent), ASKED, Watch())


@needs_gcc
@needs_qemu
def test_terms_must_exist(tables: list[CostTable]) -> None:
    asked = replace(ASKED, terms=("input_h", "input_depth"))
    with pytest.raises(InputError, match="unknown term 'input_depth'"):
        measure_costs(ENGINE, asked, Watch())
    known = set(tables[0].columns)
    assert {"input_h", "output_channels", "kernel_w", "stride_h", "pad_top", "dtype"} <= known
    assert not any(term.endswith(("_scale", "_zero_point")) for term in known)


@needs_gcc
@needs_qemu
def test_a_network_must_use_the_accelerator(tmp_path: Path) -> None:
    refusing = _engine(
        tmp_path, accelerator__toml="weights_zero_point == 0 -> weights_zero_point == 1"
    )
    with pytest.raises(InputError, match="takes no operator of the network"):
        measure_costs(str(refusing), ASKED, Watch())


def test_of_equal_calls_the_slowest_counts() -> None:
    facts = AcceleratorCall(0, {"input_h": 8})
    calls = tuple(MeasuredCall("net", "x", facts, 100, None, spent, 0) for spent in (300, 400, 20))
    table = CostTable(0, ("CONV_2D",), ("input_h",), calls)
    assert table.text() == "input_h,cycles\n8,300\n"
    assert calls[2].cycles == 0  # the declared start is more than what was measured


def test_a_table_has_the_name_of_its_operators() -> None:
    chain = ("PAD?", "CONV_2D")
    assert CostTable(0, chain, (), ()).file == "cycles_pad_conv_2d.csv"
    assert CostTable(3, chain, (), (), earlier=1).file == "cycles_pad_conv_2d_2.csv"


def test_a_declared_start_that_is_wrong_gets_a_note() -> None:
    facts = AcceleratorCall(0, {"input_h": 8})
    call = MeasuredCall("net", "x", facts, 700, 70, 300, 50)
    assert call.cycles == 50 and call.total == 350
    lines = described(CostTable(0, ("CONV_2D",), ("input_h",), (call,)))
    assert lines[1:] == [
        "  net, x: 350 cycles (300 of the driver), estimated 770",
        "  note: `start` is declared as 700, but the driver took 300",
    ]
    near = MeasuredCall("net", "x", facts, 700, 70, 650, 50)
    assert len(described(CostTable(0, ("CONV_2D",), ("input_h",), (near,)))) == 2


def test_a_reason_does_not_claim_more_than_the_plan(tmp_path: Path) -> None:
    """An operator may stay where it costs more, if moving it would split a partition."""
    from ethosgen.backend import find_accelerator
    from ethosgen.values.plan import OffloadMode

    options = replace(EXACT, check=False, mode=OffloadMode.AUTO)
    settings = PlanSettings(
        find_accelerator("ethos-u55-64"), options, wrapped=[load_wrapped(ENGINE)]
    )
    plan = make_plan(read(DIGITS, None, Watch()), settings, Watch())
    for placing in plan.placings:
        known = {o.backend: o.cycles for o in placing.offers if o.cycles is not None}
        is_least = placing.on in known and known[placing.on] == min(known.values())
        if placing.reason == "the lowest estimate":
            assert is_least, placing
    assert any(p.reason == "the plan with the lowest estimate" for p in plan.placings)
