"""The AoT executor for Relax: lower `main` to one entry PrimFunc, then run TVM's own lowering.

`entry_passes` and `generator_passes` are all passes, in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.code.slices import sliced
from ethosgen.aot.tir.primfunc import (
    SAME_BYTES,
    STRUCTS,
    drop_unused_parameters,
    is_void_pointer,
    pointer,
)
from ethosgen.aot.tvm import expr_functor, ir, relax, s_tir, tirx, tvm

STEP = "ETHOSGEN_STEP"
"""The macro that an entry calls where a step begins and after the last one. Its argument is a
mark, which becomes the step's number: see steps.py."""
CALLS = "ethosgen_calls"
"""The attribute of an entry: the name of the first variable that each step makes, in order."""


@dataclass(frozen=True)
class Location:
    """The address of a Relax variable: `offset` bytes after a C pointer or symbol."""

    base: str
    offset: int = 0


@dataclass(frozen=True)
class EntryParameter:
    """A parameter of the entry function: a pointer to `dtype`, or to structs of a C type."""

    name: str
    dtype: str
    is_const: bool
    struct: str = ""


@dataclass(frozen=True)
class EntrySignature:
    """The C name and parameters of the entry function."""

    symbol: str
    parameters: tuple[EntryParameter, ...]
    progress: str = ""
    """The array of slices.py, if the entry returns after each slice."""


@dataclass(frozen=True)
class Copy:
    """A constant that is copied into SRAM before a kernel reads it there."""

    to: Location
    constant: str
    bytes: int


@dataclass(frozen=True)
class CopiesBefore:
    """The actions before a call: copies that it reads itself, a wait, copies for a later call."""

    own: tuple[Copy, ...] = ()
    is_awaited: bool = False
    ahead: tuple[Copy, ...] = ()


FETCH, FETCH_WAIT = "ethosgen_fetch", "ethosgen_fetch_wait"
"""The functions of ethosgen_fetch.h that begin a copy, and await all."""


NOTHING: Mapping[str, Sequence[str]] = {}


def mark(symbol: str, number: int = 0) -> str:
    """Return the mark of an entry's call, which are numbered from 1; 0 is after the last one."""
    return f"{symbol}_step_{number}"


def entry_passes(
    signature: EntrySignature,
    addresses: Mapping[str, Location],
    memories: Mapping[str, int],
    copies: Mapping[str, CopiesBefore],
    running: Mapping[str, Sequence[str]] = NOTHING,
) -> list[Any]:
    """Return the passes from the Relax module to PrimFuncs: the entry and what it calls.

    `memories` are the entry's parameters that contain several buffers, with their sizes. By the
    first variable that a call makes, `copies` are those of weights, and `running` the functions
    that wait for what runs besides it.
    """
    return [
        drop_copies_in_place(addresses),
        drop_unused_functions(),
        lower_main_to_entry(signature, addresses, memories, copies, running),
    ]


def generator_passes(callees: Mapping[str, Any]) -> list[Any]:
    """Return the passes from there to PrimFuncs that the C generator accepts.

    `callees` are functions that kernels call.
    """
    return [add_functions(callees), *lowering()]


def lowering() -> list[Any]:
    """Return the TVM passes from tvm/s_tir/pipeline.py that plain loops need.

    SplitHostDevice, MakePackedAPI and LowerTVMBuiltin are omitted: they generate functions for
    TVM's runtime, which a microcontroller does not have. So are StmtSimplify and
    CommonSubexprElim: they inline and rename a kernel's bindings and leave unused variables, and
    the C compiler does both better.
    """
    return [
        tirx.transform.BindTarget(tvm.target.Target("c")),
        tirx.transform.FlattenBuffer(),
        tirx.transform.NarrowDataType(32),
        tirx.transform.UnrollLoop(),
        s_tir.transform.RewriteUnsafeSelect(),
        tirx.transform.LowerIntrin(),
    ]


def drop_copies_in_place(addresses: Mapping[str, Location]) -> Any:
    """Pass: remove each copy whose source and target have the same address."""

    @expr_functor.mutator
    class Dropper(expr_functor.PyExprMutator):  # type: ignore[misc]
        def visit_var_binding_(self, binding: Any) -> None:
            if _is_copy(self.builder_.get(), binding.value):
                source = self.visit_expr(binding.value.args[1].fields[0])
                if addresses[source.name] == addresses[binding.var.name]:
                    self.set_var_remap(binding.var, source)
                    return
            super().visit_var_binding_(binding)

    def apply(module: Any, _context: Any) -> Any:
        dropper = Dropper(module)
        module.update_func(module.get_global_var("main"), dropper.visit_expr(module["main"]))
        return module

    return tvm.transform.module_pass(apply, opt_level=0, name="DropCopiesInPlace")


def drop_unused_functions() -> Any:
    """Pass: remove PrimFuncs that `main` no longer calls."""

    def apply(module: Any, _context: Any) -> Any:
        called = {"main", *(target.name_hint for target, *_ in _calls(module["main"]))}
        return tvm.IRModule({v: f for v, f in module.functions.items() if v.name_hint in called})

    return tvm.transform.module_pass(apply, opt_level=0, name="DropUnusedFunctions")


def add_functions(functions: Mapping[str, Any]) -> Any:
    """Pass: add PrimFuncs by name."""

    def apply(module: Any, _context: Any) -> Any:
        for symbol, function in functions.items():
            module[symbol] = function.with_attr("global_symbol", symbol)
        return module

    return tvm.transform.module_pass(apply, opt_level=0, name="AddFunctions")


