"""Long blocks of assembly in kernels have a map of their registers, as a comment."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ethosgen.host.resources import template_folder

LINES = 8
"""Longer blocks need a map."""

_ASSEMBLY = re.compile(r"\b__asm(?:__)? volatile\(")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_MACRO = re.compile(r"^ *# *define (\w+)(?:\(.*?\))?((?:.*\\\n)*.*)$", re.MULTILINE)
_REGISTER = re.compile(r"(?<![\w%.])(?:r1[0-2]|r[4-9]|r[0-3]|lr|q[0-7]|s[12]\d|s3[01]|s\d)(?!\w)")
_RANGE = re.compile(r"\b([a-z_]+)(\d+) ?(?:-|to) ?\1(\d+)\b")
_ENTRY = re.compile(r"((?:[a-z_]+\d*, |[a-z_]+\d+ to )*[a-z_]+\d*):")
_STACK = re.compile(r"\bv?(push|pop)\b")
_SCRATCH = re.compile(r'\[(\w+)\] "=')


def unrolled(text: str) -> str:
    """Return a text with all registers of its ranges."""

    def names(match: re.Match[str]) -> str:
        return ", ".join(f"{match[1]}{i}" for i in range(int(match[2]), int(match[3]) + 1))

    return _RANGE.sub(names, text)


def end_of(text: str, start: int) -> int:
    """Return where the parenthesis closes that opens first behind a place."""
    plain = _STRING.sub(lambda match: "_" * len(match[0]), text[start:])
    depth = 0
    for place, letter in enumerate(plain):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            return start + place
    raise AssertionError("the assembly has no end")


def expanded(block: str, macros: dict[str, str]) -> str:
    """Return a block behind which are all macros that it names."""
    seen: set[str] = set()
    text = block
    while True:
        more = {word for word in re.findall(r"\w+", _STRING.sub("", text)) if word in macros} - seen
        if not more:
            return text
        seen |= more
        text += "".join(macros[name] for name in sorted(more))


def used(block: str, macros: dict[str, str]) -> set[str]:
    """Return the registers in a block's instructions, and the operands that only it writes."""
    body = _COMMENT.sub("", expanded(block, macros))
    strings = "\n".join(match[1:-1] for match in _STRING.findall(body))
    lines = [line for line in re.split(r"\\n|\n", strings) if not _STACK.search(line)]
    return set(_REGISTER.findall(unrolled("\n".join(lines)))) | set(_SCRATCH.findall(block))


def mapped(comments: list[str]) -> set[str]:
    """Return the names of which comments say what they hold."""
    text = unrolled(re.sub(r"\s*\\?\n\s*\*?\s*", " ", "\n".join(comments)))
    return {name for entry in _ENTRY.findall(text) for name in entry.split(", ")}


def missing(text: str) -> Iterator[tuple[int, set[str]]]:
    """Yield the line of each long block, and what its map lacks.

    The map is in a comment behind the long block before.
    """
    macros = {match[1]: match[2] for match in _MACRO.finditer(text)}
    code = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    blocks = [(match.start(), end_of(code, match.start())) for match in _ASSEMBLY.finditer(code)]
    long = [block for block in blocks if text.count("\n", *block) >= LINES]
    for (_, before), (start, end) in pairwise([(0, 0), *long]):
        comments = _COMMENT.findall(text[before:start])
        yield text.count("\n", 0, start) + 1, used(text[start:end], macros) - mapped(comments)


FILES = sorted(
    file
    for file in template_folder("kernels").rglob("*.[ch]")
    if any(True for _ in missing(file.read_text()))
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_long_block_has_a_map_of_its_registers(file: Path) -> None:
    lacking = {line: sorted(names) for line, names in missing(file.read_text()) if names}
    assert lacking == {}


def test_kernels_have_long_blocks() -> None:
    assert len(FILES) >= 30


def test_a_register_without_an_entry_is_found() -> None:
    lines = "".join(f'    "add r{i}, r{i}, %[by]\\n\\t"\n' for i in range(8))
    asm = f'__asm volatile(\n{lines}    "mov r9, #0"\n    : [made] "=&r"(made) : [by] "r"(by));\n'
    assert list(missing(f"/* r0 to r7: sums. made: none. */\n{asm}")) == [(2, {"r9"})]
    assert list(missing(f"/* r0 to r7: sums. r9: 0. */\n{asm}")) == [(2, {"made"})]
    assert list(missing(f"/* r0 to r7, r9: sums. made: none. */\n{asm}")) == [(2, set())]
