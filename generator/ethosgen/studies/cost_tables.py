"""Measures an accelerator's calls in networks: tables of cycles for its accelerator.toml."""

import csv
import io
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend import load_wrapped, wrapped_of
from ethosgen.backend.protocol import AcceleratorCall, Wrapped
from ethosgen.flow.creation import create_project
from ethosgen.flow.firmware import build_project, flash_project
from ethosgen.flow.firmware_run import RunOptions, run_and_judge
from ethosgen.project import open_project
from ethosgen.targets import require_target
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted, unknown
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan
from ethosgen.values.profile import Profile
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch

CYCLES = "cycles"
_SIZES = ("_batches", "_h", "_w", "_channels")
_FLAGS = "has_"
_NEAR = 0.75
"""A declared start that differs by more is worth a note."""


@dataclass(frozen=True)
class CostRequest:
    """The networks whose calls are measured, where, and the terms that identify a call.

    Without `terms` they are sizes, strides, dilations, padding, the type and what is optional.
    `flasher` is the tool that writes a firmware to a board.
    """

    networks: tuple[Path, ...]
    board: str
    on: str
    options: RunOptions
    terms: tuple[str, ...] = ()
    flasher: str | None = None


@dataclass(frozen=True)
class MeasuredCall:
    """A call: the network, its first output, what the declaration knows of it, and its cycles.

    `driver` are the processor's cycles on QEMU, or the whole call's on a board. `device` are the
    device's, where only its model or the declaration knows them, 0 elsewhere. `estimate` is
    the declared cost without `start`.
    """

    network: str
    output: str
    facts: AcceleratorCall
    start: int
    estimate: int | None
    driver: int
    device: int

    @property
    def cycles(self) -> int:
        """The cycles of the call without its start: the device's, or what exceeds the declared."""
        return self.device or max(self.driver - self.start, 0)

    @property
    def total(self) -> int:
        """The cycles of the whole call."""
        return self.driver + self.device


