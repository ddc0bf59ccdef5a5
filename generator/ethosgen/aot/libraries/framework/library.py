"""A library of micro-kernels: hand-written C functions that TVM's loops call.

If an operator has a packed form for its shapes, the firmware uses it. The form in
`ethosgen.aot.operators` runs on this machine, and in the firmware for all other shapes. Both are
bit-identical to TFLite Micro's reference kernels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Protocol

from ethosgen.aot.cost import Cycles, TwoForms, total
from ethosgen.aot.registry import code_of, deciding_dtype
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.backend.protocol import Backend, Offer, ProjectFiles
from ethosgen.host.resources import template_folder
from ethosgen.values.allocation import Allocation, ResidualIndex
from ethosgen.values.extension import Extension
from ethosgen.values.network import Graph, Operator, Tensor


class Library(Backend[Graph, Mapping[int, Kernel], ResidualIndex], Protocol):
    """A backend that makes offers for the operators of a graph; each becomes a kernel.

    Derived classes inherit the methods that they need not define.
    """

    extensions: frozenset[Extension] = frozenset(Extension)
    """The processors that a plug-in's library is for; ours are listed by processor."""
    has_helium: bool = True
    """Whether the plain kernels are estimated with Helium beside it."""
    has_tables: bool = False
    """Whether its kernels may end with a lookup, by functions in the module `table`."""

    def in_bands(
        self,
        layer: tuple[Operator, Kernel],
        addition: tuple[Operator, Kernel],
        tensors: Sequence[Tensor],
    ) -> Kernel | None:
        """Return the kernel of a layer and the ADD of its output, band by band, or None."""
        return None

    def cycles_in_c(self, operator: Operator, tensors: Sequence[Tensor]) -> int | None:
        """Return its kernel's estimate on a processor with neither extension."""
        return None


Pack = Callable[[Operator, Sequence[Tensor]], Kernel | None]
"""Returns the packed form of an operator, None for uncovered shapes."""

Condition = Callable[[Operator, Sequence[Tensor]], bool]


@dataclass(frozen=True)
class _Packing:
    """A function that packs an operator, and the result's estimate."""

    pack: Pack
    cycles: Cycles | None
    for_helium: bool | Condition


