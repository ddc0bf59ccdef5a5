"""PrimFuncs to C: TVM's generator writes function bodies, this module everything around them."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm

from ethosgen.aot.code.passes import STEP, EntrySignature
from ethosgen.aot.tir.primfunc import READS, STRUCTS, is_void_pointer
from ethosgen.aot.tir.structs import definition
from ethosgen.backend.calling import INLINE, function_around
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.errors import EthosgenError
from ethosgen.values.grammar import counted
from ethosgen.values.plan import Address, Blob, Function, Plan
from ethosgen.values.program import Constant
from ethosgen.version import __version__

LONGEST_LINE = 100
"""Most characters per line of a function head; of bodies only constants and addresses change."""

_FLOATS = re.compile(r"\b(?:float|double)\b")

GUARD = """\
/*
 * Results must not depend on the compiler's options: no a * b + c in one rounding, nothing of
 * -ffast-math, and no vectors, since Helium's take subnormal numbers for zero.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-fast-math", "no-single-precision-constant")
#pragma GCC optimize("no-tree-vectorize")
#else
#ifdef __FAST_MATH__
#error "compile this file with -fno-fast-math: its results would differ"
#endif
#pragma STDC FP_CONTRACT OFF
#endif
"""
"""Inserted at the start of a file. Clang supports only the last pragma for Arm targets, and
-ffp-contract=fast overrides it, so the build must pass the options, as the generated CMake does."""

_SYMBOL_MARK = "__tvm_param__"
"""The prefix of an external symbol in TVM's generated code (tirx.lookup_param)."""
_BITS = re.compile(r"\*\((?P<type>float|double) \*\)\(&\((?:\(int64_t\))?(?P<bits>-?\d+)\)\)")
"""A floating-point constant given by its bits, in TVM's generated code."""
_ADDRESS = re.compile(r"\(&\((?P<array>\w+)\[")
"""The start of an element's address, in TVM's generated code."""
_MATH = re.compile(r"^(?:float|double) \w+\([^()]*\);$", re.MULTILINE)
"""TVM's declaration of a <math.h> function; only these return floating-point numbers."""
_PRAGMA = re.compile(r"^ *#pragma unroll.*\n", re.MULTILINE)
"""TVM writes this pragma before a while loop; GCC does not know it."""
_MARK = re.compile(rf"(?<={STEP}\()\w+(?=\))")
_HOOK = """/* Where a step begins; 0: after the last one. */
#ifdef ETHOSGEN_PROFILE
#include "ethosgen_profile.h"
#else
#define ETHOSGEN_STEP(number) ((void)0)
#endif

"""
"""What the entries' calls of `passes.STEP` become."""
_PREFIX = re.compile(r'^#ifdef __cplusplus\nextern "C"\n#endif\nTVM_DLL ', re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?P<type>\w+) (?P<name>\w+)\((?P<parameters>[^()]*)\) \{$", re.MULTILINE
)


def generate(
    module: Any,
    signature: EntrySignature,
    comments: Mapping[str, str],
    constants: Sequence[Constant],
    plan: Plan,
    name: str,
    numbers: Mapping[str, int],
    includes: Sequence[str] = (),
    inlined: Collection[str] = (),
) -> dict[str, str]:
    """Return the C source and its header by file name.

    `comments` maps the static functions to their comments, in order of appearance; `numbers` are
    those of the marks in calls of STEP; `includes` names additional headers. Functions in `inlined`
    cost no call of their own. Function bodies are TVM's. Its includes are not used, since they name
    headers of TVM's runtime, nor are its signatures, which lack const and static.
    """
    text = _MARK.sub(lambda match: str(numbers[match[0]]), _emit(module))
    bodies = _split(module, text)
    functions = {var.name_hint: function for var, function in module.functions.items()}
    called = dict.fromkeys(partition.call.function for partition in plan.partitions)
    theirs = dict.fromkeys(header for function in called for header in function.headers)
    includes = (f"{name}_graph.h", *includes, *theirs)
    own = "".join(f'#include "{header}"\n' for header in includes)
    math = "#include <math.h>\n" if _MATH.search(text) else ""
    guard = f"{GUARD}\n" if computes_floats(text) else ""
    parts = [_banner(plan), guard, f"{own}\n{math}#include <string.h>\n"]
    parts += _constants(constants, plan, name)
    parts += [f"\n{function.type_check}" for function in called if function.headers]
    wrapping = [p.call for p in plan.partitions if p.call.around and f"{p.call.around}(" in text]
    around = dict.fromkeys(map(function_around, wrapping))
    waits = dict.fromkeys(p.call.waiting for p in plan.partitions if p.call.waiting)
    parts += [f"\n{wait.type_check}" for wait in waits if wait.headers]
    parts += [f"\n{function}" for function in around]
    texts: dict[str, str] = {}
    for symbol in (symbol for symbol in comments if symbol in functions):
        returns, parameters, body = bodies[symbol]
        kind = INLINE if symbol in inlined else "static"
        head = _static_head(f"{kind} {returns} {symbol}", functions[symbol], parameters)
        texts[symbol] = f"{head} {{{body}"
    shared = share(texts)
    for symbol in dict.fromkeys(shared.values()):
        users = [comments[user] for user in texts if shared[user] == symbol]
        parts.append(f"\n{_comments(users)}\n{call_shared(texts[symbol], shared)}")
    *_, body = bodies[signature.symbol]
    body = _with_addresses(call_shared(body, shared), constants, plan)
    unused = [p.name for p in signature.parameters if not re.search(rf"\b{p.name}\b", body)]
    voids = "".join(f"\n  (void){parameter};" for parameter in unused)
    parts.append(f"\n{_entry_head(signature)} {{{voids}{body}")
    return {f"{name}_graph.c": "".join(parts), f"{name}_graph.h": _header(signature, plan, name)}


