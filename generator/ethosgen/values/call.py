"""The call of a C function by a network: of an accelerator, a library, or the NPU's driver."""

from dataclasses import dataclass

from ethosgen.values.local_memory import Local, LocalCopy


@dataclass(frozen=True)
class Address:
    """A pointer among a call's arguments: to a tensor by its index, to a blob or scratch by name.

    A scratch that is not in the arena has the arena's address: the function knows its place.
    """

    of: int | str


Argument = Address | int | None
"""A pointer, an integer constant, or NULL."""


@dataclass(frozen=True)
class Function:
    """A C function that the generated C calls; "{name}" in the symbol is the network's name.

    With `parameters`, in C's spelling, the network's header declares it below the `comment`. With
    `headers`, one of those files in the library declares it instead, and the C refuses to compile
    if the declaration has other types; the `comment` then names the caller.
    """

    symbol: str
    parameters: tuple[str, ...] = ()
    comment: str = ""
    returns_status: bool = True
    headers: tuple[str, ...] = ()
    code: str = ""
    """C that defines it, if ethosgen made it of a user's PrimFunc."""

    @property
    def type_check(self) -> str:
        """C that compiles only if a header's declaration fits the call."""
        types = ", ".join(self.parameters) or "void"
        kind = "int32_t" if self.returns_status else "void"
        return (
            "_Static_assert(\n"
            f"    _Generic(&{self.symbol}, {kind} (*)({types}): 1, default: 0),\n"
            f'    "{self.comment}");\n'
        )


@dataclass(frozen=True)
class Call:
    """A call of a C function.

    With `awaited`, the function only starts, and int32_t awaited(void) waits for the end, or
    awaited(int32_t) for that of one of several devices, according to line `awaited_line` of the
    accelerator's file. With `copies`, arguments are in the
    accelerator's own memory `local`. In both cases the network's C calls the function `around` it,
    which it defines (`ethosgen.backend.calling`).
    """

    function: Function
    arguments: tuple[Argument, ...] = ()
    awaited: str = ""
    around: str = ""
    local: Local | None = None
    copies: tuple[LocalCopy, ...] = ()
    awaited_line: int | None = None
    awaited_instance: int | None = None
    """The device whose end is awaited, None if there is only one."""

    @property
    def awaited_argument(self) -> str:
        """The argument of `awaited` in C, "" if it has none."""
        return "" if self.awaited_instance is None else str(self.awaited_instance)

    @property
    def symbol(self) -> str:
        """The C function that the network's C calls."""
        return self.around or self.function.symbol

    @property
    def waiting(self) -> "Function | None":
        """The function that waits for the end, None for a call that does so itself."""
        if not self.awaited:
            return None
        kinds = () if self.awaited_instance is None else ("int32_t",)
        folder = self.function.headers[0].split("/")[0] if self.function.headers else ""
        comment = (
            f"{self.awaited} is not declared as line {self.awaited_line} of "
            f"{folder}/accelerator.toml awaits it: int32_t ({', '.join(kinds) or 'void'})"
        )
        return Function(self.awaited, kinds, comment, headers=self.function.headers)

    @property
    def memories(self) -> frozenset[str]:
        """The names of the blobs and scratches whose addresses it passes."""
        return frozenset(
            argument.of
            for argument in self.arguments
            if isinstance(argument, Address) and isinstance(argument.of, str)
        )
