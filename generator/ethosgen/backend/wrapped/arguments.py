"""The call of a chain: addresses, numbers, constants and scratch."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.wrapped.declaration import Formula, LocalMemory
from ethosgen.backend.wrapped.expressions import AbsentError, Expression
from ethosgen.backend.wrapped.folder import AcceleratorFolder
from ethosgen.backend.wrapped.matching import Match
from ethosgen.backend.wrapped.python import Engine
from ethosgen.backend.wrapped.site import HELIUM, INSTANCE, ORDERS, known_pointers, known_terms
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.call import Address, Argument, Call, Function
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted, nearest
from ethosgen.values.local_memory import Local, LocalCopy
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Tensor
from ethosgen.values.plan import Blob, Scratch

SCRATCH = "scratch"


class Refusal(Exception):  # noqa: N818 - it is an answer
    """A chain that cannot be called as declared; the text says why."""


@dataclass(frozen=True)
class Parameters:
    """A call with its constants and its scratch."""

    call: Call
    blobs: tuple[Blob, ...] = ()
    scratches: tuple[Scratch, ...] = ()


@dataclass
class _CallArguments:
    """Builds the arguments of one call; `stem` begins the names of its constants."""

    folder: AcceleratorFolder
    engine: Engine
    match: Match
    stem: str
    blobs: list[Blob] = field(default_factory=list)
    scratches: list[Scratch] = field(default_factory=list)

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {**self.match.site.arrays, **self.engine.arrays(self.match.site)}

    @property
    def alignment(self) -> int:
        return self.folder.declaration.memory.alignment

    def argument(self, text: str | int) -> tuple[str, Argument]:
        """Return the C type of an argument, and its value."""
        if isinstance(text, int):
            return "int32_t", text
        operation, site = self.match.operation, self.match.site
        if text in self.arrays:
            return self._array(text, self.arrays[text])
        if text in site.tensors:
            return self._tensor(text, site.tensors[text])
        if text == SCRATCH:
            return "void *", self._scratch()
        if text in known_pointers(operation.codes, operation.main):
            return self._absent(text), None
        return "int32_t", number(operation.values[text], self.match)

    def _tensor(self, name: str, tensor: Tensor) -> tuple[str, Argument]:
        if tensor.data is None:
            const = (
                "" if tensor.is_variable or tensor.index in self.match.site.outputs else "const "
            )
            return f"{const}{C_TYPES[tensor.dtype]} *", Address(tensor.index)
        if name == "weights":
            array = _packed_weights(self.match, tensor, self.engine)
        else:
            array = tensor.array()
        return self._array(name, array)

    def _array(self, name: str, array: NDArray[Any]) -> tuple[str, Argument]:
        dtype = str(array.dtype)
        if dtype not in C_TYPES:
            raise Refusal(f"{name} has the type {dtype}, which C does not have")
        blob = Blob(
            f"{self.stem}_{name}",
            np.ascontiguousarray(array).tobytes(),
            comment=f"{self.folder.name}: {name}, {'x'.join(map(str, array.shape)) or '1'}.",
            dtype=dtype,
            alignment=max(16, self.alignment),
        )
        self.blobs.append(blob)
        return f"const {C_TYPES[dtype]} *", Address(blob.name)

    def _scratch(self) -> Argument:
        wanted = self.match.operation.scratch
        size = wanted if isinstance(wanted, int) else number(Expression(wanted), self.match)
        size = self.engine.scratch(self.match.site, size)
        if size < 0:
            raise Refusal(f"scratch = {wanted} is {size}")
        if not size:
            return None
        scratch = Scratch(f"{self.stem}_scratch", size, alignment=max(16, self.alignment))
        self.scratches.append(scratch)
        return Address(scratch.name)

    def _absent(self, name: str) -> str:
        """Return the C type of an absent optional tensor; Refusal if it is required."""
        site = self.match.site
        if not name.endswith("bias"):
            raise Refusal(f"there is no {name} to pass to {self.match.operation.call}")
        kinds = {"int16": "int64", "float32": "float32"}
        kind = kinds.get(site.source.dtype, "int32")
        return f"const {C_TYPES[kind]} *"


def check_names(
    folder: AcceleratorFolder, match: Match, fields: Collection[str], arrays: Collection[str] = ()
) -> None:
    """Raise InputError for a name in these fields that is neither ethosgen's nor the class's.

    The class has answered for this chain; `arrays` are the arrays that it has given.
    """
    operation, own = match.operation, match.site.extra.keys()
    known = known_terms(operation.codes, operation.main) | own
    pointers = known_pointers(operation.codes, operation.main) | set(arrays)
    for field_name, expression in operation.formulas():
        names = known | pointers if field_name == "arguments" else known
        for name in expression.ordered_names:
            if field_name in fields and name not in names:
                place = f"operator.{match.number}.{field_name}"
                line = folder.line_of(place, expression.text)
                class_names = sorted({*own, *arrays} - {HELIUM, INSTANCE, "multipliers", "shifts"})
                raise InputError(
                    f"accelerator file '{folder.toml}', line {line}: operator[{match.number}]."
                    f"{field_name}: '{expression.text}' has the unknown name '{name}'"
                    f"{nearest(name, names)}; {folder.declaration.python} gives "
                    f"{', '.join(class_names) or 'none'}, and docs/accelerators.md lists the others"
                )


def make_parameters(
    folder: AcceleratorFolder, engine: Engine, match: Match, stem: str
) -> Parameters:
    """Return the call of a chain; Refusal says why it cannot be called."""
    maker = _CallArguments(folder, engine, match, stem)
    operation = match.operation
    check_names(folder, match, ("scratch", "cycles", "start", "arguments"), maker.arrays)
    arguments = [maker.argument(text) for text in operation.arguments]
    line = folder.line(f"operator.{match.number}.arguments")
    symbol = f"{folder.slug}_{operation.method}" if operation.method else operation.call
    function = Function(
        symbol,
        tuple(kind for kind, _ in arguments),
        f"{symbol} is not declared as line {line} of {folder.name}/accelerator.toml calls "
        f"it: int32_t ({', '.join(kind for kind, _ in arguments) or 'void'})",
        headers=folder.headers,
    )
    call = Call(
        function,
        tuple(value for _, value in arguments),
        operation.awaited,
        awaited_line=folder.line(f"operator.{match.number}.awaited"),
        awaited_instance=_instance(folder, match),
    )
    if folder.declaration.memory.local is not None:
        return _in_local_memory(folder.declaration.memory.local, maker, call)
    if operation.awaited:
        number = "" if call.awaited_instance is None else f"_{call.awaited_instance}"
        call = replace(call, around=f"{symbol}_and_wait{number}")
    return Parameters(call, tuple(maker.blobs), tuple(maker.scratches))


def _instance(folder: AcceleratorFolder, match: Match) -> int | None:
    """Return the number of the call's device, None if there is only one."""
    device = folder.declaration.device
    if device is None or device.instances == 1:
        return None
    return number(Expression(INSTANCE), match)


