"""C structs as constants of kernels: a class declares one for Python and for C.

    class HeliumAxis(Struct, name="ethosgen_axis"):
        \"\"\"One axis of a convolution's input.\"\"\"

        size: Annotated[int, "in pixels"]
        stride: int

It yields the declaration in a header, in place of a line `/* @struct ethosgen_axis */`, and the
designated initializers in a network's C. Members are int32_t, `Unsigned`, structs, or tuples of a
fixed length of these, which are arrays; strings become comments.
"""

import re
import struct
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from inspect import getdoc
from typing import Annotated, Any, ClassVar, dataclass_transform, get_args, get_type_hints

import numpy as np

from ethosgen.values.errors import InternalError
from ethosgen.values.grammar import counted
from ethosgen.values.program import Structs

Unsigned = Annotated[int, np.uint32]
"""A member that is uint32_t."""

LONGEST_LINE = 100
LONGEST_INNER = 92
_INDENT = "    "
_KEPT = "\N{NO-BREAK SPACE}"
_DECLARED_HERE = re.compile(r"^/\* @struct (\w+) \*/$", re.MULTILINE)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Struct:
    """A C struct; a derived class gives its C name, without the keyword."""

    declared: ClassVar[dict[str, type["Struct"]]] = {}
    """All structs by their names in C."""
    c_name: ClassVar[str]

    def __init_subclass__(cls, *, name: str = "") -> None:
        """Make the class a frozen dataclass whose members are given by name.

        Without a name it is not a struct, but provides the first members of derived classes.
        """
        dataclass(frozen=True, kw_only=True)(cls)
        if not name:
            return
        cls.c_name = name
        known = Struct.declared.setdefault(name, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InternalError(f"{known.__qualname__} and {cls.__qualname__} are both {name} in C")

    @classmethod
    def c_type(cls) -> str:
        """Return its C type."""
        return f"struct {cls.c_name}"


@dataclass(frozen=True)
class _Member:
    """A member's C type, the length of an array or 0, and its comment."""

    name: str
    c_type: str
    length: int
    comment: str

    @property
    def text(self) -> str:
        """Its declaration."""
        return f"{self.c_type} {self.name}{f'[{self.length}]' if self.length else ''};"


def _members(declared: type[Struct]) -> Iterator[_Member]:
    hints = get_type_hints(declared, include_extras=True)
    for field in fields(declared):  # type: ignore[arg-type]
        kind, *notes = _annotated(hints[field.name])
        length = 0
        if args := get_args(kind):
            length, (kind, *inner) = len(args), _annotated(args[0])
            notes += inner
        comment = next((note for note in notes if isinstance(note, str)), "")
        yield _Member(field.name, _c_type(kind, np.uint32 in notes), length, comment)


def _annotated(hint: Any) -> tuple[Any, ...]:
    """Return a type and its annotation."""
    return (get_args(hint)[0], *hint.__metadata__) if hasattr(hint, "__metadata__") else (hint,)


def _c_type(kind: Any, is_unsigned: bool) -> str:
    if kind is int:
        return "uint32_t" if is_unsigned else "int32_t"
    c_type: str = kind.c_type()
    return c_type


def declaration(declared: type[Struct]) -> str:
    """Return the declaration of a struct in C, with its comment above."""
    members = list(_members(declared))
    column = max(len(member.text) for member in members) + 1
    if any(column + len(f"{_INDENT}/*  */{m.comment}") > LONGEST_LINE for m in members):
        column = 0
    lines = [
        f"{_INDENT}{m.text.ljust(column - 1)} /* {m.comment} */" if m.comment else _INDENT + m.text
        for m in members
    ]
    return "\n".join((_comment(getdoc(declared) or ""), f"{declared.c_type()} {{", *lines, "};"))


def _comment(text: str) -> str:
    line = f"/* {text} */"
    if "\n" not in text and len(line) <= LONGEST_LINE:
        return line
    lines = [
        line
        for paragraph in text.split("\n\n")
        for line in (*textwrap.wrap(paragraph, LONGEST_LINE - 3, break_on_hyphens=False), "")
    ]
    return "\n".join(("/*", *(f" * {line}".rstrip() for line in lines[:-1]), " */"))


def with_declarations(header: str) -> str:
    """Return a header with structs declared where it names them."""
    unknown = set(_DECLARED_HERE.findall(header)) - Struct.declared.keys()
    if unknown:
        raise InternalError(f"no module that is loaded declares {', '.join(sorted(unknown))}")
    return _DECLARED_HERE.sub(lambda match: declaration(Struct.declared[match[1]]), header)


def structs_of(values: Sequence[Struct]) -> Structs:
    """Return structs of one type as a constant."""
    (declared,) = {type(value) for value in values}
    texts = tuple(_literal(value) for value in values)
    return Structs(declared.c_type(), texts, b"".join(map(_bytes, values)))


def _literal(value: Any) -> str:
    """Return an initializer; lines may break at its spaces."""
    if isinstance(value, Struct):
        named = ((f.name, getattr(value, f.name)) for f in fields(value))  # type: ignore[arg-type]
        return "{" + ", ".join(f".{name}{_KEPT}={_KEPT}{_inner(v)}" for name, v in named) + "}"
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_literal, value)) + "}"
    return str(int(value))


def _inner(value: Any) -> str:
    """Return an initializer that is on one line if it is short."""
    text = _literal(value)
    return text if len(text) > LONGEST_INNER else text.replace(" ", _KEPT)


def _bytes(value: Struct) -> bytes:
    members = zip(_members(type(value)), fields(value), strict=True)  # type: ignore[arg-type]
    return b"".join(
        _packed(element, member.c_type)
        for member, field in members
        for element in _elements(getattr(value, field.name), member.length)
    )


def _elements(value: Any, length: int) -> Sequence[Any]:
    """Return the elements of a member."""
    elements = value if length else (value,)
    if length and len(elements) != length:
        raise InternalError(f"an array of {length} gets {counted(len(elements), 'element')}")
    return tuple(elements)


def _packed(value: Any, c_type: str) -> bytes:
    if isinstance(value, Struct):
        return _bytes(value)
    return struct.pack("<I" if c_type == "uint32_t" else "<i", int(value))


def definition(structs: Structs, name: str) -> str:
    """Return the C that defines structs, which the self-test reads: one, or an array of several."""
    length = "" if structs.is_one else f"[{len(structs.initializers)}]"
    content = ",\n".join(_wrapped(text) for text in structs.initializers) + ","
    if structs.is_one:
        content = _wrapped(structs.initializers[0].removeprefix("{").removesuffix("}") + ",")
    head = f"const {structs.ctype} {name}{length}"
    return f"extern {head};\n{head} = {{\n{content}\n}};\n".replace(_KEPT, " ")


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        LONGEST_LINE,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
