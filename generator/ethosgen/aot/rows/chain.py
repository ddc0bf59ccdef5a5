"""A chain as one kernel: a loop over turns, in which each operator computes some rows.

Every operator keeps its kernel, built for a band of rows. Bands of one height share a function;
weights are shared by all.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.aot.code.passes import STEP, mark
from ethosgen.aot.code.slices import CALL, FED, LEFT, TURN, TURNS, declare_progress
from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.rows.pacing import Pace, RowLink, distance_of
from ethosgen.aot.rows.patches import Patch
from ethosgen.aot.rows.reach import Array, Band, RowReach, Spans, row_bytes
from ethosgen.aot.tir.graft import unused_name
from ethosgen.aot.tir.kernel import Callee, Kernel, KernelConstant, MarkedStep
from ethosgen.aot.tir.nest import Nest, int32
from ethosgen.aot.tir.primfunc import READS, STRUCTS, drop_unused_parameters, pointer
from ethosgen.aot.tvm import ir, tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.plan import CPU
from ethosgen.values.profile import ProgramStep
from ethosgen.values.program import Structs

BuildBand = Callable[[Operator, tuple[Tensor, ...]], Kernel]
"""Builds the kernel of an operator with tensors of a band's shapes."""
Starts = Mapping[int, Any]
"""The first row in each buffer."""


@dataclass(frozen=True)
class Slices:
    """A call of the chain is one turn, counted by `progress`, an array of slices.py.

    The caller gives any number of rows of the inputs in `fed`.
    """

    progress: str
    fed: tuple[int, ...] = ()


def chain_kernel(
    patches: Sequence[Patch],
    tensors: Sequence[Tensor],
    build: BuildBand,
    symbol: str,
    slices: Slices | None = None,
) -> Kernel:
    """Return the kernel of a chain, whole or in patches; `symbol` begins its functions' names."""
    bands = {
        (number, link.output, band): build(*patch.band(link, band))
        for number, patch in enumerate(patches)
        for link in patch.pacing.links
        for band in patch.bands(link)
    }
    for kernel in bands.values():
        if kernel.variables or kernel.callees or kernel.function.ret_type == ir.PrimType("int32"):
            raise UnsupportedError("it has variables or a status, so it cannot compute bands")
    return _Chain(patches, tensors, bands, symbol, slices).kernel()


@dataclass(frozen=True)
class _Room:
    """A rolling buffer's place in the workspace, in bytes."""

    offset: int
    row: int


