"""Operators that run subgraphs: IF, WHILE, CALL_ONCE; and those on the variables of subgraphs.

Each subgraph is a separate C function. `aot.graph.subgraphs` resolves the variables' names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.graph.routine import COMPILE, WORKSPACE, CompileRoutine, Routine, within
from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.graph.subgraphs import SYMBOL, Subgraph, subgraphs_of
from ethosgen.aot.operators import OUTPUT, operator
from ethosgen.aot.tir.kernel import Callee, Kernel, KernelConstant, MarkedStep
from ethosgen.aot.tir.primfunc import drop_unused_parameters, pointer
from ethosgen.aot.tvm import ir, tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import HANDLE, Operator, Tensor

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


@operator("IF", dtypes=("bool",))
def if_(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Run one of two subgraphs (if.cc)."""
    then, otherwise = subgraphs_of(op)
    frame = _Frame(op, tensors, op.inputs[1:])
    condition = frame.view("condition", op.inputs[0])
    first, second = frame.compile(then, "then"), frame.compile(otherwise, "else")
    branches = (tirx.stmt_seq(*frame.run(routine, {})) for routine in (first, second))
    return frame.kernel([tirx.IfThenElse(condition[0], *branches)])


@operator("CALL_ONCE", dtypes=("bool",))
def call_once(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Run a subgraph in the first inference after a reset (call_once.cc)."""
    (initial,) = subgraphs_of(op)
    frame = _Frame(op, tensors, op.inputs[1:])
    has_run = frame.view("has_run", op.inputs[0])
    done = tirx.BufferStore(has_run, tirx.const(True, "bool"), [0])
    block = tirx.stmt_seq(*frame.run(frame.compile(initial, "init"), {}), done)
    return frame.kernel([tirx.IfThenElse(tirx.Not(has_run[0]), block, None)])


@operator("WHILE", dtypes=DTYPES)
def while_(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Run the body subgraph while the condition subgraph returns true (while.cc).

    The loop-carried values are in the outputs. The body writes a new value in place where the old
    one is no longer needed, else to a temporary that is copied afterwards.
    """
    condition, body = subgraphs_of(op)
    frame = _Frame(op, tensors, op.inputs)
    test = frame.compile(condition, "cond", makes=())
    if [condition.graph.tensors[i].dtype for i in condition.graph.outputs] != ["bool"]:
        raise UnsupportedError("its condition subgraph does not return a single bool")
    ends = zip(body.graph.inputs, body.graph.outputs, strict=True)
    changing = [n for n, (source, target) in enumerate(ends) if source != target]
    reduced = replace(body.graph, outputs=tuple(body.graph.outputs[n] for n in changing))
    outputs = [op.outputs[n] for n in changing]
    routine = frame.compile(replace(body, graph=reduced), "body", makes=outputs, replaces=changing)
    copied = [k for k in range(len(changing)) if k not in routine.direct]
    temporaries = frame.reserve([tensors[outputs[k]] for k in copied])
    new = dict(zip(copied, temporaries, strict=True))
    carried = {f"input {n}": frame.pointers[f"output {n}"] for n in range(len(op.outputs))}
    places = {f"output {k}": new.get(k, carried[f"input {n}"]) for k, n in enumerate(changing)}
    goes_on = tirx.decl_buffer((1,), "bool", "goes_on")

    def run_condition() -> list[Any]:
        return frame.run(test, {**carried, "output 0": tirx.address_of(goes_on[0])})

    copies = [
        copy_bytes(carried[f"input {changing[k]}"], new[k], tensors[outputs[k]].bytes)
        for k in copied
    ]
    iteration = tirx.stmt_seq(*frame.run(routine, {**carried, **places}), *copies, *run_condition())
    start = [
        copy_bytes(carried[f"input {n}"], frame.pointers[f"input {n}"], tensors[i].bytes)
        for n, i in enumerate(op.outputs)
    ]
    loop = tirx.While(goes_on[0], iteration)
    return frame.kernel([tirx.AllocBuffer(goes_on), *start, *run_condition(), loop])


class _Frame:
    """Builds a kernel that calls routines.

    `pointers` are its parameters by role: "input 0" (the arguments of subgraphs), "output 0",
    "variable 0". The routines share one workspace, since only one runs at a time.
    """

    def __init__(self, op: Operator, tensors: Sequence[Tensor], arguments: Sequence[int]) -> None:
        self._op, self._tensors = op, tensors
        self._arguments = [i for i in arguments if not tensors[i].is_variable]
        self._kept = [i for i in arguments if tensors[i].is_variable]
        self._first: list[tuple[Any, int]] = []
        self._constants: dict[tuple[str, int], tuple[Any, KernelConstant]] = {}
        self._start: list[Any] = []
        self._routines: list[Routine] = []
        self._steps: list[MarkedStep] = []
        self._workspace = pointer(WORKSPACE, "int8")
        self._bytes = 0
        self.pointers: dict[str, Any] = {}
        for kind, indices in (
            ("input", self._arguments),
            ("output", op.outputs),
            ("variable", self._kept),
        ):
            for n, index in enumerate(indices):
                self.pointers[f"{kind} {n}"] = pointer(f"{kind}_{n}", tensors[index].dtype)

    def view(self, name: str, index: int) -> Any:
        """Declare a one-element tensor that the kernel itself reads; return it as a buffer."""
        variable = pointer(name, self._tensors[index].dtype)
        buffer = tirx.decl_buffer((1,), self._tensors[index].dtype, f"{name}_view", data=variable)
        self._first.append((variable, index))
        self._start.append(tirx.DeclBuffer(buffer, data=variable))
        return buffer

    def compile(
        self,
        subgraph: Subgraph,
        which: str,
        *,
        makes: Sequence[int] | None = None,
        replaces: Sequence[int] = (),
    ) -> Routine:
        """Compile a subgraph that takes all inputs and writes the outputs `makes`.

        By default these are the kernel's outputs. `replaces` is passed to the CompileRoutine.
        """
        graph = subgraph.graph
        self._check(graph.input_tensors(), self._arguments, which)
        if makes != ():
            wanted = self._op.outputs if makes is None else makes
            self._check(graph.output_tensors(), wanted, which)
        symbol = self._op.options[SYMBOL]
        place = f"'{graph.name}' ({which} of {self._op.code})"
        compile_routine: CompileRoutine = self._op.options[COMPILE]
        routine = compile_routine(subgraph, f"{symbol}_{which}", place, replaces=replaces)
        for n, constant in enumerate(routine.constants):
            name = constant.c_name.removeprefix(f"{symbol}_")
            values = constant.structs or np.frombuffer(constant.data, constant.dtype)
            self._constants[routine.name, n] = (pointer(name, constant.dtype), values)
        self._routines.append(routine)
        self._steps += within(routine.steps, len(self._steps), which, graph.name)
        self._bytes = max(self._bytes, routine.workspace_bytes)
        return routine

    def _check(self, inner: Sequence[Tensor], outer: Sequence[int], which: str) -> None:
        """Refuse a subgraph whose inputs or outputs differ from the operator's."""
        theirs = [(t.dtype, t.bytes) for t in inner]
        ours = [(self._tensors[i].dtype, self._tensors[i].bytes) for i in outer]
        if theirs != ours:
            raise UnsupportedError(
                f"its subgraph '{which}' has inputs or outputs of another type or shape"
            )

    def reserve(self, tensors: Sequence[Tensor]) -> list[Any]:
        """Reserve memory for tensors after the routines' workspace; return a pointer to each."""
        offsets = []
        for tensor in tensors:
            self._bytes = rounded_up(self._bytes, ALIGNMENT)
            offsets.append(self._bytes)
            self._bytes += tensor.bytes
        if not tensors:
            return []
        view = tirx.decl_buffer((self._bytes,), "int8", "room", data=self._workspace)
        self._start.append(tirx.DeclBuffer(view, data=self._workspace))
        return [
            tirx.reinterpret(pointer("", tensor.dtype).ty, tirx.address_of(view[offset]))
            for tensor, offset in zip(tensors, offsets, strict=True)
        ]

    def run(self, routine: Routine, places: Mapping[str, Any]) -> list[Any]:
        """Return statements that call a routine and return its status if it is not 0.

        `places` overrides the pointers of some roles.
        """
        arguments = [self._argument(routine, role, places) for role in routine.parameters]
        status = tirx.Var("status", "int32")
        call = tirx.call_extern("int32", routine.name, *arguments)
        return [tirx.Bind(status, call), tirx.IfThenElse(status != 0, tirx.Return(status), None)]

    def _argument(self, routine: Routine, role: str, places: Mapping[str, Any]) -> Any:
        if role == WORKSPACE:
            return self._workspace
        kind, _, number = role.partition(" ")
        if kind == "constant":
            return self._constants[routine.name, int(number)][0]
        return places[role] if role in places else self.pointers[role]

    def kernel(self, statements: Sequence[Any]) -> Kernel:
        """Return the kernel, without unused parameters."""
        kinds: list[tuple[str, Any, Any]] = []
        for variable, index in self._first:
            kind = "variable" if self._tensors[index].is_variable else "input"
            kinds.append((kind, variable, index))
        kinds += [("input", self.pointers[f"input {n}"], i) for n, i in enumerate(self._arguments)]
        kinds += [("constant", var, values) for var, values in self._constants.values()]
        kinds += [
            ("output", self.pointers[f"output {n}"], i) for n, i in enumerate(self._op.outputs)
        ]
        kinds += [("variable", self.pointers[f"variable {n}"], i) for n, i in enumerate(self._kept)]
        kinds.append((WORKSPACE, self._workspace, None))
        order = ("input", "constant", "output", "variable", WORKSPACE)
        kinds.sort(key=lambda entry: order.index(entry[0]))
        done = tirx.Return(tirx.const(0, "int32"))
        body = tirx.stmt_seq(*self._start, *statements, done)
        whole = tirx.PrimFunc([variable for _, variable, _ in kinds], body, ir.PrimType("int32"))
        function, kept = drop_unused_parameters(whole)
        used = [kinds[position] for position in kept]
        callees: dict[str, Callee] = {c.name: c for r in self._routines for c in r.callees}
        return Kernel(
            function,
            tuple(index for kind, _, index in used if kind == "input"),
            tuple(values for kind, _, values in used if kind == "constant"),
            workspace_bytes=self._bytes if used and used[-1][0] == WORKSPACE else 0,
            variables=tuple(index for kind, _, index in used if kind == "variable"),
            sources=frozenset().union(*(r.sources for r in self._routines)),
            callees=tuple(callees.values()),
            steps=tuple(self._steps),
        )


@operator("READ_VARIABLE", dtypes=DTYPES, decided_by=OUTPUT)
def read_variable(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy a variable's bytes."""
    target = pointer("output", tensors[op.outputs[0]].dtype)
    variable = pointer("variable", "int8")
    size = _variable(op, tensors).bytes
    function = tirx.PrimFunc([target, variable], copy_bytes(target, variable, size))
    return Kernel(function, (), variables=op.inputs[:1])


@operator("ASSIGN_VARIABLE", dtypes=DTYPES, decided_by=1)
def assign_variable(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy bytes to a variable, which keeps them until the next assignment or reset."""
    source = pointer("input", tensors[op.inputs[1]].dtype)
    variable = pointer("variable", "int8")
    size = _variable(op, tensors).bytes
    function = tirx.PrimFunc([source, variable], copy_bytes(variable, source, size))
    return Kernel(function, op.inputs[1:], variables=op.inputs[:1])


@operator("VAR_HANDLE", dtypes=(HANDLE,), decided_by=OUTPUT)
def var_handle(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Refuse a handle as a value: handles exist only at compile time."""
    raise UnsupportedError(f"the handle '{tensors[op.outputs[0]].name}' is used as a value")


def copy_bytes(target: Any, source: Any, size: int) -> Any:
    """Return a statement that copies `size` bytes between pointers."""
    return tirx.Evaluate(tirx.call_extern("void", "memcpy", target, source, size))


def _variable(op: Operator, tensors: Sequence[Tensor]) -> Tensor:
    variable = tensors[op.inputs[0]]
    if not variable.is_variable:
        raise UnsupportedError(f"'{variable.name}' is not a variable known at compile time")
    return variable
