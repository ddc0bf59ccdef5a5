"""The front end for ExecuTorch's programs, whose work Ethos-U delegates do.

They are .pte files, or .bpte files, which also contain test cases.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ethosgen.frontend.pte.identifier import FORMAT, recognizes
from ethosgen.values.choice import LoweringChoice
from ethosgen.values.examples import Examples
from ethosgen.values.network import Network
from ethosgen.values.source import Source

if TYPE_CHECKING:
    from ethosgen.frontend.pte.program import PteProgram

__all__ = ["FORMAT", "choice", "examples", "origin", "read", "recognizes"]


def read(source: Source) -> Network:
    """Read a .pte or .bpte file."""
    from ethosgen.frontend.pte.reader import parse_network

    return parse_network(source.data, source.name)


def examples(source: Source, network: Network) -> Examples | None:
    """Return the test cases of a .bpte file for the network that was read from it."""
    from ethosgen.frontend.pte.bundle import examples_of

    return examples_of(source, network)


def _program(source: Source) -> "PteProgram":
    from ethosgen.frontend.flatbuffer import refusing_damage
    from ethosgen.frontend.pte.bundle import program_of
    from ethosgen.frontend.pte.program import ProgramDecoder

    with refusing_damage(source.name, "export or copy it again"):
        return ProgramDecoder(program_of(source.data, source.name), source.name).program()


def choice(source: Source) -> LoweringChoice | None:
    """Return the NPU and accelerators to compile the delegates for, None if they are compiled."""
    from ethosgen.frontend.pte.embedded import choice_of

    delegates = [each for method in _program(source).methods for each in method.delegates]
    return choice_of(delegates, source.name)


def origin(source: Source) -> Mapping[str, str]:
    """Return the schema of an ExecuTorch program, its delegates, and how they were compiled.

    The format has no field for ExecuTorch's own version.
    """
    from ethosgen.frontend.pte.program import SCHEMA

    program = _program(source)
    delegates = [delegate for method in program.methods for delegate in method.delegates]
    specs = {
        f"says:{name}": value.decode("ascii", "replace")
        for delegate in delegates
        for name, value in delegate.specs.items()
    }
    return {
        "producer": "ExecuTorch",
        "schema_version": str(SCHEMA),
        "delegates": ", ".join(sorted({delegate.backend for delegate in delegates})),
        **specs,
    }