def _in_local_memory(memory: LocalMemory, maker: _CallArguments, call: Call) -> Parameters:
    """Return a call whose tensors, constants and scratch are in the accelerator's own memory."""
    site = maker.match.site
    blobs = {blob.name: len(blob.data) for blob in maker.blobs}
    scratches = {scratch.name: scratch.bytes for scratch in maker.scratches}
    copies: list[LocalCopy] = []
    place = 0
    for number, argument in enumerate(call.arguments):
        if not isinstance(argument, Address):
            continue
        of = argument.of
        size = site.graph.tensors[of].bytes if isinstance(of, int) else blobs.get(of, 0)
        direction = "out" if of in site.outputs else "in"
        if of in scratches:
            size, direction = scratches[str(of)], ""
        copies.append(LocalCopy(number, place, size, direction))
        place += rounded_up(size, maker.alignment)
    if place > memory.bytes:
        raise Refusal(
            f"it needs {counted(place, 'byte')} of its own memory, which has {memory.bytes:,}"
        )
    arguments = tuple(
        None if isinstance(a, Address) and a.of in scratches else a for a in call.arguments
    )
    local = Local(memory.symbol, memory.copy_in, memory.copy_out)
    call = replace(call, arguments=arguments, around=f"{call.function.symbol}_{maker.stem}")
    return Parameters(replace(call, local=local, copies=tuple(copies)), tuple(maker.blobs))