def lower_main_to_entry(
    signature: EntrySignature,
    addresses: Mapping[str, Location],
    memories: Mapping[str, int],
    copies: Mapping[str, CopiesBefore],
    running: Mapping[str, Sequence[str]],
) -> Any:
    """Pass: replace `main` by a PrimFunc that calls every step in order, with fixed addresses.

    The entry returns the first status that is not 0, when nothing runs any more. Unused parameters
    of a step are not passed.
    """

    def apply(module: Any, _context: Any) -> Any:
        pointers = {p.name: pointer(p.name, p.dtype) for p in signature.parameters}
        buffers = {
            name: tirx.decl_buffer((size,), "int8", name, data=pointers[name])
            for name, size in memories.items()
        }
        lowered = tvm.IRModule()
        body: list[Any] = [tirx.DeclBuffer(buffers[name], data=pointers[name]) for name in buffers]
        calls = list(_calls(module["main"]))
        slices: list[tuple[Any, list[Any]]] = []
        for number, (target, operands, variable) in enumerate(calls, 1):
            function, kept = drop_unused_parameters(module[target])
            lowered[target.name_hint] = function
            arguments = [
                _as_argument(parameter, addresses[operands[position]], pointers, buffers)
                for parameter, position in zip(function.params, kept, strict=True)
            ]
            is_last = number == len(calls) and not signature.progress
            end = [_hook(mark(signature.symbol))] if is_last else []
            beside = [_ended(symbol) for symbol in running.get(variable, ())]
            call = _call(target.name_hint, function, arguments, end, beside)
            before = _fetches(copies[variable], buffers) if variable in copies else []
            slices.append((function, [_hook(mark(signature.symbol, number)), *before, *call]))
        if signature.progress:
            body += sliced(signature.progress, slices, [_hook(mark(signature.symbol))])
        else:
            body += (statement for _, statements in slices for statement in statements)
        if not calls and not signature.progress:
            body.append(tirx.Return(tirx.const(0, "int32")))
        entry = tirx.PrimFunc(list(pointers.values()), tirx.SeqStmt(body), ir.PrimType("int32"))
        entry = entry.with_attr(CALLS, [variable for *_, variable in calls])
        types = {p.name: p.struct for p in signature.parameters if p.struct}
        entry = entry.with_attr(STRUCTS, types)
        lowered[signature.symbol] = entry.with_attr("global_symbol", signature.symbol)
        return lowered

    return tvm.transform.module_pass(apply, opt_level=0, name="LowerMainToEntry")


def _as_argument(
    parameter: Any, address: Location, pointers: Mapping[str, Any], buffers: Mapping[str, Any]
) -> Any:
    """Return an address as an expression of the parameter's type."""
    base = pointers.get(address.base)
    if base is None:
        return tirx.lookup_param(address.base)
    place = tirx.address_of(buffers[address.base][address.offset]) if address.offset else base
    converts = parameter.ty == base.ty or is_void_pointer(parameter)
    return place if converts else tirx.reinterpret(parameter.ty, place)


def _hook(place: str) -> Any:
    return tirx.Evaluate(tirx.call_extern("void", STEP, tirx.lookup_param(place)))


def _fetches(copies: CopiesBefore, buffers: Mapping[str, Any]) -> list[Any]:
    """Return the wait for what a call reads, and the begin of copies for a later one."""
    wait = [tirx.Evaluate(tirx.call_extern("void", FETCH_WAIT))] if copies.is_awaited else []
    own, ahead = ([_begin(copy, buffers) for copy in some] for some in (copies.own, copies.ahead))
    return [*own, *wait, *ahead]


def _begin(copy: Copy, buffers: Mapping[str, Any]) -> Any:
    to = tirx.address_of(buffers[copy.to.base][copy.to.offset])
    source = tirx.lookup_param(copy.constant)
    return tirx.Evaluate(tirx.call_extern("void", FETCH, to, source, copy.bytes))


def _ended(symbol: str) -> Any:
    """Return the wait for what runs besides a call that has failed: its status changes nothing."""
    return tirx.Evaluate(tirx.call_extern("void", symbol))


def _call(
    symbol: str, function: Any, arguments: list[Any], end: list[Any], beside: list[Any]
) -> list[Any]:
    """Return the call of a step; `end` is the hook after the last one.

    If it fails, what runs `beside` it is awaited.
    """
    if function.ret_type != ir.PrimType("int32"):
        call = tirx.Evaluate(tirx.call_extern("void", symbol, *arguments))
        return [call, *end, tirx.Return(tirx.const(0, "int32"))] if end else [call]
    status = tirx.Var("status", "int32")
    bound = tirx.Bind(status, tirx.call_extern("int32", symbol, *arguments))
    if end:
        return [bound, *end, tirx.Return(status)]
    return [bound, tirx.IfThenElse(status != 0, tirx.stmt_seq(*beside, tirx.Return(status)), None)]


def _is_copy(module: Any, value: Any) -> bool:
    if not isinstance(value, relax.Call) or value.op != ir.Op.get("relax.call_tir"):
        return False
    return SAME_BYTES in (module[value.args[0]].attrs or {})


def _calls(main: Any) -> Iterator[tuple[Any, list[str], str]]:
    """Yield the function, the names of inputs and results, and the first result of each call."""
    bindings = [binding for block in main.body.blocks for binding in block.bindings]
    parts: dict[str, list[str]] = {}
    for binding in bindings:
        if isinstance(binding.value, relax.TupleGetItem):
            parts.setdefault(binding.value.tuple_value.name, []).append(binding.var.name)
    for binding in bindings:
        value = binding.value
        if isinstance(value, relax.Call):
            results = parts.get(binding.var.name, [binding.var.name])
            inputs = (arg.name for arg in value.args[1].fields)
            yield value.args[0], [*inputs, *results], results[0]
