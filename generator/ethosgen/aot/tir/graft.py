"""Graft one kernel's element into another's loops: transform each value before it is stored."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ethosgen.aot.tir.element import (
    ElementLoops,
    find_loads,
    read_element,
    split_views,
    uses,
    with_views,
)
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.primfunc import pointer
from ethosgen.aot.tvm import ir, tirx, tvm_ffi


def graft(producer: Kernel, tensor: int, element: ElementLoops) -> Kernel | None:
    """Return a kernel that computes both; `tensor` is written by the producer, read by the element.

    None if the element reads other indices of the tensor, if some stores of the producer are not
    visible, or if the element's index cannot be derived from the producer's.
    """
    mine = read_element(producer)
    grafted = _graft(producer, tensor, element)
    if grafted is None and mine is not None and mine.is_free_of_place():
        grafted = _graft(reshaped(mine, element.shape), tensor, element)
    return grafted


def _graft(producer: Kernel, tensor: int, element: ElementLoops) -> Kernel | None:
    output = only_output(producer)
    views, statements = split_views(producer.function.body)
    targets = [buffer for buffer, data in views.items() if data.same_as(output)]
    if output is None or len(targets) != 1 or not _only_stores(statements, targets[0], output):
        return None
    (target,) = targets
    shape = [int(size) for size in target.shape]
    copy = _Copy(element, tensor, shape, {p.name for p in producer.function.params})
    if not copy.reads_the_place_only():
        return None
    failed = []

    def rewrite(store: Any) -> Any:
        if not store.buffer.same_as(target):
            return store
        places = _regroup(shape, store.indices, element.shape)
        if places is None:
            failed.append(store)
            return store
        return tirx.SeqStmt(copy.statements(store.indices, places, store.value))

    body = [tvm_ffi.structural_map(s, (tirx.BufferStore, rewrite)) for s in statements]
    if failed:
        return None
    kept = {buffer: data for buffer, data in views.items() if buffer is not target}
    return _join(producer, copy, [*copy.declarations(), *with_views(kept, body)])


def reshaped(element: ElementLoops, shape: Sequence[int]) -> Kernel:
    """Return a kernel with other loops for an element that does not depend on its index."""
    copy = _Copy(element, None, shape, set())
    loops = [tirx.Var(f"i{axis}", "int32") for axis in range(len(shape))]
    inner = copy.statements(loops, [tirx.const(0, "int32")] * len(element.loops), None)
    body = tirx.stmt_seq(*inner)
    for loop, extent in zip(reversed(loops), reversed(shape), strict=True):
        body = tirx.For(loop, 0, extent, tirx.ForKind.SERIAL, body)
    body = tirx.stmt_seq(*copy.declarations(), body)
    function = tirx.PrimFunc([*copy.inputs, *copy.constants, copy.output], body)
    return replace(element.kernel, function=function)


def only_output(kernel: Kernel) -> Any:
    """Return the pointer to a kernel's only output, None if it has several."""
    first = len(kernel.inputs) + len(kernel.constants)
    behind = len(kernel.variables) + (kernel.workspace_bytes > 0)
    parameters = kernel.function.params
    return parameters[first] if len(parameters) == first + 1 + behind else None


def _only_stores(statements: Sequence[Any], target: Any, output: Any) -> bool:
    """Return whether a buffer is only stored to: no load, no address taken, no other view."""
    loaded = any(load.source.same_as(target) for load in find_loads(statements))
    return not loaded and not any(uses(statement, output) for statement in statements)


def _regroup(
    shape: Sequence[int], indices: Sequence[Any], extents: Sequence[int]
) -> list[Any] | None:
    """Return the indices of loops with other extents, None unless each spans whole dimensions."""
    left = list(zip(shape, indices, strict=True))
    places = []
    for extent in extents:
        place: Any = tirx.const(0, "int32")
        size = 1
        while left and (size < extent or left[0][0] == 1):
            length, index = left.pop(0)
            place = place * length + index if size > 1 else index
            size *= length
        if size != extent:
            return None
        places.append(place)
    return places if math.prod(length for length, _ in left) == 1 else None


def _join(producer: Kernel, copy: "_Copy", body: Sequence[Any]) -> Kernel:
    """Return a kernel with the parameters of both; the copy's output replaces the producer's."""
    parameters = list(producer.function.params)
    inputs, first = len(producer.inputs), len(producer.inputs) + len(producer.constants)
    function = tirx.PrimFunc(
        [
            *parameters[:inputs],
            *copy.inputs,
            *parameters[inputs:first],
            *copy.constants,
            copy.output,
            *parameters[first + 1 :],
        ],
        tirx.stmt_seq(*body),
        producer.function.ret_type,
    )
    return replace(
        producer,
        function=function,
        inputs=(*producer.inputs, *copy.input_tensors),
        constants=(*producer.constants, *copy.element.kernel.constants),
    )


