"""Checks the modules that users pass."""

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from ethosgen.frontend.relax.normal import bindings_of
from ethosgen.frontend.relax.reading import shape_of
from ethosgen.values.errors import InputError, UnsupportedError


def prepared(module: tvm.IRModule, params: Mapping[str, Any] | None) -> tvm.IRModule:
    """Return a module with its parameters bound.

    InputError without main, UnsupportedError for open shapes, control flow and impure calls.
    """
    main = next((f for v, f in module.functions_items() if v.name_hint == "main"), None)
    if not isinstance(main, relax.Function):
        raise InputError(
            "the module has no Relax function 'main', the only one that ethosgen reads"
        )
    if params:
        module = relax.transform.BindParams("main", dict(params))(module)
    main = module["main"]
    if relax.analysis.contains_impure_call(main):
        raise UnsupportedError(
            "'main' calls an impure function; use the module before such calls are added"
        )
    variables = [*main.params, *(binding.var for binding in bindings_of(main))]
    for variable in variables:
        if not isinstance(variable.ty, relax.TensorType):
            continue
        try:
            shape_of(variable)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"'{variable.name}' has no fixed shape ({error}); "
                "bind its sizes with relax.transform.BindSymbolicVars"
            ) from None
    return module
