"""The C that ethosgen makes of PrimFuncs, which an accelerator's Python class gives."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ethosgen.backend.protocol import LowerToC
from ethosgen.backend.wrapped.arguments import Parameters
from ethosgen.backend.wrapped.folder import AcceleratorFolder
from ethosgen.backend.wrapped.matching import Match
from ethosgen.backend.wrapped.python import Engine
from ethosgen.values.call import Function
from ethosgen.values.errors import InputError, InternalError

_STEM = "ethosgen_primfuncs"
SOURCE, HEADER = f"{_STEM}.c", f"{_STEM}.h"
"""The files with all such functions of a program."""
_DIGITS = 8


def with_code(
    folder: AcceleratorFolder,
    engine: Engine,
    match: Match,
    parameters: Parameters,
    lower: LowerToC | None,
) -> Parameters:
    """Return a call whose function is made of the class's PrimFunc, if its operation says so.

    InputError for a method that gives none, or one that does not fit.
    """
    method = match.operation.method
    if not method:
        return parameters
    if lower is None:
        raise InternalError(f"nothing lowers {method}() of {folder.declaration.python} to C")
    function = parameters.call.function
    primfunc = engine.primfunc(method, match.site)
    try:
        text = lower(primfunc, function.parameters)
    except ValueError as error:
        line = folder.line(f"operator.{match.number}.call")
        raise InputError(
            f"accelerator file '{folder.toml}', line {line}: {method}() of "
            f"{folder.declaration.python} gives a PrimFunc that cannot be called: {error}"
        ) from None
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]  # equal ones are one function
    symbol = f"{function.symbol}_{digest}"
    defined = replace(
        function,
        symbol=symbol,
        headers=(f"{folder.name}/{HEADER}",),
        code=f"int32_t {symbol}{text}",
    )
    return replace(parameters, call=replace(parameters.call, function=defined))


def generated_files(folder: AcceleratorFolder, functions: Iterable[Function]) -> Mapping[str, str]:
    """Return the source and the header of functions made of PrimFuncs, none if there are none."""
    code = {function.symbol: function.code for function in functions if function.code}
    if not code:
        return {}
    note = f"/* Made by ethosgen from {folder.declaration.python}; do not edit. */\n"
    guard = f"ETHOSGEN_{folder.slug.upper()}_PRIMFUNCS_H"
    declarations = "".join(f"{text.partition(chr(10))[0]};\n" for text in code.values())
    own = "".join(f'#include "{name}"\n' for name in (HEADER, *folder.declaration.headers))
    bodies = "\n".join(code.values())
    return {
        HEADER: f"{note}#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n"
        f"{declarations}\n#endif\n",
        SOURCE: f"{note}{own}\n#include <math.h>\n#include <stdbool.h>\n\n{bodies}",
    }