@dataclass(frozen=True)
class CostTable:
    """The measured calls of one operation; `columns` are terms.

    `earlier` is the number of operations with the same operators before it.
    """

    number: int
    operators: tuple[str, ...]
    columns: tuple[str, ...]
    calls: tuple[MeasuredCall, ...]
    earlier: int = 0

    @property
    def file(self) -> str:
        """The name of its file."""
        codes = "_".join(code.strip("?").lower() for code in self.operators)
        return f"cycles_{codes}{f'_{self.earlier + 1}' if self.earlier else ''}.csv"

    @property
    def rows(self) -> dict[tuple[str, ...], int]:
        """The cycles by the values of the columns: of equal calls, the most."""
        rows: dict[tuple[str, ...], int] = {}
        for call in self.calls:
            key = tuple(str(call.facts.terms.get(term)) for term in self.columns)
            rows[key] = max(rows.get(key, 0), call.cycles)
        return rows

    def summary(self) -> dict[str, Any]:
        """Return the table for JSON."""
        return {
            "operation": self.number,
            "operators": list(self.operators),
            "file": self.file,
            "columns": list(self.columns),
            "calls": [
                {
                    "network": call.network,
                    "output": call.output,
                    "cycles": call.total,
                    "driver_cycles": call.driver,
                    "device_cycles": call.device,
                    "start": call.start,
                    "estimate": call.estimate,
                }
                for call in self.calls
            ],
        }

    def text(self) -> str:
        """Return the table as a .csv file, for `cycles_table`."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow([*self.columns, CYCLES])
        writer.writerows([*key, cycles] for key, cycles in sorted(self.rows.items()))
        return lines.getvalue()


def measure_costs(name: str, asked: CostRequest, watch: Watch) -> list[CostTable]:
    """Return a table for each operation of an accelerator that a network uses.

    InputError if none is used, an output differs, or QEMU cannot know the device's cycles.
    """
    calls: list[MeasuredCall] = []
    chains = []
    for path in asked.networks:
        watch.say(f"measuring {path.name}")
        accelerator, measured = _measured(name, path, asked, watch)
        calls += measured
        chains = list(accelerator.chains)
    if not calls:
        what = "the network" if len(asked.networks) == 1 else "the networks"
        raise InputError(
            f"'{name}' takes no operator of {what}; see why with: ethosgen verify --npu none "
            f"--accelerator {name}"
        )
    tables = []
    for chain in chains:
        own = tuple(call for call in calls if call.facts.number == chain.number)
        if own:
            columns = asked.terms or _identifying(own)
            earlier = sum(other.members == chain.members for other in chains[: chain.number])
            tables.append(CostTable(chain.number, chain.members, columns, own, earlier))
    _check_terms(tables)
    return tables


def _measured(
    name: str, path: Path, asked: CostRequest, watch: Watch
) -> tuple[Wrapped, list[MeasuredCall]]:
    """Run a network with a profile; return the accelerator and its calls."""
    recipe = Recipe((path,), asked.board, NO_NPU, accelerators=(name,))
    options = replace(asked.options, profile=True)
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as temporary:
        directory = Path(temporary) / "project"
        written = create_project(recipe, directory=directory, watch=watch)
        built = build_project(directory, on=asked.on, profile=True, watch=watch)
        if asked.flasher is not None:
            flash_project(directory, tool=asked.flasher, watch=watch)
        plan = written.programs[0].plan
        report = run_and_judge({0: plan.original}, open_project(directory), built, options, watch)
    assert isinstance(report, Report)
    if not report.passed:
        raise InputError(
            f"'{path}' gives wrong outputs with '{name}', so nothing was measured; see: ethosgen "
            f"verify {path} --npu none --accelerator {name} --board {asked.board}"
        )
    assert report.profile is not None
    accelerator = next(iter(wrapped_of(plan)), None)
    if accelerator is None:
        return load_wrapped(name), []
    counted_here = require_target(asked.on).counts_instructions
    must_add = bool(accelerator.devices) and counted_here
    return accelerator, list(_calls(accelerator, plan, report.profile, must_add))


def _calls(
    accelerator: Wrapped, plan: Plan, profile: Profile, must_add: bool
) -> Iterator[MeasuredCall]:
    """Yield the calls of a network; QEMU counts the driver's cycles, and the model the device's."""
    spent = _driver_cycles(profile)
    runner = accelerator.runner(plan)
    try:
        for partition in plan.partitions:
            facts = accelerator.facts_of(partition)
            device: int | None = 0
            if must_add:
                known = runner.device_cycles(partition, _inputs(plan, partition))
                device = partition.cycles if known is None else known
            if device is None:
                raise InputError(
                    f"the model of '{accelerator.name}' counts no cycles, which QEMU cannot know; "
                    "count them there (self.cycles in Python, ethosgen_model_spend() in C), or "
                    "measure on a board with --on serial"
                )
            yield MeasuredCall(
                plan.network.name,
                plan.residual.tensors[partition.outputs[0]].name,
                facts,
                partition.start_cycles,
                partition.cycles,
                spent.get(partition.name, 0),
                device,
            )
    finally:
        runner.close()


def _driver_cycles(profile: Profile) -> dict[str, int]:
    """Return the cycles of the calls by partition, including their waits."""
    spent: dict[str, int] = {}
    for cost in profile.in_cycles().steps:
        spent[cost.step.name] = spent.get(cost.step.name, 0) + cost.count
    return spent


def _inputs(plan: Plan, partition: Partition) -> Arrays:
    """Return random inputs of a partition by name."""
    random = np.random.default_rng(0)
    tensors = [plan.residual.tensors[i] for i in partition.inputs]
    return {t.name: random.integers(-9, 9, t.shape).astype(t.dtype) for t in tensors}


def _identifying(calls: Sequence[MeasuredCall]) -> tuple[str, ...]:
    """Return the terms from which a call's cost may follow, in the declaration's order."""
    names = dict.fromkeys(term for call in calls for term in call.facts.terms)
    return tuple(name for name in names if _is_identifying(name))


def _is_identifying(term: str) -> bool:
    if term.startswith(("weights_", "bias_")):
        return False
    shapes = (*_SIZES, "_elements")
    is_size = term.startswith(("input", "output")) and term.endswith(shapes)
    is_window = term.startswith(("kernel_", "stride_", "dilation_", "pad_"))
    is_present = term.startswith(_FLAGS) and term != "has_helium"
    return is_size or is_window or is_present or term == "dtype"


def _check_terms(tables: Sequence[CostTable]) -> None:
    """Raise InputError for a column that an operation does not have."""
    for table in tables:
        known = {term for call in table.calls for term in call.facts.terms}
        for term in table.columns:
            if term not in known:
                raise InputError(unknown("term", term, sorted(known)))


def write_tables(tables: Sequence[CostTable], folder: Path) -> list[Path]:
    """Write the tables; InputError if a file exists."""
    paths = [folder / table.file for table in tables]
    for path in paths:
        if path.exists():
            raise InputError(f"'{path}' exists; remove it, or choose another folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    for path, table in zip(paths, tables, strict=True):
        path.write_text(table.text())
    return paths


def described(table: CostTable) -> list[str]:
    """Return lines on a table: each call, its cycles, and the estimate so far."""
    operators = " + ".join(table.operators)
    lines = [f"{operators}: {counted(len(table.rows), 'row')}"]
    for call in table.calls:
        known = call.estimate
        before = "no estimate" if known is None else f"estimated {known + call.start:,}"
        parts = f" ({call.driver:,} of the driver)" if call.device else ""
        total = counted(call.total, "cycle")
        lines.append(f"  {call.network}, {call.output}: {total}{parts}, {before}")
    starts = {call.start: call.driver for call in table.calls if call.device}
    for start, driver in starts.items():
        if not _NEAR < driver / max(start, 1) < 1 / _NEAR:
            note = f"`start` is declared as {start:,}, but the driver took {driver:,}"
            lines.append(f"  note: {note}")
    return lines
