"""A board, or QEMU in its place, that runs single functions of a TVM program.

It has the role of TVM's RPC for microcontrollers: each run builds a firmware with the functions,
starts it, sends the arrays, and reads what the functions wrote and how long each took.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ethosgen.api.progress import watch_of
from ethosgen.board import Board, load_board
from ethosgen.flow.cpu_time import counting
from ethosgen.flow.firmware import build_project, flash_project
from ethosgen.flow.planning import compile_placed
from ethosgen.project import open_project, render, write
from ethosgen.targets import SerialLine, default_target, run
from ethosgen.values.errors import EthosgenError, InputError, ToolError
from ethosgen.values.grammar import counted
from ethosgen.values.outcome import Sample
from ethosgen.values.watch import Announce
from ethosgen_relax.functions import (
    Array,
    DeviceFunction,
    FunctionParameter,
    plan_of,
    read_function,
    with_functions,
)

if TYPE_CHECKING:
    from tvm import tirx

MOST = 16
"""The most functions in one firmware."""
_ROOM = 1 << 16
"""The bytes that the outputs of a firmware's functions may take; one function may take more."""


@dataclass(frozen=True)
class DeviceRun:
    """What a function did: the arrays that it wrote, and the processor's count in `unit`.

    `fault` says why it did not run; then nothing is known.
    """

    outputs: tuple[Array, ...] = ()
    count: int = 0
    unit: str = ""
    fault: str = ""


