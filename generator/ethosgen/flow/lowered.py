"""What files that were lowered for own accelerators ask for, where the user does not choose."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethosgen import frontend
from ethosgen.values.choice import CHOICE, LoweringChoice
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.recipe import Recipe


def with_accelerators(recipe: Recipe) -> Recipe:
    """Return a recipe with the accelerators that its networks ask for, if it names none."""
    return replace(recipe, accelerators=accelerators_for(recipe.networks, recipe.accelerators))


def accelerators_for(paths: Sequence[Path], named: Sequence[str]) -> tuple[str, ...]:
    """Return the accelerators that the user names, else those that all files ask for.

    InputError if files ask for different ones.
    """
    if named:
        return tuple(named)
    asked = {path.name: choice for path in paths if (choice := frontend.choice_in(path))}
    if len({choice.accelerators for choice in asked.values()}) > 1:
        first, second = list(asked)[:2]
        raise InputError(
            f"'{first}' and '{second}' were lowered for different accelerators; name those of the "
            "firmware with --accelerator"
        )
    return next((choice.accelerators for choice in asked.values()), ())


def choices_for(
    path: Path, npu: str | None, accelerators: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the NPU and the accelerators that the user names, else those that a file asks for."""
    choice = frontend.choice_in(path)
    return npu or (choice.npu if choice else None), accelerators_for([path], accelerators)


def refuse_accelerators(path: Path, instead: str) -> None:
    """Raise InputError for a file that was lowered for accelerators, which nothing here uses."""
    choice = frontend.choice_in(path)
    if choice and choice.accelerators:
        names = ", ".join(choice.accelerators)
        raise InputError(f"'{path}' was lowered for {names}, but {instead}")


def npu_for(network: Network) -> str | None:
    """Return the NPU, or NO_NPU, that a network asks for; None if it asks for nothing."""
    text = network.metadata.get(CHOICE)
    return LoweringChoice.of_text(text.decode()).npu if text else None