def _constants(constants: Sequence[Constant], plan: Plan, name: str) -> Iterator[str]:
    """Yield the C that declares constants, and defines structs unless weights are apart."""
    structs = {} if plan.apart else {c.c_name: c.structs for c in constants if c.structs}
    extern = [(c.dtype, c.c_name) for c in constants if c.c_name not in structs]
    extern += [(b.dtype, f"{name}_{b.name}") for b in plan.blobs if _is_named(b, plan)]
    if extern and plan.apart:
        yield f'\n#include "{name}_weights.h"\n'
    elif extern:
        declarations = "".join(f"extern const {C_TYPES[t]} {symbol}[];\n" for t, symbol in extern)
        yield f"\n/* Defined with the weights. */\n{declarations}"
    yield from (f"\n{definition(each, symbol)}" for symbol, each in structs.items())


def _with_addresses(body: str, constants: Sequence[Constant], plan: Plan) -> str:
    """Return an entry's body in which a struct of the file is passed by its address."""
    single = [] if plan.apart else [c.c_name for c in constants if c.structs and c.structs.is_one]
    return re.sub(rf"\b({'|'.join(single)})\b", r"&\1", body) if single else body


def _emit(module: Any) -> str:
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


def _static_head(returns: str, function: Any, names: list[str]) -> str:
    reads = int(function.attrs.get(READS, 0))
    restrict = "restrict " if function.attrs.get("tirx.noalias", False) else ""
    types = dict(function.attrs.get(STRUCTS, {}))
    parameters = [
        f"{'const ' if position < reads else ''}{_c_type(variable, types)}{restrict}{name}"
        for position, (name, variable) in enumerate(zip(names, function.params, strict=True))
    ]
    return _head(returns, parameters)


def _head(start: str, parameters: list[str]) -> str:
    """Return a function head, on several lines if it is too long."""
    line = f"{start}({', '.join(parameters) or 'void'})"
    if len(line) <= LONGEST_LINE:
        return line
    return f"{start}(\n    " + ",\n    ".join(parameters) + ")"


def _c_type(variable: Any, structs: Mapping[str, str]) -> str:
    """Return a parameter's C type, to be followed by its name."""
    if variable.name in structs:
        return f"{structs[variable.name]} *"
    if is_void_pointer(variable):
        return "void *"
    return f"{C_TYPES[str(variable.ty.element_type.dtype)]} *"


def _entry_head(signature: EntrySignature) -> str:
    parameters = [
        f"{'const ' if p.is_const else ''}{C_TYPES[p.dtype]} *{p.name}"
        for p in signature.parameters
    ]
    return _head(f"int32_t {signature.symbol}", parameters)


def _is_named(blob: Blob, plan: Plan) -> bool:
    """Return whether the C names a blob: a call has its address, and no parameter does."""
    arguments = (argument for p in plan.partitions for argument in p.call.arguments)
    return not blob.parameter and Address(blob.name) in arguments


def _banner(plan: Plan) -> str:
    versions = f"ethosgen {__version__} with TVM {tvm.__version__}"
    names = dict.fromkeys(p.backend for p in plan.partitions if p.backend)
    if plan.accelerator:
        names = {plan.accelerator.name: None, **names}
    processor = " and ".join(names) or "the CPU alone"
    source = f"{plan.network.name} for {processor}"
    return _comment(f"Generated by {versions} from {source}. Do not edit.") + "\n\n"


def _comment(text: str) -> str:
    """Return a C comment, safe for any name in the text."""
    return "/* " + " ".join(text.split()).replace("*/", "* /") + " */"


def _comments(users: Sequence[str]) -> str:
    """Return a comment for each kind of step that uses a function."""
    counts = Counter(users)
    return "\n".join(
        _comment(text if count == 1 else f"{text}; {counted(count, 'step')}")
        for text, count in counts.items()
    )


def _header(signature: EntrySignature, plan: Plan, name: str) -> str:
    guard = f"{name.upper()}_GRAPH_H"
    called = dict.fromkeys(partition.call.function for partition in plan.partitions)
    declarations = "".join(_declaration(f, name) for f in called if f.parameters and not f.headers)
    return (
        f"{_banner(plan)}#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n"
        "#include <stdint.h>\n\n"
        "/* Run the network once; returns 0 or the first status of the NPU that is not. */\n"
        f"{_entry_head(signature)};\n\n"
        f"{declarations}{_HOOK}#endif\n"
    )


def _declaration(function: Function, name: str) -> str:
    kind = "int32_t" if function.returns_status else "void"
    head = _head(f"{kind} {function.symbol.format(name=name)}", list(function.parameters))
    return f"/* {function.comment} */\n{head};\n\n"


def computes_floats(source: str) -> bool:
    """Return whether C code computes with floating-point numbers."""
    return _FLOATS.search(source) is not None


def share(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the function that stands for each: the first with the same text but for its name.

    Layers of one kind call the same micro-kernel; their weights, scales and sizes are arguments.
    """
    first: dict[str, str] = {}
    return {
        symbol: first.setdefault(re.sub(rf"\b{symbol}\b", "", text), symbol)
        for symbol, text in texts.items()
    }


def call_shared(text: str, shared: Mapping[str, str]) -> str:
    """Return C in which calls of functions are calls of those that stand for them."""
    return re.sub(r"\b\w+(?=\()", lambda match: shared.get(match[0], match[0]), text)