class _Copy:
    """A copy of an element with new parameters, buffers and variables, for another kernel.

    Loads from `tensor` are replaced by a given value. Buffers that are read at the index of the
    store are declared with `shape`.
    """

    def __init__(
        self,
        element: ElementLoops,
        tensor: int | None,
        shape: Sequence[int],
        taken: Collection[str],
    ) -> None:
        self.element = element
        self._shape = shape
        kernel = element.kernel
        names = set(taken)
        self._pointers: list[tuple[Any, Any]] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        self.input_tensors: list[int] = []
        self._replaced: list[Any] = []
        for position, parameter in enumerate(kernel.function.params):
            if position < len(kernel.inputs) and kernel.inputs[position] == tensor:
                self._replaced.append(parameter)
                continue
            is_output = parameter.same_as(element.output)
            name = parameter.name if is_output else unused_name(parameter.name, names)
            mine = pointer(name, str(parameter.ty.element_type.dtype))
            self._pointers.append((parameter, mine))
            if position < len(kernel.inputs):
                self.inputs.append(mine)
                self.input_tensors.append(kernel.inputs[position])
            elif not is_output:
                self.constants.append(mine)
            else:
                self.output = mine
        self._views: list[tuple[Any, bool, Any, Any]] = []

    def reads_the_place_only(self) -> bool:
        """Return whether the element reads the given tensor only at the index of its store."""
        return all(
            self.element.is_whole(load) for load in self.element.loads() if self._gives(load)
        )

    def declarations(self) -> list[Any]:
        """Return the declarations of all buffers that the statements use."""
        return [tirx.DeclBuffer(buffer, data=data) for _, _, buffer, data in self._views]

    def statements(
        self, indices: Sequence[Any], places: Sequence[Any], value: Any | None
    ) -> list[Any]:
        """Return the element's statements for one output element.

        `indices` are its index in `shape`, `places` the values of the element's loop variables,
        `value` replaces loads from the given tensor.
        """
        body: list[Any] = []
        new: dict[Any, Any] = dict(zip(self.element.loops, places, strict=True))
        replacement = None
        if value is not None:  # in a buffer, because TVM's analyses look through chains of lets
            kept = tirx.decl_buffer((1,), str(value.ty.dtype), "made")
            body += [tirx.AllocBuffer(kept), tirx.BufferStore(kept, value, (0,))]
            replacement = kept[0]

        def load(loaded: Any) -> Any:
            if loaded.source in new:
                return new[loaded.source][tuple(loaded.indices)]
            if loaded.source not in self.element.views:
                return loaded
            if self._gives(loaded):
                return replacement
            if self.element.is_whole(loaded):
                return self._view(loaded.source, True)[tuple(indices)]
            return self._view(loaded.source, False)[tuple(loaded.indices)]

        def mapped(expression: Any) -> Any:
            callbacks = [(ir.TensorLoad, load), (ir.Var, lambda v: new.get(v, v))]
            return tvm_ffi.structural_map(expression, callbacks, order="pre")

        for statement in self.element.statements[:-1]:
            if isinstance(statement, tirx.Bind):
                bound = mapped(statement.value)
                if replacement is not None and bound.same_as(replacement):
                    new[statement.var] = replacement
                    continue
                new[statement.var] = tirx.Var(statement.var.name, bound.ty)
                body.append(tirx.Bind(new[statement.var], bound))
            elif isinstance(statement, tirx.AllocBuffer):
                old = statement.buffer
                new[old] = tirx.decl_buffer(old.shape, str(old.dtype), old.name)
                body.append(tirx.AllocBuffer(new[old]))
            else:
                stored = mapped(statement.value)
                body.append(tirx.BufferStore(new[statement.buffer], stored, statement.indices))
        store = self.element.store
        target = self._view(store.buffer, True)
        return [*body, tirx.BufferStore(target, mapped(store.value), tuple(indices))]

    def _gives(self, load: Any) -> bool:
        data = self.element.views.get(load.source, None)
        return data is not None and any(data.same_as(pointer) for pointer in self._replaced)

    def _view(self, old: Any, is_whole: bool) -> Any:
        for known, whole, buffer, _ in self._views:
            if known.same_as(old) and whole == is_whole:
                return buffer
        data = _mapped(self._pointers, self.element.views[old])
        shape = tuple(self._shape) if is_whole else old.shape
        buffer = tirx.decl_buffer(shape, str(old.dtype), f"{data.name}_view", data=data)
        self._views.append((old, is_whole, buffer, data))
        return buffer


def _mapped(pairs: Sequence[tuple[Any, Any]], old: Any) -> Any:
    return next(new for source, new in pairs if source.same_as(old))


def unused_name(name: str, taken: set[str]) -> str:
    """Return a name that is not in `taken`, and add it."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate
