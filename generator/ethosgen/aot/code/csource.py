"""The C of a network: everything around the bodies of its functions."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version

from ethosgen.aot.code.emission import Emitted, FunctionText
from ethosgen.aot.code.passes import EntrySignature
from ethosgen.aot.code.slices import WORDS
from ethosgen.aot.tir.structs import definition
from ethosgen.backend.calling import INLINE, function_around
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.call import Address, Function
from ethosgen.values.grammar import counted
from ethosgen.values.plan import Blob, Plan
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

_UNUSED_WAIT = re.compile(r"^(?P<indent> +)(?=\w+_partition_\d+_wait\(\);$)", re.MULTILINE)
"""The start of a wait's line whose status is not used, because another one is returned."""
_PROGRESS = "The next call, the turn of its chain, the rows taken, and those given that are not."


_HOOK = """/* Where a step begins; 0: after the last one. */
#ifdef ETHOSGEN_PROFILE
#include "ethosgen_profile.h"
#else
#define ETHOSGEN_STEP(number) ((void)0)
#endif

"""
"""What the entries' calls of `passes.STEP` become."""


def generate(
    emitted: Emitted,
    signature: EntrySignature,
    comments: Mapping[str, str],
    constants: Sequence[Constant],
    plan: Plan,
    name: str,
    includes: Sequence[str] = (),
    inlined: Collection[str] = (),
) -> dict[str, str]:
    """Return the C source and its header by file name.

    `comments` maps the static functions to their comments, in order of appearance; `includes` names
    additional headers. Functions in `inlined` cost no call.
    """
    text = emitted.text
    called = dict.fromkeys(partition.call.function for partition in plan.partitions)
    theirs = dict.fromkeys(header for function in called for header in function.headers)
    includes = (f"{name}_graph.h", *includes, *theirs)
    own = "".join(f'#include "{header}"\n' for header in includes)
    math = "#include <math.h>\n" if emitted.needs_math else ""
    guard = f"{GUARD}\n" if computes_floats(text) else ""
    parts = [_banner(plan), guard, f"{own}\n{math}#include <string.h>\n"]
    parts += _constants(constants, plan, name)
    parts += [f"\n{function.type_check}" for function in called if function.headers]
    wrapping = [p.call for p in plan.partitions if p.call.around and f"{p.call.around}(" in text]
    around = dict.fromkeys(map(function_around, wrapping))
    waits = dict.fromkeys(p.call.waiting for p in plan.partitions if p.call.waiting)
    parts += [f"\n{wait.type_check}" for wait in waits if wait.headers]
    parts += [f"\n{function}" for function in around]
    texts = _static_functions(emitted, comments, inlined, tuple(called))
    shared = share(texts)
    for symbol in dict.fromkeys(shared.values()):
        users = [comments[user] for user in texts if shared[user] == symbol]
        parts.append(f"\n{_comments(users)}\n{call_shared(texts[symbol], shared)}")
    body = call_shared(emitted.functions[signature.symbol].body, shared)
    body = _UNUSED_WAIT.sub(r"\g<indent>(void)", _with_addresses(body, constants, plan))
    if signature.progress:
        parts.append(f"\n/* {_PROGRESS} */\n{_progress(signature)};\n")
    unused = [p.name for p in signature.parameters if not re.search(rf"\b{p.name}\b", body)]
    voids = "".join(f"\n  (void){parameter};" for parameter in unused)
    parts.append(f"\n{_entry_head(signature)} {{{voids}{body}")
    return {f"{name}_graph.c": "".join(parts), f"{name}_graph.h": _header(signature, plan, name)}


def _static_functions(
    emitted: Emitted,
    comments: Mapping[str, str],
    inlined: Collection[str],
    called: Sequence[Function],
) -> dict[str, str]:
    """Return the C of the functions that have comments, in the order of these."""
    texts = {}
    for symbol in (symbol for symbol in comments if symbol in emitted.functions):
        function = emitted.functions[symbol]
        kind = INLINE if symbol in inlined else "static"
        head = _head(f"{kind} {function.returns} {symbol}", function.parameters)
        texts[symbol] = f"{head} {{{_with_const(function, called)}"
    return texts


