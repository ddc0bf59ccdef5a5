"""Kernels built statement by statement, where the number of loops depends on the network.

A Nest builds a PrimFunc: `read`, `table` and `write` declare its parameters, `loop` and `when` open
blocks, `let` and `store` fill them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from ethosgen.aot.tir.kernel import Kernel, KernelConstant
from ethosgen.aot.tir.primfunc import pointer
from ethosgen.aot.tir.quantization import Multiplier, divide, multiply, offset
from ethosgen.aot.tir.structs import Struct, structs_of
from ethosgen.aot.tvm import ir, tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Tensor
from ethosgen.values.program import Structs
from ethosgen.values.status import Status

Array = np.ndarray[Any, Any]
Table = Array | Struct | Sequence[Struct] | Structs
"""What is constant: an array, a C struct, or an array of structs."""
Formula = Callable[..., Any]

BAD_VALUE = int(Status.BAD_VALUE)
"""An input value for which TFLite Micro's operator returns an error."""


NOT_READY = int(Status.NOT_READY)
"""The inference ends here until there are enough inputs (kTfLiteAbort)."""

_WORKSPACE_ALIGNMENT = 8

MOST_HALF = 65504.0
"""The greatest finite float16."""


class Nest:
    """Builds a kernel; statements go to the innermost open block."""

    def __init__(self) -> None:
        self._declarations: list[Any] = []
        self._statements: list[Any] = []
        self._reads: list[tuple[Any, int]] = []
        self._tables: list[tuple[Any, KernelConstant]] = []
        self._writes: list[Any] = []
        self._variables: list[tuple[Any, int]] = []
        self._workspace: Any = None
        self._workspace_bytes = 0
        self._returns_status = False
        self._halves: list[Any] = []

    # ---- parameters ----------------------------------------------------------------------------

    def read(self, name: str, tensor: Tensor, shape: Sequence[int] | None = None) -> Any:
        """Declare an input and return it as a buffer, optionally in another shape."""
        variable, buffer = self._declare(name, tensor.dtype, _shape_of(tensor, shape))
        self._reads.append((variable, tensor.index))
        return buffer

    def table(self, name: str, values: Table) -> Any:
        """Declare a constant array, struct or array of structs, and return it as a buffer.

        A buffer of structs has an element for each; use only its address.
        """
        if not isinstance(values, np.ndarray):
            structs = values if isinstance(values, Structs) else _structs(values)
            variable, buffer = self._declare(name, "int32", (len(structs.initializers),))
            self._tables.append((variable, structs))
            return buffer
        variable, buffer = self._declare(name, values.dtype.name, values.shape)
        self._tables.append((variable, values))
        return buffer

    def tables(self, constants: Mapping[str, Table]) -> list[Any]:
        """Declare constants by their names, and return the pointers to them."""
        return [self.table(name, values).data for name, values in constants.items()]

    def write(self, name: str, tensor: Tensor, shape: Sequence[int] | None = None) -> Any:
        """Declare an output and return it as a buffer, optionally in another shape.

        Stores are rounded if the tensor's values are float16.
        """
        variable, buffer = self._declare(name, tensor.dtype, _shape_of(tensor, shape))
        self._writes.append(variable)
        if tensor.is_half:
            self._halves.append(buffer)
        return buffer

    def variable(self, name: str, tensor: Tensor, shape: Sequence[int] | None = None) -> Any:
        """Declare a variable, which keeps its value between inferences; return it as a buffer."""
        if not tensor.is_variable:
            raise UnsupportedError(f"its state '{tensor.name}' is not a variable")
        variable, buffer = self._declare(name, tensor.dtype, _shape_of(tensor, shape))
        self._variables.append((variable, tensor.index))
        return buffer

    def workspace(self, name: str, dtype: str, shape: Sequence[int]) -> Any:
        """Declare temporary memory of the kernel and return it as a buffer."""
        if self._workspace is None:
            self._workspace, self._bytes_view = self._declare("workspace", "int8", (1,))
        place = tirx.address_of(self._bytes_view[self._workspace_bytes])
        variable = pointer(name, dtype)
        self._declarations.append(tirx.Bind(variable, tirx.reinterpret(variable.ty, place)))
        buffer = tirx.decl_buffer(tuple(shape), dtype, f"{name}_view", data=variable)
        self._declarations.append(tirx.DeclBuffer(buffer, data=variable))
        size = math.prod(shape) * np.dtype(dtype).itemsize
        self._workspace_bytes += rounded_up(size, _WORKSPACE_ALIGNMENT)
        return buffer

    def room(self, name: str, count: int) -> Any:
        """Declare all of the kernel's temporary memory as one buffer of int8."""
        self._workspace, buffer = self._declare(name, "int8", (count,))
        self._workspace_bytes = count
        return buffer

    def outside(self, buffer: Any, declarations: Sequence[Any]) -> Any:
        """Take over the declarations of a buffer that is not a parameter, and return it."""
        self._declarations += declarations
        return buffer

    def _declare(self, name: str, dtype: str, shape: Sequence[int]) -> tuple[Any, Any]:
        variable = pointer(name, dtype)
        buffer = tirx.decl_buffer(tuple(shape) or (1,), dtype, f"{name}_view", data=variable)
        self._declarations.append(tirx.DeclBuffer(buffer, data=variable))
        return variable, buffer

    # ---- statements ----------------------------------------------------------------------------

    @contextmanager
    def loop(self, name: str, extent: Any, start: Any = 0) -> Iterator[Any]:
        """Open a loop of `extent` iterations, a number or an expression."""
        if isinstance(extent, int) and extent == 1:
            yield start
            return
        variable = tirx.Var(name, "int32")
        with self._block() as statements:
            yield variable
        body = tirx.stmt_seq(*used(statements))
        self._statements.append(tirx.For(variable, start, extent, tirx.ForKind.SERIAL, body))

    @contextmanager
    def loops(self, shape: Sequence[int], names: str = "") -> Iterator[tuple[Any, ...]]:
        """Open one loop for each dimension, with the names of their variables if any are given."""
        variables = names.split() or [f"i{axis}" for axis in range(len(shape))]
        with ExitStack() as stack:
            yield tuple(
                stack.enter_context(self.loop(name, size))
                for name, size in zip(variables, shape, strict=True)
            )

    @contextmanager
    def when(self, condition: Any) -> Iterator[None]:
        """Open a block that runs if the condition holds."""
        with self._block() as statements:
            yield
        body = tirx.stmt_seq(*used(statements))
        self._statements.append(tirx.IfThenElse(condition, body, None))

    @contextmanager
    def _block(self) -> Iterator[list[Any]]:
        outer, self._statements = self._statements, []
        inner = self._statements
        yield inner
        self._statements = outer

    def let(self, name: str, value: Any) -> Any:
        """Bind an expression that is used several times; return the variable."""
        variable = tirx.Var(name, value.ty)
        self._statements.append(tirx.Bind(variable, value))
        return variable

    def local(self, name: str, value: Any) -> Any:
        """Declare a mutable variable with an initial value; it is a buffer of one element.

        Bind a value loaded from it before using it in a maximum or minimum: TVM's C generator
        reuses an earlier maximum with the same text even after a store in between.
        """
        buffer = tirx.decl_buffer((1,), dtype_of(value), name)
        self._statements.append(tirx.AllocBuffer(buffer))
        self.store(buffer, (0,), value)
        return buffer

    def keep(self, name: str, value: Any) -> Any:
        """Store an expression in a variable, which ends a long chain of lets; return its value.

        TVM's analyses look through lets, which takes exponential time if each is used twice.
        """
        return self.local(name, value)[0]

    def store(self, buffer: Any, index: Sequence[Any], value: Any) -> None:
        """Store a value, cast to the buffer's type."""
        dtype = str(buffer.dtype)
        cast = value if dtype_of(value) == dtype else tirx.Cast(dtype, value)
        if any(buffer.same_as(half) for half in self._halves):
            cast = _half(self, cast)
        self._statements.append(tirx.BufferStore(buffer, cast, tuple(index)))

    def copy(
        self, target: Any, at: Sequence[Any], source: Any, of: Sequence[Any], count: int
    ) -> None:
        """Copy consecutive elements, by memcpy if there are several."""
        if count == 1:
            self.store(target, at, source[tuple(of)])
            return
        size = count * np.dtype(str(source.dtype)).itemsize
        places = tirx.address_of(target[tuple(at)]), tirx.address_of(source[tuple(of)])
        self._statements.append(tirx.Evaluate(tirx.call_extern("void", "memcpy", *places, size)))

    def call(self, function: str, *arguments: Any) -> None:
        """Call a C function without a return value."""
        self._statements.append(tirx.Evaluate(tirx.call_extern("void", function, *arguments)))

    def rescale(self, x: Any, multiplier: Multiplier, zero_point: int = 0) -> Any:
        """Return x times a multiplier, rounded twice as in TFLite, plus a zero point."""
        scaled = divide(self.let("product", multiply(x, multiplier)), multiplier)
        return offset(scaled, zero_point, 2.0**multiplier.shift)

    def fail(self, status: int) -> None:
        """End the inference with a status."""
        self._returns_status = True
        self._statements.append(tirx.Return(tirx.const(status, "int32")))

    # ---- the kernel ----------------------------------------------------------------------------

    def kernel(self, sources: frozenset[str] = frozenset()) -> Kernel:
        """Return the finished kernel; it calls functions of the C files `sources`."""
        returns = None
        if self._returns_status:
            self._statements.append(tirx.Return(tirx.const(0, "int32")))
            returns = ir.PrimType("int32")
        body = tirx.stmt_seq(*self._declarations, *used(self._statements))
        reads = [variable for variable, _ in self._reads]
        tables = [variable for variable, _ in self._tables]
        kept = [variable for variable, _ in self._variables]
        room = [] if self._workspace is None else [self._workspace]
        return Kernel(
            tirx.PrimFunc([*reads, *tables, *self._writes, *kept, *room], body, returns),
            tuple(index for _, index in self._reads),
            tuple(values for _, values in self._tables),
            workspace_bytes=self._workspace_bytes,
            variables=tuple(index for _, index in self._variables),
            sources=sources,
        )


def _structs(values: Struct | Sequence[Struct]) -> Structs:
    """Return a struct, or an array of structs, as a constant."""
    return structs_of((values,) if isinstance(values, Struct) else values)


def _shape_of(tensor: Tensor, shape: Sequence[int] | None) -> Sequence[int]:
    """Return the shape of a tensor's view, its own if None is given.

    UnsupportedError if a contradictory network makes the view larger or smaller than the tensor:
    its kernel would read or write other memory.
    """
    view = tensor.shape if shape is None else shape
    if math.prod(view) != tensor.elements:
        raise UnsupportedError(
            f"it uses '{tensor.name}' of shape {list(tensor.shape)} as {list(view)}"
        )
    return view


def used(statements: Sequence[Any]) -> list[Any]:
    """Return a block without unused lets, which occur if a multiplier is 0."""
    kept: list[Any] = []
    read: list[Any] = []
    for statement in reversed(statements):
        if isinstance(statement, tirx.Bind):
            if not any(statement.var.same_as(variable) for variable in read):
                continue
            expression = tirx.Evaluate(statement.value)
        else:
            expression = statement
        read += tirx.analysis.undefined_vars(expression, [])
        kept.append(statement)
    return kept[::-1]


def dtype_of(value: Any) -> str:
    """Return the numpy dtype name of an expression."""
    return str(value.ty.dtype)


def address(view: Any, *index: Any) -> Any:
    """Return the address of an element."""
    return tirx.address_of(view[index])


def int32(value: Any) -> Any:
    """Return a number or an expression as int32."""
    if isinstance(value, int):
        return tirx.const(value, "int32")
    return value if dtype_of(value) == "int32" else tirx.Cast("int32", value)


def real(value: float, dtype: str = "float32") -> Any:
    """Return an exact floating-point constant.

    TVM's C generator prints seven digits. If these do not determine the number, or it is infinite,
    this returns its bits, which csource converts to a literal.
    """
    if np.isfinite(value) and np.dtype(dtype).type(f"{value:.6e}") == value:
        return tirx.const(value, dtype)
    bits = {"float32": "int32", "float64": "int64"}[dtype]
    pattern = int(np.array(value, dtype).view(bits))
    return tirx.reinterpret(dtype, tirx.const(pattern, bits))


def number(value: float, dtype: str) -> Any:
    """Return a constant of any type."""
    return real(value, dtype) if dtype.startswith("float") else tirx.const(value, dtype)


def _half(nest: Nest, x: Any) -> Any:
    """Return a float32 rounded to the nearest float16, ties to even, as float32.

    `unit` is the largest power of two up to the magnitude, and at least float16's smallest normal
    number. A sum with 2**13 times as much has the digits of a float16.
    """
    value = nest.keep("exact", x)
    magnitude = nest.keep("magnitude", call("fabsf", value))
    unit: Any = real(2.0**-14)
    for step in (16, 8, 4, 2, 1):
        more = nest.let("more", unit * real(2.0**step))
        unit = nest.keep("unit", tirx.Select(magnitude >= more, more, unit))
    more = nest.let("more", unit * real(2.0**13))
    near = nest.keep("near", nest.let("raised", magnitude + more) - more)
    bounded = tirx.Select(near > real(MOST_HALF), real(np.inf), near)
    return call("copysignf", nest.let("bounded", bounded), value)


