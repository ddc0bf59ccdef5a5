"""PrimFuncs to the bodies of C functions, by TVM's generator.

Its includes are dropped, since they name headers of TVM's runtime, and so are its signatures, which
lack const and static.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.aot.code.passes import STEP
from ethosgen.aot.tir.primfunc import READS, STRUCTS, is_void_pointer
from ethosgen.aot.tvm import tvm
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.errors import EthosgenError

_SYMBOL_MARK = "__tvm_param__"
"""The prefix of an external symbol in TVM's generated code (tirx.lookup_param)."""
_BITS = re.compile(r"\*\((?P<type>float|double) \*\)\(&\((?:\(int64_t\))?(?P<bits>-?\d+)\)\)")
"""A floating-point constant given by its bits, in TVM's generated code."""
_ADDRESS = re.compile(r"\(&\((?P<array>\w+)\[")
"""The start of an element's address, in TVM's generated code."""
_MATH = re.compile(r"^(?:float|double) \w+\([^()]*\);$", re.MULTILINE)
"""TVM's declaration of a <math.h> function; only these return floating-point numbers."""
_NO_NUMBER = re.compile(r"\b(?:INFINITY|NAN)\b")
"""Macros of <math.h>."""
_PRAGMA = re.compile(r"^ *#pragma unroll.*\n", re.MULTILINE)
"""TVM writes this pragma before a while loop; GCC does not know it."""
_PREFIX = re.compile(r'^#ifdef __cplusplus\nextern "C"\n#endif\nTVM_DLL ', re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?P<type>\w+) (?P<name>\w+)\((?P<parameters>[^()]*)\) \{$", re.MULTILINE
)
_NUMBER = re.compile(rf"(?<={STEP}\()\w+(?=\))")


@dataclass(frozen=True)
class FunctionText:
    """A C function: its return type, its typed parameters, and its body after the "{"."""

    returns: str
    parameters: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class Emitted:
    """C functions by name; `needs_math` if they use <math.h>."""

    functions: Mapping[str, FunctionText]
    needs_math: bool = False

    @property
    def text(self) -> str:
        """All parameters and bodies."""
        return "".join("".join((*each.parameters, each.body)) for each in self.functions.values())


def emit(module: Any, numbers: Mapping[str, int]) -> Emitted:
    """Return the functions of a module; `numbers` replace the marks in calls of STEP."""
    text = _NUMBER.sub(lambda match: str(numbers[match[0]]), _source(module))
    primfuncs = {var.name_hint: function for var, function in module.functions.items()}
    functions = {
        symbol: FunctionText(returns, _typed(primfuncs[symbol], names), body)
        for symbol, (returns, names, body) in _split(module, text).items()
    }
    return Emitted(functions, bool(_MATH.search(text) or _NO_NUMBER.search(text)))


def _typed(function: Any, names: list[str]) -> tuple[str, ...]:
    """Return a function's parameters as C declares them."""
    reads = int(function.attrs.get(READS, 0))
    restrict = "restrict " if function.attrs.get("tirx.noalias", False) else ""
    types = dict(function.attrs.get(STRUCTS, {}))
    return tuple(
        f"{'const ' if position < reads else ''}{_c_type(variable, types)}{restrict}{name}"
        for position, (name, variable) in enumerate(zip(names, function.params, strict=True))
    )


def _c_type(variable: Any, structs: Mapping[str, str]) -> str:
    """Return a parameter's C type, to be followed by its name."""
    if variable.name in structs:
        return f"{structs[variable.name]} *"
    if is_void_pointer(variable):
        return "void *"
    if not hasattr(variable.ty, "element_type"):  # a number, of a user's function
        return f"{C_TYPES[str(variable.ty.dtype)]} "
    return f"{C_TYPES[str(variable.ty.element_type.dtype)]} *"


def _source(module: Any) -> str:
    """Return the output of TVM's generator with valid C symbols, float constants and addresses."""
    text = tvm.get_global_func("target.build.c")(module, tvm.target.Target("c")).inspect_source()
    text = _PRAGMA.sub("", text)
    text = _BITS.sub(_float_literal, _PREFIX.sub("", text).replace(_SYMBOL_MARK, ""))
    return _plain_addresses(text)


def _plain_addresses(text: str) -> str:
    """Return C with `x` and `&x[i]` where TVM's generator writes `(&(x[0]))` and `(&(x[i]))`."""
    parts, end = [], 0
    for match in _ADDRESS.finditer(text):
        depth, at = 1, match.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1
        if text[at : at + 2] == "))" and match.start() >= end:
            index = text[match.end() : at - 1]
            array = match["array"]
            parts += [text[end : match.start()], array if index == "0" else f"&{array}[{index}]"]
            end = at + 2
    return "".join((*parts, text[end:]))


def _float_literal(match: re.Match[str]) -> str:
    """Return a floating-point constant with as many digits as needed."""
    single = match["type"] == "float"
    bits = np.array(int(match["bits"]), np.int32 if single else np.int64)
    value: Any = bits.view(np.float32 if single else np.float64)[()]
    if not np.isfinite(value):
        return "NAN" if np.isnan(value) else ("-INFINITY" if value < 0 else "INFINITY")
    digits = np.format_float_scientific(value, trim="0") if value else "0.0"
    plain = np.format_float_positional(value, trim="0")
    return min(plain, digits, key=len) + ("f" if single else "")


def _split(module: Any, text: str) -> dict[str, tuple[str, list[str], str]]:
    """Return each generated function's return type, parameter names and body."""
    definitions = list(_DEFINITION.finditer(text))
    if {match["name"] for match in definitions} != {var.name_hint for var in module.functions}:
        raise EthosgenError("TVM's C generator wrote different functions than requested")
    ends = [*(match.start() for match in definitions[1:]), len(text)]
    return {
        match["name"]: (
            match["type"],
            [parameter.split()[-1] for parameter in match["parameters"].split(", ") if parameter],
            text[match.end() : end].rstrip() + "\n",
        )
        for match, end in zip(definitions, ends, strict=True)
    }