class _Chain:
    """A chain's nest while it is built."""

    def __init__(
        self,
        patches: Sequence[Patch],
        tensors: Sequence[Tensor],
        bands: Mapping[tuple[int, int, Band], Kernel],
        symbol: str,
        slices: Slices | None,
    ) -> None:
        self.patches, self.bands, self.symbol = patches, bands, symbol
        self.nest, self.slices = Nest(), slices
        self.callees: list[Callee] = []
        self._constants: dict[tuple[str, bytes], Any] = {}
        self._reads: dict[int, Any] = {}
        self._enter(0)
        for index in self.pacing.inputs:
            self._reads[index] = self._read("input", tensors[index])
        self._read_constants()
        self.output = self.nest.write("output", tensors[self.pacing.output])
        size = max(patch.bytes(ALIGNMENT) for patch in patches)
        self._scratch = size
        size += max(kernel.workspace_bytes for kernel in bands.values())
        self.rows: Any = self.nest.room("rows", max(size, 1)) if size else None

    def _enter(self, number: int) -> None:
        """Continue with another patch."""
        self._number, self.patch = number, self.patches[number]
        self.pacing, self.tensors = self.patch.pacing, self.patch.tensors
        self._rooms: dict[int, _Room] = {}
        size = 0
        for tensor, roll in self.pacing.rolls.items():
            self._rooms[tensor] = _Room(size, row_bytes(self.tensors[tensor]))
            size = rounded_up(size + roll.rows * row_bytes(self.tensors[tensor]), ALIGNMENT)
        if self.patch.columns:
            target = self.pacing.output
            self._rooms[target] = _Room(size, row_bytes(self.tensors[target]))

    def _read(self, name: str, tensor: Tensor) -> Any:
        taken = len(self._reads)
        return self.nest.read(f"{name}_{taken}" if taken else name, tensor)

    def _read_constants(self) -> None:
        """Declare the network's constants, those of the kernels and of resizes, each once."""
        for kernel in self.bands.values():
            for index in kernel.inputs:
                if self.tensors[index].data is not None and index not in self._reads:
                    self._reads[index] = self._read("constant", self.tensors[index])
        names: set[str] = set()
        for (_, output, _), kernel in self.bands.items():
            parameters = kernel.function.params[len(kernel.inputs) :]
            number = [link.output for link in self.pacing.links].index(output)
            for parameter, constant in zip(parameters, kernel.constants, strict=False):
                self._declare(f"{parameter.name}_{number}", constant, names)
        for number, link in enumerate(self.pacing.links):
            if link.reach.spans:
                self._declare(f"firsts_{number}", _nexts(link.reach.spans), names)

    def _declare(self, name: str, constant: KernelConstant, names: set[str]) -> None:
        key = _key(constant)
        if key not in self._constants:
            self._constants[key] = self.nest.table(unused_name(name, names), constant)

    def kernel(self) -> Kernel:
        """Return the kernel."""
        nest, turns = self.nest, self.pacing.turns
        if self.slices:
            self._slice(self.slices)
        else:
            for number in range(len(self.patches)):
                self._enter(number)
                self._run()
        sources = frozenset().union(*(kernel.sources for kernel in self.bands.values()))
        kernel = nest.kernel(sources)
        function = kernel.function.with_attr(TURNS, len(turns)) if self.slices else kernel.function
        return replace(
            kernel,
            function=function,
            callees=tuple(self.callees),
            steps=self._steps(),
            distance=None if self.patch.columns else distance_of(self.pacing, self.tensors),
        )

    def _run(self) -> None:
        """Compute a patch, turn by turn."""
        self._fill_above()
        turns = self.pacing.turns
        with self.nest.loop("turn", len(turns), turns.start) as turn:
            starts = self._starts(turn)
            for tensor in self.pacing.inputs:
                if tensor in starts:
                    self._copy(tensor, turn, starts)
            self._turn(turn, starts)

    def _starts(self, turn: Any) -> dict[int, Any]:
        """Return the first row of each buffer in a turn."""
        return {
            tensor: self.nest.let(f"start_{n}", self._start(tensor, turn))
            for n, tensor in enumerate(self.pacing.rolls)
        }

    def _turn(self, turn: Any, starts: Starts) -> None:
        """Compute the rows of a turn, whose input is in its buffer."""
        nest = self.nest
        for number, link in enumerate(self.pacing.links):
            nest.call(STEP, tirx.lookup_param(mark(self.symbol, number + 1)))
            self._link(number, link, turn, starts)
        nest.call(STEP, tirx.lookup_param(mark(self.symbol)))
        for tensor, roll in self.pacing.rolls.items():
            if roll.kept:
                self._move(tensor, turn, starts)

    def _slice(self, slices: Slices) -> None:
        """Take the caller's rows, and compute a turn if its rows are complete."""
        nest, turns = self.nest, self.pacing.turns
        progress = nest.outside(*declare_progress(slices.progress))
        turn = nest.let("turn", progress[TURN] + turns.start)
        if any(roll.above for roll in self.pacing.rolls.values()):
            with nest.when(turn == turns.start):
                self._fill_above()
        starts, is_ready = self._starts(turn), None
        for tensor in self.pacing.inputs:
            if tensor in slices.fed:
                is_ready = self._take(tensor, turn, starts, progress)
            elif tensor in starts:
                self._copy(tensor, turn, starts)
        with nest.when(is_ready) if is_ready is not None else nullcontext():
            self._turn(turn, starts)
            nest.store(progress, (TURN,), turn - turns.start + 1)
            with nest.when(turn == turns.stop - 1):
                nest.store(progress, (TURN,), int32(0))
                nest.store(progress, (CALL,), nest.let("call", progress[CALL]) + 1)

    def _take(self, tensor: int, turn: Any, starts: Starts, progress: Any) -> Any:
        """Copy rows that the caller gives; return whether a turn has all of its rows."""
        nest = self.nest
        fed, left = nest.let("fed", progress[FED]), nest.let("left", progress[LEFT])
        lacking = nest.let("lacking", _done(self.pacing.paces[tensor], turn) - fed)
        taken = nest.let("taken", tirx.min(left, lacking))
        with nest.when(taken > 0):
            size = taken * row_bytes(self.tensors[tensor])
            source = self._reads[tensor].data
            nest.call("memcpy", self._place(tensor, fed, starts), source, _size(size))
            nest.store(progress, (FED,), fed + taken)
            nest.store(progress, (LEFT,), left - taken)
        return taken == lacking

    def _fill_above(self) -> None:
        """Write the rows above the picture."""
        for tensor, roll in self.pacing.rolls.items():
            if roll.above:
                self._fill(tensor, 0, roll.above, roll.fill)

    def _steps(self) -> tuple[MarkedStep, ...]:
        """Return the operators as a profile counts them, inside the chain's step."""
        return tuple(
            MarkedStep(
                self.symbol, number, ProgramStep(link.op.code, self.tensors[link.output].name, CPU)
            )
            for number, link in enumerate(self.pacing.links, 1)
        )

    # ---- rows ------------------------------------------------------------------------------------

    def _start(self, tensor: int, turn: Any) -> Any:
        readers = self.pacing.readers(tensor)
        kinds = {
            (self.pacing.paces[link.output], replace(link.reach, taps=1, fill=0)): link
            for link in readers
        }  # equal ones only once: a compiler warns about their minimum
        start, *others = (self._first(link, turn) for link in kinds.values())
        for first in others:
            start = tirx.min(start, first)
        return start

    def _first(self, link: RowLink, turn: Any) -> Any:
        done = _done(self.pacing.paces[link.output], turn - 1)
        first = self._first_of(link.reach, done)
        skips = link.reach.spans is not None and link.reach.spans.firsts[0] > 0
        return tirx.Select(done > 0, first, int32(0)) if skips else first

    def _first_of(self, reach: RowReach, row: Any) -> Any:
        """Return the first input row that an output row reads."""
        if reach.spans:
            return int32(self._constants[_key(_nexts(reach.spans))][row])
        return row * reach.stride - reach.before

    def _skipped(self, link: RowLink, tensor: int) -> int:
        """Return the bytes of an input's row before those that a link needs."""
        want = self.patch.wanted.get((link.output, tensor))
        if want is None:
            return 0
        columns = self.patch.columns[tensor]
        return (want.start - columns.start) * (self._rooms[tensor].row // len(columns))

    def _place(self, tensor: int, row: Any, starts: Starts, skipped: int = 0) -> Any:
        """Return the address of a row, or of a byte in it, as a pointer to the tensor's type."""
        dtype = self.tensors[tensor].dtype
        if tensor not in starts:
            view = self.output if tensor == self.pacing.output else self._reads[tensor]
            return tirx.address_of(view[0, row, 0, 0])
        room = self._rooms[tensor]
        byte = (row - starts[tensor]) * room.row + (room.offset + skipped)
        at = tirx.address_of(self.rows[byte])
        kind = pointer("", dtype).ty
        return at if dtype == "int8" else tirx.reinterpret(kind, at)

    def _copy(self, tensor: int, turn: Any, starts: Starts) -> None:
        """Copy rows of the chain's input to its buffer."""
        nest, pace = self.nest, self.pacing.paces[tensor]
        before = nest.let("before", _done(pace, turn - 1))
        rows = nest.let("rows_in", _done(pace, turn) - before)
        size, columns = row_bytes(self.tensors[tensor]), self.patch.columns.get(tensor)
        if columns:
            with nest.loop("row", rows, before) as row:
                source = tirx.address_of(self._reads[tensor][0, row, columns.start, 0])
                nest.call("memcpy", self._place(tensor, row, starts), source, _size(size))
            return
        with nest.when(rows > 0):
            source = tirx.address_of(self._reads[tensor][0, before, 0, 0])
            nest.call("memcpy", self._place(tensor, before, starts), source, _size(rows * size))

    def _store(self, before: Any, rows: Any, starts: Starts) -> None:
        """Copy rows of a patch's output to its columns."""
        tensor, nest = self.pacing.output, self.nest
        column, size = self.patch.columns[tensor].start, row_bytes(self.tensors[tensor])
        with nest.loop("row", rows, before) as row:
            target = tirx.address_of(self.output[0, row, column, 0])
            nest.call("memcpy", target, self._place(tensor, row, starts), _size(size))

    def _fill(self, tensor: int, at: Any, rows: Any, value: int) -> None:
        room = self._rooms[tensor]
        place = tirx.address_of(self.rows[at * room.row + room.offset])
        self.nest.call("memset", place, int32(value), _size(rows * room.row))

    def _move(self, tensor: int, turn: Any, starts: Starts) -> None:
        """Move the rows that the next turn reads to the start of the buffer."""
        nest, room = self.nest, self._rooms[tensor]
        after = nest.let("after", self._start(tensor, turn + 1))
        kept = nest.let("kept", _done(self.pacing.paces[tensor], turn) - after)
        with nest.when(tirx.And(after > starts[tensor], kept > 0)):
            target = tirx.address_of(self.rows[room.offset])
            nest.call("memmove", target, self._byte(tensor, after, starts), _size(kept * room.row))

    def _byte(self, tensor: int, row: Any, starts: Starts) -> Any:
        room = self._rooms[tensor]
        return tirx.address_of(self.rows[(row - starts[tensor]) * room.row + room.offset])

    # ---- operators -------------------------------------------------------------------------------

    def _link(self, number: int, link: RowLink, turn: Any, starts: Starts) -> None:
        nest, pace = self.nest, self.pacing.paces[link.output]
        before = nest.let(f"before_{number}", _done(pace, turn - 1))
        rows = nest.let(f"rows_{number}", _done(pace, turn) - before)
        first = nest.let(f"first_{number}", self._first(link, turn))
        for tensor in dict.fromkeys(link.op.inputs):
            roll = self.pacing.rolls.get(tensor)
            if roll and roll.below > 0 and link.reach.fill is not None:
                self._fill_below(tensor, link, (first, rows), starts)
        is_last = bool(self.patch.columns) and link.output == self.pacing.output
        places = {**starts, link.output: before} if is_last else starts
        if link.reach.spans or self.patch.is_by_row(link):
            with nest.loop("row", rows, before) as row:
                start = nest.let("from", self._first_of(link.reach, row))
                self._call(number, link, Band(1), (start, row), places)
        else:
            self._call_band(number, link, (first, before, rows), places)
        if is_last:
            self._store(before, rows, places)

    def _call_band(
        self, number: int, link: RowLink, band_: tuple[Any, Any, Any], starts: Starts
    ) -> None:
        """Call the function for the band's rows; `band_` is its first rows and their number."""
        first, before, rows = band_
        above, below = self._outside(link, first, rows)
        for band in self.patch.bands(link):
            is_it = rows == band.rows
            if link.reach.fill is None:
                is_it = tirx.all(is_it, above == band.above, below == band.below)
            with self.nest.when(is_it):
                self._call(number, link, band, (first + band.above, before), starts)

    def _outside(self, link: RowLink, first: Any, rows: Any) -> tuple[Any, Any]:
        """Return the numbers of a band's rows above and below the picture, which it leaves out."""
        reach, nest = link.reach, self.nest
        if reach.fill is not None:
            return None, None
        height = self.pacing.paces[link.op.inputs[0]].rows
        end = first + (rows - 1) * reach.stride + (reach.taps - height)
        return nest.let("above", tirx.max(0 - first, 0)), nest.let("below", tirx.max(end, 0))

    def _call(
        self, number: int, link: RowLink, band: Band, places: tuple[Any, Any], starts: Starts
    ) -> None:
        """Call the function of a band; `places` are its first rows of the inputs and the output."""
        function = self._function(number, link, band)
        arguments = self._arguments(link, band, places, starts)
        self.nest.call(function, *(a for i, a in enumerate(arguments) if i in self._kept))

    def _fill_below(
        self, tensor: int, link: RowLink, band_: tuple[Any, Any], starts: Starts
    ) -> None:
        """Write the rows below the picture that a band reads."""
        (first, rows), height = band_, self.tensors[tensor].shape[1]
        nest, reach, roll = self.nest, link.reach, self.pacing.rolls[tensor]
        below = nest.let("below", first + (rows - 1) * reach.stride + (reach.taps - height))
        with nest.when(tirx.And(rows > 0, below > 0)):
            self._fill(tensor, height - starts[tensor], below, roll.fill)

    def _function(self, number: int, link: RowLink, band: Band) -> str:
        """Declare the function of a band and return its name."""
        kernel = self.bands[self._number, link.output, band]
        ends = {"above": band.above, "below": band.below}
        outside = "".join(f"_{rows}_{end}" for end, rows in ends.items() if rows)
        part = f"_patch_{self._number}" if self.patch.columns else ""
        name = f"{self.symbol}_{link.op.code.lower()}_{number}{part}_rows_{band.rows}{outside}"
        reads = len(kernel.inputs) + len(kernel.constants)
        parameters = kernel.function.params[len(kernel.inputs) :]
        types = {
            parameter.name: constant.ctype
            for parameter, constant in zip(parameters, kernel.constants, strict=False)
            if isinstance(constant, Structs)
        }
        function = kernel.function.with_attr(READS, reads).with_attr("tirx.noalias", True)
        function, kept = drop_unused_parameters(function.with_attr(STRUCTS, types))
        self._kept = set(kept)
        edge = "".join(
            f", {rows} of its input {end} the picture" for end, rows in ends.items() if rows
        )
        text = f"CPU: {counted(band.rows, 'row')} of {link.op.code} of a chain{edge}"
        self.callees.append(Callee(name, function, text))
        return name

    def _arguments(
        self, link: RowLink, band: Band, places: tuple[Any, Any], starts: Starts
    ) -> list[Any]:
        """Return the arguments of a band's kernel, in the order of its parameters."""
        kernel, (first, before) = self.bands[self._number, link.output, band], places
        arguments = [
            self._reads[i].data
            if self.tensors[i].data is not None
            else self._place(i, first, starts, self._skipped(link, i))
            for i in kernel.inputs
        ]
        tables = [self._constants[_key(constant)] for constant in kernel.constants]
        for number, table in enumerate(tables):
            is_by_row = number < kernel.row_tables
            arguments.append(tirx.address_of(table[before]) if is_by_row else table.data)
        arguments.append(self._place(link.output, before, starts))
        if kernel.workspace_bytes:
            arguments.append(tirx.address_of(self.rows[self._scratch]))
        return arguments


def _nexts(spans: Spans) -> Array:
    is_short = max(spans.nexts) <= np.iinfo(np.int16).max
    return np.array(spans.nexts, np.int16 if is_short else np.int32)


def _done(pace: Pace, turn: Any) -> Any:
    """Return the rows that are computed after a turn."""
    done = tirx.max(turn * pace.pace + pace.lead, 0)
    if pace.every > 1:
        done = tirx.truncdiv(done, pace.every)
    return tirx.min(done, pace.rows)


def _size(count: Any) -> Any:
    """Return a number of bytes in the type that C functions take."""
    return count if isinstance(count, int) else tirx.Cast("uint32", count)


def _key(constant: Any) -> tuple[str, bytes]:
    if isinstance(constant, Structs):
        return constant.ctype, constant.data
    return str(constant.dtype), np.ascontiguousarray(constant).tobytes()
