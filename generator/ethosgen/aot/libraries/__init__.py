"""Libraries of kernels for the CPU, and the choice among them, operator by operator.

A library is a backend (`ethosgen.backend.Backend`) that makes offers for the operators of a graph,
and compiles each to a kernel that calls the library's C functions. This is their only registry, and
`cheapest` the only place that chooses.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pkgutil import resolve_name

from ethosgen import plugins
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.registry import estimate_cycles
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.structs import with_declarations
from ethosgen.backend.protocol import Offer
from ethosgen.host.resources import template_folder
from ethosgen.values.allocation import Allocation
from ethosgen.values.errors import InternalError
from ethosgen.values.extension import Extension
from ethosgen.values.network import Graph, Operator


def _of(*names: str) -> tuple[Callable[[], Library], ...]:
    """Return functions that load libraries, each given by a package here and a name in it."""
    return tuple(partial(resolve_name, f"{__name__}.{name}") for name in names)


LIBRARIES = _of("helium:MICRO_KERNELS", "floats:FLOAT_KERNELS")
"""Functions that load each library; of equally cheap ones the first is used."""
_IN_C = ("helium:MICRO_KERNELS_IN_C", "floats:FLOAT_KERNELS_IN_C")
DSP_LIBRARIES = _of("dsp:DSP_KERNELS", *_IN_C)
"""The same for processors with DSP instructions."""
ARMV7M_LIBRARIES = _of("thumb:ARMV7M_KERNELS", *_IN_C)
ARMV6M_LIBRARIES = _of("thumb:ARMV6M_KERNELS", *_IN_C)
"""The same for microcontrollers with neither."""
FETCH_HEADER = "ethosgen_fetch.h"
"""Declares what copies weights, and what an application may put in its place."""
PORTABLE_LIBRARIES = _of("helium:PORTABLE_MICRO_KERNELS", "floats:PORTABLE_FLOAT_KERNELS")
"""The same for other processors."""


def libraries(extension: Extension = Extension.HELIUM) -> tuple[Library, ...]:
    """Return the libraries for a processor."""
    loads = {
        Extension.HELIUM: LIBRARIES,
        Extension.DSP: DSP_LIBRARIES,
        Extension.THUMB2: ARMV7M_LIBRARIES,
        Extension.THUMB: ARMV6M_LIBRARIES,
        Extension.NONE: PORTABLE_LIBRARIES,
    }[extension]
    own = tuple(load() for load in loads)
    return (*own, *_plugin_libraries(own, extension))


def _plugin_libraries(own: Sequence[Library], extension: Extension) -> Iterable[Library]:
    """Return the libraries of plug-ins for a processor."""
    more = plugins.beside(plugins.LIBRARIES, {library.name: library for library in own})
    return (library for library in more.values() if extension in library.extensions)


def cheapest(graph: Graph, operator: Operator, among: Sequence[Library]) -> Kernel | None:
    """Return a library's kernel for an operator, None if the plain kernel is as cheap.

    A library that does not estimate its cost counts as cheaper than the plain kernel, but not as
    cheaper than another library.
    """
    asked = replace(graph, operators=(operator,))
    offers = [(offer, library) for library in among for offer in _accepted(library, asked)]
    if not offers:
        return None
    offer, library = min(
        offers, key=lambda ranked: inf if ranked[0].cycles is None else ranked[0].cycles
    )
    has_helium = all(library.has_helium for library in among)
    plain = estimate_cycles(operator, graph.tensors, has_helium)
    if offer.cycles is not None and plain is not None and plain <= offer.cycles:
        return None
    return library.compile(asked, Allocation())[operator.index]


def least_cycles(
    graph: Graph, operator: Operator, extension: Extension = Extension.HELIUM
) -> int | None:
    """Return the estimated cycles of an operator's cheapest kernel, None if they are unknown."""
    if extension is Extension.NONE:
        return _cycles_in_c(graph, operator)
    asked, among = replace(graph, operators=(operator,)), libraries(extension)
    offers = [offer.cycles for library in among for offer in _accepted(library, asked)]
    has_helium = extension is Extension.HELIUM
    known = [estimate_cycles(operator, graph.tensors, has_helium), *offers]
    return min((cycles for cycles in known if cycles is not None), default=None)


def _cycles_in_c(graph: Graph, operator: Operator) -> int | None:
    """Return the estimated cycles, in plain C, of the kernel that `cheapest` chooses for Helium.

    Each micro-kernel has a version in C.
    """
    asked = replace(graph, operators=(operator,))
    plain = estimate_cycles(operator, graph.tensors)
    for library in (load() for load in PORTABLE_LIBRARIES):
        for offer in _accepted(library, asked):
            if plain is None or offer.cycles is None or offer.cycles < plain:
                return library.cycles_in_c(operator, graph.tensors)
    return estimate_cycles(operator, graph.tensors, has_helium=False)


def _accepted(library: Library, asked: Graph) -> Iterable[Offer]:
    return (offer for offer in library.offers(asked, Allocation()).values() if not offer.refusal)


def fetch_code() -> dict[str, str]:
    """Return the C files that copy weights into SRAM, by name."""
    folder = template_folder("kernels")
    return {name: (folder / name).read_text("utf-8") for name in (FETCH_HEADER, "ethosgen_fetch.c")}


def library_code(
    kernels: Mapping[int, Kernel], among: Sequence[Library]
) -> tuple[dict[str, str], list[str]]:
    """Return the libraries' C files that kernels need, by name, and the headers to include.

    InternalError if a kernel names a file that no library has.
    """
    texts: dict[str, str] = {}
    headers: list[str] = []
    for library in among:
        files = library.files([kernels])
        folder = template_folder(files.templates)
        texts |= {
            path: with_declarations((folder / file).read_text("utf-8"))
            for path, file in files.files.items()
        }
        headers += files.headers
    missing = {file for kernel in kernels.values() for file in kernel.sources} - texts.keys()
    if missing:
        raise InternalError(f"no library has {', '.join(sorted(missing))}")
    return texts, headers
