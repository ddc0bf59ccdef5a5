"""The tables of an accelerator.toml: a class for each, with documented fields."""

import difflib
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ethosgen.backend.wrapped.expressions import Expression
from ethosgen.backend.wrapped.site import INSTANCE, ORDERS, known_pointers, known_terms
from ethosgen.toml.files import schema_text
from ethosgen.toml.names import PlatformName
from ethosgen.toml.tables import Table
from ethosgen.values.device import VerilogSettings, is_verilog
from ethosgen.values.dialect import OPS
from ethosgen.values.grammar import counted, nearest

Bytes = Annotated[int, Field(ge=0)]
Formula = int | str
Addr = Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4)]
Offset = Annotated[int, Field(ge=0, multiple_of=4)]
Irq = Annotated[int, Field(ge=0, lt=480)]


def _spelled(pattern: str, what: str) -> Callable[[str], str]:
    """Return a validator of names; ValueError says what a wrong one is not."""

    def check(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise ValueError(f"'{name}' is not {what}")
        return name

    return check


CName = Annotated[str, AfterValidator(_spelled(r"[A-Za-z_]\w*", "a name in C, such as my_engine"))]
CNameOrNone = Annotated[
    str,
    AfterValidator(_spelled(r"([A-Za-z_]\w*)?", "the name of a C function, such as my_handler")),
]
_ORDER = re.compile(r"[OHWI]{2,4}")
MOST_INSTANCES = 8
"""The most equal devices of an accelerator."""
_PYTHON = re.compile(r"python:([A-Za-z_]\w*)")
CallName = Annotated[
    str,
    AfterValidator(
        _spelled(r"(python:)?[A-Za-z_]\w*", "a name in C, such as my_engine, or python:METHOD")
    ),
]


class LocalMemory(Table):
    """The accelerator's own memory."""

    bytes: Annotated[int, Field(gt=0)]
    """Its size."""
    symbol: CName
    """The array of bytes (uint8_t NAME[]), which a header declares."""
    copy_in: CName
    """int32_t NAME(void *to, const void *from, int32_t bytes) copies into it; returns a status."""
    copy_out: CName
    """The same, to copy results back."""


class MemoryDemands(Table):
    """The accelerator's memory requirements."""

    alignment: Literal[1, 2, 4, 8, 16, 32, 64, 128, 256] = 16
    """The alignment in bytes of each tensor, constant and scratch whose address it gets."""
    local: LocalMemory | None = None
    """Its own memory: what a call reads is copied in, and what it writes is copied back."""


class DeclaredPlace(Table):
    """The device's address and interrupt on a board."""

    base: Addr | list[Addr]
    """The address of its registers; of several instances a list."""
    irq: Irq | list[Irq] | None = None
    """The number of its interrupt; of several instances a list."""

    def place(self, instance: int) -> tuple[int, int | None]:
        """Return the address and the interrupt of an instance."""
        irq = self.irqs[instance] if self.irqs else None
        return self.bases[instance], irq

    @property
    def bases(self) -> list[int]:
        """The address of each instance."""
        return self.base if isinstance(self.base, list) else [self.base]

    @property
    def irqs(self) -> list[int]:
        """The interrupt of each instance; none if no instance has one."""
        if self.irq is None:
            return []
        return self.irq if isinstance(self.irq, list) else [self.irq]


class DeclaredVerilog(Table):
    """How Verilator simulates a device's RTL."""

    start: Offset
    """The register whose write starts a job; the RTL gets it after all other writes."""
    done: Offset
    """The register that announces the end; the firmware gets it after all others."""
    commands: list[Offset] = Field(default_factory=list)
    """More registers whose every write acts, whatever they read as, such as one that clears irq."""
    sources: list[str] = Field(default_factory=list)
    """More files of the RTL; those that others include (.svh, .vh) must be named, too."""
    options: list[str] = Field(default_factory=list)
    """Verilator's options, such as -GLANES=4 or +define+FAST."""
    limit: Annotated[int, Field(gt=0, lt=1 << 40)] = 10_000_000
    """The most clock cycles of a job."""
    latency: Annotated[int, Field(ge=1, le=1 << 20)] = 1
    """The clock cycles from an address on its AXI4 port to the memory's answer."""
    trace: str = ""
    """A file for the waveform of each run (engine.vcd), in the folder of the command."""

    @model_validator(mode="after")
    def _has_trace(self) -> Self:
        if self.trace and not self.trace.endswith(".vcd"):
            raise ValueError(f"trace: '{self.trace}' must end with .vcd, its format")
        return self

    @property
    def settings(self) -> VerilogSettings:
        """The same as a value."""
        values = self.model_dump()
        lists = {name: tuple(values[name]) for name in ("commands", "sources", "options")}
        return VerilogSettings(**(values | lists))


class DeclaredDevice(Table):
    """A device with registers."""

    registers: Annotated[int, Field(gt=0, le=4096, multiple_of=4)]
    """The size of its register block in bytes."""
    instances: Annotated[int, Field(ge=1, le=MOST_INSTANCES)] = 1
    """The number of equal devices, which may work at once."""
    interrupt: bool = True
    """Whether it has an interrupt; without one it is polled."""
    handler: CNameOrNone = ""
    """A C function without arguments that its interrupt calls; most drivers need none."""
    model: str = ""
    """Its model: C, RTL (engine.sv), or a Python file and class (model.py:MatrixEngine)."""
    verilog: DeclaredVerilog | None = None
    """How its RTL is simulated."""
    shown: dict[str, Offset] = Field(default_factory=dict)
    """Registers whose values the message of a failed call shows: their offsets by name."""
    boards: dict[str, DeclaredPlace] = Field(default_factory=dict)
    """Its address and interrupt on each board, by the board's name."""

    @model_validator(mode="after")
    def _has_registers(self) -> Self:
        if is_verilog(self.model) and not self.verilog:
            raise ValueError(
                "model: RTL needs a table [device.verilog] with the offsets of the registers that "
                "start a job and announce its end: start = 0x04, done = 0x08"
            )
        if self.verilog and not is_verilog(self.model):
            raise ValueError('verilog: the model is not RTL; write model = "engine.sv"')
        for name in ("start", "done") if self.verilog else ():
            if (offset := getattr(self.verilog, name)) >= self.registers:
                raise ValueError(
                    f"verilog.{name}: offset 0x{offset:x} is behind the registers, which have "
                    f"{counted(self.registers, 'byte')}"
                )
        return self

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        for name, offset in self.shown.items():
            if offset >= self.registers:
                raise ValueError(
                    f"shown.{name}: offset 0x{offset:x} is behind the registers, which have "
                    f"{counted(self.registers, 'byte')}"
                )
        for board, place in self.boards.items():
            places = counted(self.instances, "instance")
            if len(place.bases) != self.instances:
                raise ValueError(
                    f"boards.{board}.base: the device has {places}, but "
                    f"{counted(len(place.bases), 'address', 'addresses')}; give each its own"
                )
            if len(set(place.bases)) < self.instances:
                raise ValueError(f"boards.{board}.base: two instances have the same address")
            if place.irqs and len(place.irqs) != self.instances:
                raise ValueError(
                    f"boards.{board}.irq: the device has {places}, but "
                    f"{counted(len(place.irqs), 'interrupt')}; give each its own, or none"
                )
        return self


class External(Table):
    """Sources outside the folder, at the user's path."""

    option: Annotated[
        str, AfterValidator(_spelled("[A-Z][A-Z0-9_]*", "in capitals, such as MY_LIBRARY_PATH"))
    ]
    """The environment and CMake variable that contains the path."""
    title: str
    """A description of the sources, for messages."""
    marker: str
    """A file below the path that identifies the correct folder."""
    sources: list[str] = Field(default_factory=list)
    """C files below the path, with * and ** as wildcards."""
    include: list[str] = Field(default_factory=list)
    """Folders below the path with headers."""
    libraries: list[str] = Field(default_factory=list)
    """Compiled libraries below the path (.a, .so), in the order in which they are linked."""
    default: str = ""
    """The path if the variable is not set."""
    install: str = ""
    """The command that installs missing sources, for messages."""
    version: dict[str, str] = Field(default_factory=dict)
    """Texts that files below the path must contain, by file; other versions are refused."""


class DeclaredOperation(Table):
    """Operators that one C function computes."""

    chain: Annotated[list[str], Field(min_length=1)]
    """Operators in the order of the network, by TFLite's names; "RELU6?" is optional."""
    dtypes: list[str] = Field(["int8"], min_length=1)
    """Types of the first input and the output."""
    where: list[str] = Field(default_factory=list)
    """Predicates; the accelerator takes a chain only if all are true."""
    call: CallName
    """The C function, or python:METHOD of a PrimFunc; it returns 0, or a status to end the run."""
    arguments: list[str | int]
    """Its arguments in order: names of tensors and arrays (pointers), or formulas (int32_t)."""
    weights: str = ""
    """The order of the weights' dimensions, such as HWIO, or python:METHOD [default: TFLite's]."""
    scratch: Formula = 0
    """The bytes of memory that a call needs while it runs: a number or a formula."""
    cycles: Formula | None = None
    """The cycles of a call, without its start: a number or a formula."""
    difference: Annotated[float, Field(ge=0)] = 0.0
    """Steps by which outputs may differ from the oracle's, if --allow-difference allows them."""
    start: Formula | None = None
    """The additional cycles of a call: a number or a formula [default: the file's `start`]."""
    cycles_table: str = ""
    """A .csv file of measured cycles, with columns of terms and `cycles`; else `cycles` counts."""
    awaited: CNameOrNone = ""
    """A function int32_t NAME(void) that waits for the end, for several instances NAME(int32_t)."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for member in self.chain:
            code = member.removesuffix("?")
            if code not in OPS:
                close = difflib.get_close_matches(code.upper(), OPS, 1)
                hint = f" (did you mean '{close[0]}'?)" if close else ""
                raise ValueError(f"chain: there is no operator '{code}'{hint}")
        if all(member.endswith("?") for member in self.chain):
            raise ValueError("chain: at least one operator must not be optional")
        if len(set(self.codes)) < len(self.codes):
            raise ValueError("chain: it has an operator twice; describe them as two operations")
        if self.weights and not (_ORDER.fullmatch(self.weights) or _PYTHON.fullmatch(self.weights)):
            raise ValueError(
                f"weights: '{self.weights}' is neither an order such as OHWI nor python:METHOD"
            )
        self._check_order()
        return self

    def _check_order(self) -> None:
        if not self.weights or self.pack_method:
            return
        code = self.codes[self.main]
        own = ORDERS.get(code)
        if own is None:
            raise ValueError(f"weights: {code} has no weights; delete the line")
        if sorted(self.weights) != sorted(own):
            raise ValueError(
                f"weights: '{self.weights}' is not an order of {code}'s dimensions, which are {own}"
            )

    @property
    def codes(self) -> list[str]:
        """The codes of all members."""
        return [member.removesuffix("?") for member in self.chain]

    @property
    def main(self) -> int:
        """The place of the first member that is required."""
        return next(i for i, member in enumerate(self.chain) if not member.endswith("?"))

    @property
    def method(self) -> str:
        """The Python method that gives a PrimFunc, "" if a C function is called."""
        match = _PYTHON.fullmatch(self.call)
        return match[1] if match else ""

    @property
    def pack_method(self) -> str:
        """The Python method that packs the weights, "" if there is none."""
        match = _PYTHON.fullmatch(self.weights)
        return match[1] if match else ""

    @cached_property
    def predicates(self) -> tuple[Expression, ...]:
        """The predicates, parsed."""
        return tuple(map(Expression, self.where))

    @cached_property
    def values(self) -> dict[str, Expression]:
        """The formulas among the arguments, parsed, by their texts."""
        pointers = known_pointers(self.codes, self.main)
        texts = (str(argument) for argument in self.arguments)
        return {text: Expression(text) for text in texts if text not in pointers}

    def formulas(self) -> Iterator[tuple[str, Expression]]:
        """Yield each formula with the name of its field; ValueError for an invalid one."""
        for text in self.where:
            yield "where", Expression(text)
        for field in ("scratch", "cycles", "start"):
            if isinstance(text := getattr(self, field), str):
                yield field, Expression(text)
        yield from (("arguments", expression) for expression in self.values.values())


class Declaration(Table):
    """An accelerator: its operations, its calls, and its requirements."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    """The version of this format: 1."""
    title: Annotated[str, Field(min_length=1)]
    """A description in a few words."""
    kind: Literal["device", "library"]
    """A device runs all that it takes; a library only what it computes faster than our kernels."""
    headers: Annotated[list[str], Field(min_length=1)]
    """Files with the declarations of its functions."""
    sources: list[str] = Field(default_factory=list)
    """C files of the folder; with Linux also C++ (.cpp, .cc, .cxx)."""
    include: list[str] = Field(default_factory=list)
    """Folders with more headers; all their .h files belong to the accelerator."""
    files: list[str] = Field(default_factory=list)
    """Other files that the sources include."""
    platforms: list[PlatformName] = Field(default_factory=list)
    """The platforms that support it [default: all]."""
    link: list[
        Annotated[str, AfterValidator(_spelled(r"\w[\w.+-]*", "a library, such as pthread"))]
    ] = Field(default_factory=list)
    """System libraries to link: "pthread" stands for -lpthread."""
    host: bool | Literal["aarch64"] = True
    """Whether its C runs on this machine; "aarch64": under QEMU; false: our kernels stand in."""
    external: External | None = None
    """Sources elsewhere, such as a library's."""
    python: str = ""
    """A Python file and class (engine.py:Engine) for what a declaration cannot express."""
    start: Annotated[int, Field(ge=0)] = 0
    """The cycles of a call in addition to its operator's."""
    memory: MemoryDemands = MemoryDemands()
    """Its demands on memory."""
    device: DeclaredDevice | None = None
    """Its registers, if it is a device that ethosgen places and simulates."""
    operator: Annotated[list[DeclaredOperation], Field(min_length=1)]
    """The chains that it computes; the first that fits an operator counts."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for number, operation in enumerate(self.operator):
            known = known_terms(operation.codes, operation.main)
            pointers = known_pointers(operation.codes, operation.main)
            try:
                formulas = list(operation.formulas())
            except ValueError as error:
                field = _field_of(operation)
                raise ValueError(f"operator.{number}.{field}: {error}") from None
            for field, expression in formulas:
                place = f"operator.{number}.{field}"
                self._check_names(expression, known, pointers, place)
                if field == "where" and not expression.names and not expression.evaluate({}):
                    raise ValueError(f"{place}: '{expression.text}' is never true")
            self._check_instance(operation, number)
            methods = {"weights": operation.pack_method, "call": operation.method}
            for field, method in methods.items():
                if method and not self.python:
                    raise ValueError(
                        f"operator.{number}.{field}: it names a method, but `python` none"
                    )
        if self.device and self.kind == "library":
            raise ValueError('device: a library has no registers; write kind = "device"')
        if self.memory.local and self.device and self.device.instances > 1:
            raise ValueError(
                "memory.local: the instances of a device would share it; declare an accelerator "
                "for each memory"
            )
        return self

    def _check_instance(self, operation: DeclaredOperation, number: int) -> None:
        """Raise ValueError if the number of a device is where it is unknown, or is missing."""
        for field, expression in operation.formulas():
            if field != "arguments" and INSTANCE in expression.names:
                raise ValueError(
                    f"operator.{number}.{field}: '{expression.text}' uses '{INSTANCE}', which only "
                    "arguments may, because all instances are equal"
                )
        count = self.device.instances if self.device else 1
        is_told = any(INSTANCE in value.names for value in operation.values.values())
        if count > 1 and not is_told:
            raise ValueError(
                f"operator.{number}.arguments: the device has {counted(count, 'instance')}, but no "
                f'argument tells {operation.call}() which one to use; add "{INSTANCE}"'
            )

    def _check_names(
        self, expression: Expression, known: frozenset[str], pointers: frozenset[str], field: str
    ) -> None:
        for name in sorted(expression.names - known):
            if self.python:  # its class may add terms
                continue
            hint = (
                nearest(name, known | pointers) or f"; pointers are {', '.join(sorted(pointers))}"
            )
            raise ValueError(f"{field}: '{expression.text}' has the unknown name '{name}'{hint}")


def declaration_schema() -> str:
    """Return the JSON schema of accelerator.toml."""
    return schema_text(Declaration, "ethosgen accelerator.toml")


def _field_of(operation: DeclaredOperation) -> str:
    """Return the field with an expression that cannot be parsed."""
    fields: dict[str, list[Any]] = {
        "where": operation.where,
        "scratch": [operation.scratch],
        "cycles": [operation.cycles],
        "start": [operation.start],
    }
    for field, texts in fields.items():
        for text in texts:
            try:
                Expression(str(text))
            except ValueError:
                return field
    return "arguments"
