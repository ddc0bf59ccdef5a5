"""The registry of backends, which run operators instead of the plain kernels of `ethosgen.aot`.

Only this registry imports an accelerator. A library of kernels for the CPU is a backend, too;
`ethosgen.aot.libraries` has their registry, since they consist of TVM's functions. Backends are
loaded on first use, compilers and simulators only when a plan needs them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from ethosgen import plugins
from ethosgen.backend.protocol import (
    AcceleratorBackend,
    Compiler,
    Driver,
    Inspection,
    Simulation,
    Wrapped,
)
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.explanation import Explanation
from ethosgen.values.grammar import unknown
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan


def load_wrapped(name_or_path: str) -> Wrapped:
    """Return a user's accelerator; InputError names the file, the line and the field."""
    from ethosgen.backend.wrapped.accelerator import load_wrapped as load

    return load(name_or_path)


def wrapped_names() -> list[str]:
    """Return the names of the accelerators of this kind that come with ethosgen."""
    from ethosgen.backend.wrapped.folder import shipped

    return shipped()


def wrapped_schema() -> str:
    """Return the JSON schema of accelerator.toml, for editors."""
    from ethosgen.backend.wrapped.declaration import declaration_schema

    return declaration_schema()


def start_wrapped(
    name: str, place: Path, is_device: bool = False, is_verilog: bool = False
) -> Path:
    """Write a folder for a new accelerator, for the user to change; return it."""
    from ethosgen.backend.wrapped.start import start_folder

    return start_folder(name, place, is_device, is_verilog)


def wrapped_of(plan: Plan) -> tuple[Wrapped, ...]:
    """Return the users' accelerators of a plan."""
    return cast("tuple[Wrapped, ...]", plan.wrapped)


def _ethos_u() -> AcceleratorBackend:
    from ethosgen.backend.ethosu.family import ETHOS_U

    return ETHOS_U


FAMILIES: tuple[Callable[[], AcceleratorBackend], ...] = (_ethos_u,)
"""Functions that load each backend; the default accelerator is that of the first one."""


def backends() -> Sequence[AcceleratorBackend]:
    """Return the backends that have accelerators, in display order."""
    own = tuple(load() for load in FAMILIES)
    return (*own, *_plugin_backends(own))


def _plugin_backends(own: Sequence[AcceleratorBackend]) -> Iterator[AcceleratorBackend]:
    """Yield the plug-ins' backends whose accelerators have new names."""
    taken = {name for backend in own for name in backend.accelerators}
    door = plugins.BACKENDS
    for name, backend in plugins.beside(door, {kind.name: kind for kind in own}).items():
        if twice := sorted(taken & set(backend.accelerators)):
            plugins.reject(door, name, f"there is another accelerator '{twice[0]}'")
        else:
            taken |= set(backend.accelerators)
            yield backend


def backend_of(accelerator: Accelerator) -> AcceleratorBackend:
    """Return the backend that compiles for an accelerator and simulates it."""
    return next(backend for backend in backends() if backend.name == accelerator.family)


def compiler_of(accelerator: Accelerator) -> Compiler:
    """Return the compiler for an accelerator."""
    return backend_of(accelerator)


def simulation_of(accelerator: Accelerator) -> Simulation:
    """Return the functional model of an accelerator's family."""
    return backend_of(accelerator)


def driver_of(accelerator: Accelerator) -> Driver:
    """Return the source of firmware's facts about an accelerator."""
    return backend_of(accelerator)


def inspection_of(accelerator: Accelerator) -> Inspection:
    """Return the lister of commands of networks compiled for an accelerator."""
    return backend_of(accelerator)


def accelerators() -> Mapping[str, Accelerator]:
    """Return all accelerators by name, in display order."""
    return {name: known for backend in backends() for name, known in backend.accelerators.items()}


def default_accelerator() -> Accelerator:
    """Return the accelerator used if neither the user nor a board nor a compiled file names one."""
    first = backends()[0]
    return first.accelerators[first.default]


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator with that name; InputError lists the known names."""
    known = accelerators()
    if name not in known:
        raise InputError(unknown("NPU", name, known))
    return known[name]


def explanations() -> list[Explanation]:
    """Return the explanations of all backends' errata; a plug-in's backend may have none."""
    known = [getattr(backend, "explanations", None) for backend in backends()]
    return [explanation for explain in known if explain for explanation in explain()]


def compiled_for(network: Network) -> Accelerator | None:
    """Return the accelerator that a network was compiled for, None if no backend compiled it."""
    compilers = (backend.compiled_for(network) for backend in backends())
    return next((accelerator for accelerator in compilers if accelerator is not None), None)


def compiled_operators() -> Mapping[str, int]:
    """Return the custom operators of compiled networks, with the inputs that are not tensors."""
    return {
        code: count for backend in backends() for code, count in backend.compiled_operators.items()
    }


def is_compiled(network: Network) -> bool:
    """Return whether a backend's compiler made a network, so the original is missing."""
    codes = compiled_operators()
    return any(op.custom_code in codes for op in network.graph.operators)


_ELSEWHERE = "create firmware and run it with 'ethosgen run', --on fvp or --on serial"


def require_simulator(accelerator: Accelerator) -> None:
    """Raise UnsupportedError if no simulator covers an accelerator."""
    if not accelerator.has_simulator:
        covered = f"{backend_of(accelerator).simulated}, not {accelerator.name}; {_ELSEWHERE}"
        raise UnsupportedError(f"the NPU model, for simulate and disasm, covers {covered}")