@dataclass(frozen=True)
class Packed:
    """A function that packs operators, and its declarations by `packed`, by operator and type."""

    pack: Pack
    packings: Mapping[tuple[str, str], _Packing]

    def __call__(self, operator: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
        """Pack an operator."""
        return self.pack(operator, tensors)


def packed(
    *codes: str,
    dtype: str = "int8",
    cycles: Cycles | None = None,
    for_helium: bool | Condition = False,
) -> Callable[[Pack], Packed]:
    """Declare that the decorated function packs these operators; all their tensors have `dtype`.

    For a conversion it names two, the input's and the output's, with a space between them. `cycles`
    estimates the cost of the packed form, as in `operator`; TwoForms also estimates it without
    Helium. A form `for_helium` is no faster than the plain kernel on other processors; that can
    depend on the operator.
    """

    def declare(pack: Pack) -> Packed:
        known = pack if isinstance(pack, Packed) else Packed(pack, {})
        packing = _Packing(known.pack, cycles, for_helium)
        return Packed(known.pack, {**known.packings, **{(code, dtype): packing for code in codes}})

    return declare


NO_FORM = Offer(refusal="no micro-kernel covers its types and shapes")


@dataclass(frozen=True)
class LibrarySource:
    """The place of a library of micro-kernels: a Python package, and a folder of C.

    The families are the package's modules, or "module:NAME" for a tuple of functions in one.
    """

    package: str
    families: tuple[str, ...]
    folder: str
    headers: tuple[str, ...]
    """The first declares the functions."""
    shared: str = ""
    """Another library's folder beside it, some of whose C it uses too."""


class MicroKernels(Library):
    """A library; `ethosgen.backend.protocol.Backend` documents the methods."""

    has_tables = True

    def __init__(
        self, name: str, source: LibrarySource, has_helium: bool = True, is_portable: bool = False
    ) -> None:
        """Make a library; without Helium it offers its plain C.

        If it `is_portable`, it has no forms for Helium alone, but estimates as with Helium.
        """
        self._name = name
        self.has_helium = has_helium
        self._has_all = has_helium and not is_portable
        self._source = source
        self._last: tuple[Graph, Mapping[int, Kernel]] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def offers(
        self, asked: Graph, allocation: Allocation[ResidualIndex]
    ) -> Mapping[ResidualIndex, Offer]:
        """Return the estimates of the packed forms."""
        forms = self._forms(asked)
        return {
            ResidualIndex(op.index): Offer(self._cycles(op, asked.tensors))
            if op.index in forms
            else NO_FORM
            for op in asked.operators
            if op.index not in allocation
        }

    def compile(self, asked: Graph, allocation: Allocation[ResidualIndex]) -> Mapping[int, Kernel]:
        """Return the packed forms."""
        return {i: form for i, form in self._forms(asked).items() if i not in allocation}

    def cycles_in_c(self, operator: Operator, tensors: Sequence[Tensor]) -> int | None:
        """Return the estimate of a packed form without Helium, None if it is unknown."""
        packing = self._find(operator, tensors)
        cycles = packing.cycles if packing else None
        return total(cycles.in_c, operator, tensors) if isinstance(cycles, TwoForms) else None

    def _forms(self, asked: Graph) -> Mapping[int, Kernel]:
        """Return the packed forms; only packing shows whether one exists, so keep the last."""
        if self._last is None or self._last[0] is not asked:
            forms = {op.index: self._pack(op, asked.tensors) for op in asked.operators}
            self._last = asked, {i: form for i, form in forms.items() if form is not None}
        return self._last[1]

    def files(self, compiled: Sequence[Mapping[int, Kernel]]) -> ProjectFiles:
        """Return the C files whose functions the kernels call, and their headers."""
        named = {
            file for kernels in compiled for kernel in kernels.values() for file in kernel.sources
        }
        folder, headers = self._source.folder, self._source.headers
        own = {file for file in (*headers, *named) if (template_folder(folder) / file).is_file()}
        if not own.intersection(named):
            return ProjectFiles(folder, {})
        ordered = dict.fromkeys((*headers, *sorted(named)))
        files = {file: file for file in ordered if file in own}
        files |= self._shared([file for file in ordered if file not in own])
        return ProjectFiles(folder, files, headers=headers[:1])

    def _shared(self, named: Sequence[str]) -> dict[str, str]:
        """Return the neighbouring folder's files that kernels need, by the path from its own."""
        shared = self._source.shared
        beside = template_folder(self._source.folder).parent / shared
        known = named if shared else ()
        return {file: f"../{shared}/{file}" for file in known if (beside / file).is_file()}

    def _pack(self, operator: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
        packing = self._find(operator, tensors)
        return packing.pack(operator, tensors) if packing else None

    def _cycles(self, operator: Operator, tensors: Sequence[Tensor]) -> int | None:
        packing = self._find(operator, tensors)
        if packing is None or packing.cycles is None:
            return None
        if isinstance(packing.cycles, TwoForms) and not self.has_helium:
            return total(packing.cycles.in_c, operator, tensors)
        return total(packing.cycles, operator, tensors)

    def _find(self, operator: Operator, tensors: Sequence[Tensor]) -> _Packing | None:
        dtypes = dict.fromkeys(
            (deciding_dtype(operator, tensors), *(tensors[i].dtype for i in operator.outputs[:1]))
        )
        packing = _registry(self._source).get((code_of(operator), " ".join(dtypes)))
        if packing is None or self._has_all:
            return packing
        is_for_helium = packing.for_helium
        if callable(is_for_helium):
            is_for_helium = is_for_helium(operator, tensors)
        return None if is_for_helium else packing


@cache
def _registry(source: LibrarySource) -> dict[tuple[str, ...], _Packing]:
    families = [resolve_name(f"{source.package}.{family}") for family in source.families]
    values = [
        value for f in families for value in (f if isinstance(f, tuple) else vars(f).values())
    ]
    functions = [value for value in values if isinstance(value, Packed)]
    return {key: packing for function in functions for key, packing in function.packings.items()}