def number(expression: Expression, match: Match) -> int:
    """Return an integer formula's value; Refusal if it has none or is not an int32."""
    try:
        value = expression.evaluate(match.site.terms)
    except AbsentError as name:
        raise Refusal(f"there is no {name} for {expression.text}") from None
    except ValueError as error:
        raise Refusal(str(error)) from None
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
        raise Refusal(f"{expression.text} is {value}, which is not an int32_t")
    return value


def cycles_of(
    folder: AcceleratorFolder, engine: Engine, match: Match, tables: Mapping[int, "CycleTable"]
) -> int | None:
    """Return the cycles of a call without its start, None if they are unknown."""
    cycles = engine.cycles(match.site)
    if cycles is not None:
        return cycles
    operation = match.operation
    if match.number in tables and (known := tables[match.number].look_up(match)) is not None:
        return known
    return None if operation.cycles is None else _estimate(operation.cycles, match)


def start_of(folder: AcceleratorFolder, match: Match) -> int:
    """Return a call's cycles besides its operators'."""
    own = match.operation.start
    return folder.declaration.start if own is None else _estimate(own, match) or 0


def _estimate(formula: Formula, match: Match) -> int | None:
    """Return a formula's value, None if it has none."""
    if isinstance(formula, int):
        return formula
    try:
        return max(0, round(float(Expression(formula).evaluate(match.site.terms))))
    except (AbsentError, ValueError, TypeError):
        return None


@dataclass(frozen=True)
class CycleTable:
    """Measured cycles by the values of some terms; `file` names it for messages."""

    file: str
    terms: tuple[str, ...]
    rows: Mapping[tuple[str, ...], int]

    def look_up(self, match: Match) -> int | None:
        """Return the cycles of a chain, None if it was not measured.

        InputError for a column that no such chain can have.
        """
        known = match.site.terms
        possible = known_terms(match.operation.codes, match.operation.main) | known.keys()
        for term in self.terms:
            if term not in possible:
                raise InputError(
                    f"'{self.file}': a column is named '{term}'{nearest(term, possible)}, which is "
                    "no term of this operation"
                )
        return self.rows.get(tuple(str(known.get(term)) for term in self.terms))

    def nearest_row(self, match: Match) -> str:
        """Return that no row has a chain's terms, and where the nearest row differs."""
        own = [str(match.site.terms.get(term)) for term in self.terms]
        differing = (
            [
                f"{term} is {theirs} instead of {mine}"
                for term, mine, theirs in zip(self.terms, own, row, strict=True)
                if mine != theirs
            ]
            for row in self.rows
        )
        nearest_one = min(differing, key=len, default=[])
        where = f"; in the nearest {', '.join(nearest_one)}" if nearest_one else ""
        return f"no row of '{self.file}' has its terms{where}"


def _packed_weights(match: Match, tensor: Tensor, engine: Engine) -> NDArray[Any]:
    """Return constant weights as declared: in another order, or as the Python method packs them."""
    operation, site = match.operation, match.site
    array = tensor.array()
    if operation.pack_method:
        return engine.pack(operation.pack_method, site, array)
    if not operation.weights:
        return array
    own = ORDERS[site.main.code]
    return np.ascontiguousarray(array.transpose([own.index(axis) for axis in operation.weights]))