def _with_const(function: FunctionText, called: Sequence[Function]) -> str:
    """Return a body in which arguments keep the const of their parameters.

    Arguments lose it where a user's function takes a pointer to data that it may change.
    """
    body = function.body
    for parameter in function.parameters:
        name = parameter.rpartition("*")[2]
        if parameter.startswith("const "):
            body = body.replace(f"((void*){name})", f"((const void*){name})")
    for callee in called:
        changing = {i for i, p in enumerate(callee.parameters) if not p.startswith("const ")}
        body = re.sub(rf"\b{callee.symbol}\((.*)\);", partial(_changing, changing), body)
    return body


def _changing(parameters: Collection[int], call: re.Match[str]) -> str:
    """Return a call whose arguments for `parameters` are pointers to data that may change."""
    arguments = call[1].split(", ")
    for number in parameters:
        arguments[number] = arguments[number].replace("(const void*)", "(void*)")
    return call[0].replace(call[1], ", ".join(arguments))


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
    """Return an entry's body in which the file's structs are passed by address."""
    single = [] if plan.apart else [c.c_name for c in constants if c.structs and c.structs.is_one]
    return re.sub(rf"\b({'|'.join(single)})\b", r"&\1", body) if single else body


def _head(start: str, parameters: Sequence[str]) -> str:
    """Return a function head, on several lines if it is too long."""
    line = f"{start}({', '.join(parameters) or 'void'})"
    if len(line) <= LONGEST_LINE:
        return line
    return f"{start}(\n    " + ",\n    ".join(parameters) + ")"


def _entry_head(signature: EntrySignature) -> str:
    parameters = [
        f"{'const ' if p.is_const else ''}{C_TYPES[p.dtype]} *{p.name}"
        for p in signature.parameters
    ]
    return _head(f"int32_t {signature.symbol}", parameters)


def _progress(signature: EntrySignature) -> str:
    return f"int32_t {signature.progress}[{WORDS}]"


def _is_named(blob: Blob, plan: Plan) -> bool:
    """Return whether the C names a blob: a call contains its address, no parameter does."""
    arguments = (argument for p in plan.partitions for argument in p.call.arguments)
    return not blob.parameter and Address(blob.name) in arguments


# REUSE-IgnoreStart
_TERMS = """\
/* SPDX-FileCopyrightText: Whoever holds the rights in the network */
/* SPDX-License-Identifier: LicenseRef-ethosgen-no-claim */
"""
# REUSE-IgnoreEnd


def _banner(plan: Plan) -> str:
    versions = f"ethosgen {__version__} with TVM {version('apache-tvm')}"
    names = dict.fromkeys(p.backend for p in plan.partitions if p.backend)
    if plan.accelerator:
        names = {plan.accelerator.name: None, **names}
    processor = " and ".join(names) or "the CPU alone"
    source = f"{plan.network.name} for {processor}"
    comment = _comment(f"Generated by {versions} from {source}. Do not edit.")
    return f"{_TERMS}{comment}\n\n"


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
        f"{_entry_declaration(signature)}\n"
        f"{declarations}{_HOOK}#endif\n"
    )


def _entry_declaration(signature: EntrySignature) -> str:
    if not signature.progress:
        return (
            "/* Run the network once; returns 0 or the NPU's first other status. */\n"
            f"{_entry_head(signature)};\n"
        )
    return (
        "/* Run a slice of an inference; returns ETHOSGEN_MORE, or 0 after the last one. */\n"
        f"{_entry_head(signature)};\n\n"
        f"/* {_PROGRESS} All are 0 when an inference begins. */\n"
        f"extern {_progress(signature)};\n"
    )


def _declaration(function: Function, name: str) -> str:
    kind = "int32_t" if function.returns_status else "void"
    head = _head(f"{kind} {function.symbol.format(name=name)}", function.parameters)
    return f"/* {function.comment} */\n{head};\n\n"


def computes_floats(source: str) -> bool:
    """Return whether C code computes with floating-point numbers."""
    return _FLOATS.search(source) is not None


def share(texts: Mapping[str, str]) -> dict[str, str]:
    """Return each function's representative: the first with the same text except for the name.

    Layers of one kind call the same micro-kernel; their weights, scales and sizes are arguments.
    """
    first: dict[str, str] = {}
    return {
        symbol: first.setdefault(re.sub(rf"\b{symbol}\b", "", text), symbol)
        for symbol, text in texts.items()
    }


def call_shared(text: str, shared: Mapping[str, str]) -> str:
    """Return C that calls the functions' representatives instead."""
    return re.sub(r"\b\w+(?=\()", lambda match: shared.get(match[0], match[0]), text)
