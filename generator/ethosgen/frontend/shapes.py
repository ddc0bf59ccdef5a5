"""The shapes of inputs whose file leaves sizes open: the user gives them."""

from collections.abc import Mapping, Sequence

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown
from ethosgen.values.source import Source

Sizes = Sequence[int | str]
"""An input's sizes in the file, with the symbol of each that is open."""


def fixed_shapes(
    inputs: Mapping[str, Sizes], source: Source, examples: Mapping[str, int] | None = None
) -> dict[str, list[int]]:
    """Return the shape of each input; InputError for open sizes, and shapes that do not fit.

    `examples` are sizes to propose for symbols, else it is 1.
    """
    asked = dict(source.options.shapes)
    for name in asked:
        if name not in inputs:
            raise InputError(f"--shape {name}: {unknown('input', name, inputs)}")
    shapes = {}
    for name, sizes in inputs.items():
        chosen: Sizes = asked.get(name, sizes)
        if chosen is sizes:
            _refuse_open(name, sizes, source, examples or {})
        elif not _fits(chosen, sizes):
            raise InputError(
                f"--shape {name}={','.join(map(str, chosen))} does not fit the input's shape "
                f"({', '.join(map(str, sizes))}) in '{source.name}'"
            )
        shapes[name] = [int(size) for size in chosen]
    return shapes


def _refuse_open(name: str, sizes: Sizes, source: Source, examples: Mapping[str, int]) -> None:
    if any(isinstance(size, str) for size in sizes):
        listed = ", ".join(map(str, sizes))
        example = ",".join(str(examples.get(s, 1)) if isinstance(s, str) else str(s) for s in sizes)
        raise InputError(
            f"input '{name}' of '{source.name}' has the open shape ({listed}); give its sizes, "
            f"e.g. --shape {name}={example}"
        )


def _fits(chosen: Sizes, sizes: Sizes) -> bool:
    """Return whether given sizes are the file's, where it has any."""
    return len(chosen) == len(sizes) and all(
        isinstance(size, str) or size == ours for ours, size in zip(chosen, sizes, strict=True)
    )