def limited(x: Any, low: Any, high: Any) -> Any:
    """Return min(max(x, low), high) with C++'s comparisons: NaN stays NaN."""
    return tirx.min(high, tirx.max(low, x))


def call(function: str, *arguments: Any, dtype: str = "float32") -> Any:
    """Return the call of a C library function that returns a number."""
    return tirx.call_extern(dtype, function, *arguments)


def is_number(x: Any) -> Any:
    """Return whether a float32 is a number.

    TVM assumes x == x on the host, and may reverse a negation of this.
    """
    return call("fabsf", x) <= real(np.inf)


def headroom(nest: Nest, x: Any) -> Any:
    """Return the number of bits by which a positive int32 can be shifted left."""
    rest = nest.local("shifting", x)
    places = nest.local("places", int32(0))
    for step in (16, 8, 4, 2, 1):
        with nest.when(rest[0] < 1 << (31 - step)):
            nest.store(rest, (0,), rest[0] << step)
            nest.store(places, (0,), places[0] + step)
    return places[0]


# ---- elementwise kernels -------------------------------------------------------------------------


def pointwise(
    sources: Sequence[Tensor],
    target: Tensor,
    formula: Formula,
    tables: dict[str, Array] | None = None,
) -> Kernel:
    """Return a kernel that computes each output element from the input elements at its index.

    `formula` gets the nest, one expression for each input, broadcast as in numpy, and a buffer for
    each table; it returns an expression.
    """
    nest = Nest()
    *shapes, full = merge_dimensions([*(s.shape for s in sources), target.shape])
    views = [
        nest.read(name, source, shape)
        for name, source, shape in zip(input_names(len(sources)), sources, shapes, strict=True)
    ]
    constants = [nest.table(name, values) for name, values in (tables or {}).items()]
    output = nest.write("output", target, full)
    with nest.loops(full) as index:
        values = [
            nest.let(name, view[broadcast(index, shape)])
            for name, view, shape in zip("abcdefghij", views, shapes, strict=False)
        ]
        nest.store(output, index, formula(nest, *values, *constants))
    return nest.kernel()


def input_names(count: int) -> list[str]:
    """Return the C parameter names of `count` inputs."""
    few = {1: ["input"], 2: ["first_input", "second_input"]}
    return few.get(count, [f"input{i}" for i in range(count)])


def broadcast(index: Sequence[Any], shape: Sequence[int]) -> tuple[Any, ...]:
    """Return the index into an input of the given shape for an index into the broadcast shape."""
    return tuple(0 if size == 1 else i for i, size in zip(index, shape, strict=True))


def merge_dimensions(shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return shapes that broadcast in the same way, with as few dimensions as possible.

    The last shape is the broadcast one. Adjacent dimensions merge if every shape has both in full
    or neither. UnsupportedError if a shape does not broadcast to the last.
    """
    rank = max(1, *(len(shape) for shape in shapes))
    aligned = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    for shape, full in zip(shapes, aligned, strict=True):
        if any(size not in (1, whole) for size, whole in zip(full, aligned[-1], strict=True)):
            raise UnsupportedError(
                f"an input of shape {list(shape)} does not fit its output of {list(shapes[-1])}"
            )
    columns: list[tuple[int, ...]] = []
    for column in zip(*aligned, strict=True):
        whole = column[-1]
        if whole == 1:
            continue
        if columns and _pattern(columns[-1]) == _pattern(column):
            columns[-1] = tuple(a * b for a, b in zip(columns[-1], column, strict=True))
        else:
            columns.append(column)
    return (
        [tuple(sizes) for sizes in zip(*columns, strict=True)] if columns else [(1,)] * len(shapes)
    )


def _pattern(column: Sequence[int]) -> tuple[bool, ...]:
    return tuple(size == column[-1] for size in column)


def strides(shape: Sequence[int]) -> list[int]:
    """Return the stride of each dimension in elements."""
    steps = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    return steps
