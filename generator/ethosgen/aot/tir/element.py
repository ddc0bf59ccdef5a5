"""Decompose elementwise kernels into the computation of one element.

The PrimFunc shows it, so an operator provides only its kernel: loops over the whole output,
statements that bind values, and one store at the index of the loops.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tvm import ir, tirx, tvm_ffi


@dataclass(frozen=True)
class ElementLoops:
    """A kernel's decomposed loop nest.

    `loops` are its loop variables and `shape` their extents: the whole output, in order. `views`
    maps the declared buffers to their pointers. The last of the inner `statements` stores the
    result.
    """

    kernel: Kernel
    loops: tuple[Any, ...]
    shape: tuple[int, ...]
    views: Mapping[Any, Any]
    statements: tuple[Any, ...]

    @property
    def store(self) -> Any:
        """The statement that stores the result."""
        return self.statements[-1]

    @property
    def output(self) -> Any:
        """The output pointer."""
        return self.kernel.function.params[-1]

    def loads(self) -> list[Any]:
        """Return all loads through parameters."""
        return [load for load in find_loads(self.statements) if load.source in self.views]

    def is_whole(self, load: Any) -> bool:
        """Return whether a load has the same shape and index as the store."""
        shape = [int(size) for size in load.source.shape]
        if math.prod(shape) != math.prod(self.shape):
            return False
        ours, theirs = (_without_zeros(place) for place in (load.indices, self.store.indices))
        return len(ours) == len(theirs) and all(
            a.same_as(b) for a, b in zip(ours, theirs, strict=True)
        )

    def keeps_to_its_place(self) -> bool:
        """Return whether inputs of the output's size are read only at the index of the store."""
        whole = math.prod(self.shape)
        return all(
            self.is_whole(load) or math.prod(int(size) for size in load.source.shape) != whole
            for load in self.loads()
        )

    def is_free_of_place(self) -> bool:
        """Return whether the result depends on its index only through loads at that index."""

        def without(load: Any) -> Any:
            return tirx.const(0, load.source.dtype) if self.is_whole(load) else load

        rest = [
            tvm_ffi.structural_map(statement, (ir.TensorLoad, without), order="pre")
            for statement in (*self.statements[:-1], tirx.Evaluate(self.store.value))
        ]
        return not any(uses(statement, loop) for statement in rest for loop in self.loops)


def read_element(kernel: Kernel) -> ElementLoops | None:
    """Return a kernel's element, None if the kernel has another form."""
    function = kernel.function
    if function.ret_type == ir.PrimType("int32") or kernel.workspace_bytes or kernel.variables:
        return None
    if len(function.params) != len(kernel.inputs) + len(kernel.constants) + 1:
        return None
    views, rest = split_views(function.body)
    loops: list[Any] = []
    shape: list[int] = []
    while len(rest) == 1 and isinstance(rest[0], tirx.For):
        loop = rest[0]
        if loop.kind != tirx.ForKind.SERIAL or not _is_number(loop.extent) or int(loop.min) != 0:
            return None
        loops.append(loop.loop_var)
        shape.append(int(loop.extent))
        rest = tirx.stmt_list(loop.body)
    if not rest or not isinstance(rest[-1], tirx.BufferStore):
        return None
    element = ElementLoops(kernel, tuple(loops), tuple(shape), views, tuple(rest))
    return element if _is_well_formed(element) else None


def _is_well_formed(element: ElementLoops) -> bool:
    """Return whether only the last store is visible outside, and stores every element once."""
    store = element.store
    kept = [s.buffer for s in element.statements if isinstance(s, tirx.AllocBuffer)]
    for statement in element.statements[:-1]:
        is_kept = isinstance(statement, tirx.BufferStore) and statement.buffer in kept
        if not is_kept and not isinstance(statement, tirx.Bind | tirx.AllocBuffer):
            return False
    if store.buffer not in element.views or any(
        element.views[buffer].same_as(element.output)
        for buffer in (load.source for load in element.loads())
    ):
        return False
    places = iter(element.loops)
    sizes = [int(size) for size in store.buffer.shape]
    for index, size in zip(store.indices, sizes, strict=True):
        if size > 1 and not index.same_as(next(places, None)):
            return False
    is_all = math.prod(sizes) == math.prod(element.shape) and next(places, None) is None
    return is_all and element.views[store.buffer].same_as(element.output)


def split_views(body: Any) -> tuple[dict[Any, Any], list[Any]]:
    """Return the buffers that a body declares, with their pointers, and the other statements."""
    statements = tirx.stmt_list(body)
    views = {s.buffer: s.data for s in statements if isinstance(s, tirx.DeclBuffer)}
    return views, [s for s in statements if not isinstance(s, tirx.DeclBuffer)]


def with_views(views: Mapping[Any, Any], statements: Sequence[Any]) -> list[Any]:
    """Return statements with views declared: a view of a pointer that one binds comes after it."""
    left = dict(views)
    placed: list[Any] = []
    for statement in statements:
        placed.append(statement)
        if isinstance(statement, tirx.Bind):
            bound = [buffer for buffer, data in left.items() if data.same_as(statement.var)]
            placed += (tirx.DeclBuffer(buffer, data=left.pop(buffer)) for buffer in bound)
    return [*(tirx.DeclBuffer(buffer, data=data) for buffer, data in left.items()), *placed]


def find_loads(statements: Iterable[Any]) -> list[Any]:
    """Return all loads in the statements."""
    loads: list[Any] = []
    for statement in statements:
        tvm_ffi.structural_walk(statement, (ir.TensorLoad, loads.append))
    return loads


def uses(root: Any, variable: Any) -> bool:
    """Return whether a variable occurs below `root`."""
    variables: list[Any] = []
    tvm_ffi.structural_walk(root, (ir.Var, variables.append))
    return any(variable.same_as(known) for known in variables)


def _without_zeros(indices: Sequence[Any]) -> list[Any]:
    """Return the indices without those of dimensions of size 1."""
    return [index for index in indices if not (_is_number(index) and int(index) == 0)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | tirx.IntImm)