class RemoteDevice:
    """A board that runs PrimFuncs.

    On QEMU, the default of most boards, times are cycles by LLVM's model of the core, or counts of
    instructions where it has none. With `port`, a serial port or a pyserial URL, the board itself
    runs them; `flash` writes each firmware to it by the board's tool. `announce` receives a line
    for each phase of a run, such as `print`.
    """

    def __init__(
        self,
        board: str = "corstone300",
        *,
        on: str | None = None,
        port: str | None = None,
        baud: int | None = None,
        flash: bool = True,
        announce: Announce | None = None,
    ) -> None:
        self._board: Board = load_board(board)
        self._line = None if port is None else SerialLine(port, baud)
        self._on = on or ("serial" if port else default_target(self._board))
        self._must_flash = flash and self._line is not None
        self._announce = announce

    def run(self, function: "tirx.PrimFunc", *arguments: Any) -> DeviceRun:
        """Run a PrimFunc once; return its outputs and its time.

        `arguments` are for its parameters in order: arrays, integers, and None for a buffer that
        the function writes. InputError for arguments that do not fit, or a function that cannot run
        on a device; CapacityError if it is too large for the board.
        """
        known = read_function(function)
        (answer,) = self._together([known], *_fitting(known.parameters, arguments))
        return answer

    def run_each(
        self, functions: "Sequence[tirx.PrimFunc]", *arguments: Any
    ) -> tuple[DeviceRun, ...]:
        """Run several PrimFuncs with equal parameters on the same arguments.

        Several run in one firmware. One that cannot run has a `fault`, and the others run.
        """
        answers: dict[int, DeviceRun] = {}
        able: dict[int, DeviceFunction] = {}
        for place, function in enumerate(functions):
            try:
                able[place] = read_function(function)
            except InputError as error:
                answers[place] = DeviceRun(fault=str(error))
        if able:
            read = list(able.values())
            _require_equal(read)
            inputs, numbers = _fitting(read[0].parameters, arguments)
            for place, answer in zip(able, self._batches(read, inputs, numbers), strict=True):
                answers[place] = answer
        return tuple(answers[place] for place in range(len(functions)))

    def _batches(
        self, functions: Sequence[DeviceFunction], inputs: Sequence[Array], numbers: Sequence[int]
    ) -> list[DeviceRun]:
        size = sum(p.bytes for p in functions[0].outputs)
        step = max(1, min(MOST, _ROOM // max(size, 1)))
        batches = [functions[start : start + step] for start in range(0, len(functions), step)]
        return [run for batch in batches for run in self._halved(batch, inputs, numbers)]

    def _halved(
        self, functions: Sequence[DeviceFunction], inputs: Sequence[Array], numbers: Sequence[int]
    ) -> list[DeviceRun]:
        """Run functions together, or by halves if a firmware with all of them fails."""
        try:
            return self._together(functions, inputs, numbers)
        except ToolError:
            raise
        except EthosgenError as error:
            if len(functions) == 1:
                return [DeviceRun(fault=str(error))]
        half = len(functions) // 2
        parts = functions[:half], functions[half:]
        return [run for part in parts for run in self._halved(part, inputs, numbers)]

    def _together(
        self, functions: Sequence[DeviceFunction], inputs: Sequence[Array], numbers: Sequence[int]
    ) -> list[DeviceRun]:
        board, watch = self._board, watch_of(self._announce)
        plan = plan_of(functions, numbers)
        mode = board.choose_memory_mode(None, None)
        program = with_functions(compile_placed(plan, board, mode, watch), functions)
        with TemporaryDirectory(prefix="ethosgen-") as folder:
            directory = Path(folder) / "project"
            write(render(program, board, memory_mode=mode), directory)
            built = build_project(directory, on=self._on, profile=True, watch=watch)
            if self._must_flash:
                flash_project(directory, watch=watch)
            info = open_project(directory)
            names = [tensor.name for tensor in plan.network.inputs]
            sample = dict(zip(names, inputs, strict=True))
            with counting(info, built) as counter:
                outcome = run(
                    built.elf,
                    info,
                    [sample],
                    on=self._on,
                    attach=None,
                    line=self._line,
                    profile=True,
                    counter=counter,
                )
        return _answers(functions[0].outputs, outcome.samples[0])


def _require_equal(functions: Sequence[DeviceFunction]) -> None:
    kinds = [[(p.dtype, p.shape, p.is_written) for p in f.parameters] for f in functions]
    for number, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise InputError(f"function {number} has other parameters than function 0")


def _fitting(
    parameters: Sequence[FunctionParameter], arguments: Sequence[Any]
) -> tuple[list[Array], list[int]]:
    """Return the arrays that are read, and the numbers; InputError for what does not fit."""
    if len(arguments) != len(parameters):
        raise InputError(
            f"the PrimFunc has {counted(len(parameters), 'parameter')}, and you pass "
            f"{counted(len(arguments), 'argument')}; pass None for a buffer that it writes"
        )
    arrays: list[Array] = []
    numbers: list[int] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.shape is None:
            if not isinstance(argument, int | np.integer):
                raise InputError(f"parameter '{parameter.name}' is a number; pass an int")
            numbers.append(int(argument))
        elif not parameter.is_written:
            arrays.append(_array(parameter, argument))
    return arrays, numbers


def _array(parameter: FunctionParameter, argument: Any) -> Array:
    array = np.asarray(argument.numpy() if hasattr(argument, "numpy") else argument)
    if argument is None or array.dtype != parameter.dtype or array.shape != parameter.shape:
        theirs = "None" if argument is None else f"{array.dtype} {list(array.shape)}"
        raise InputError(
            f"buffer '{parameter.name}' is {parameter.dtype} {list(parameter.shape or ())}, and "
            f"you pass {theirs}"
        )
    return array.reshape(parameter.shape or (1,))


def _answers(outputs: Sequence[FunctionParameter], sample: Sample) -> list[DeviceRun]:
    assert sample.profile is not None
    profile = sample.profile.with_cycles(sample.cpu_cycles).in_cycles()
    return [
        DeviceRun(
            tuple(sample.outputs[f"{p.name}_{place}"].reshape(p.shape or ()) for p in outputs),
            cost.count,
            profile.unit,
        )
        for place, cost in enumerate(profile.steps)
    ]
