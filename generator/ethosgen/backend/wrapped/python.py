"""An accelerator's Python class: what a declaration cannot say. All of its methods are optional.

    takes(site) -> str                     why it refuses a chain, "" if it does not
    terms(site) -> dict                    more terms for predicates, formulas and arguments
    arrays(site) -> dict[str, ndarray]     more constant arrays for arguments
    NAME(site) -> PrimFunc                 a kernel, if a declaration says call = "python:NAME"
    pack_...(site, weights) -> ndarray     packs weights, if a declaration says python:pack_...
    scratch(site) -> int                   bytes of scratch
    cycles(site) -> int                    cycles of a call

A site has `terms`, `tensors` and `operators`; see `ethosgen.backend.wrapped.site`.
"""

import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.wrapped.site import ChainSite
from ethosgen.values.errors import InputError


class Engine:
    """The user's object, or nothing: then every answer is that of the declaration."""

    def __init__(self, spec: str = "", files: Mapping[str, bytes] | None = None) -> None:
        self._spec = spec
        self._object: Any = None
        if spec:
            self._object = _make(spec, files or {})

    def takes(self, site: ChainSite) -> str:
        """Return the reason for refusing a chain, "" if it takes it."""
        return str(self._ask("takes", site) or "")

    def terms(self, site: ChainSite) -> dict[str, Any]:
        """Return more terms."""
        return dict(self._ask("terms", site) or {})

    def arrays(self, site: ChainSite) -> dict[str, NDArray[Any]]:
        """Return more constant arrays."""
        answer = self._ask("arrays", site) or {}
        return {str(name): np.asarray(array) for name, array in dict(answer).items()}

    def scratch(self, site: ChainSite, declared: int) -> int:
        """Return the bytes of scratch."""
        answer = self._ask("scratch", site)
        return declared if answer is None else int(answer)

    def cycles(self, site: ChainSite) -> int | None:
        """Return the cycles of a call, None if the class does not say."""
        answer = self._ask("cycles", site)
        return None if answer is None else int(answer)

    def pack(self, method: str, site: ChainSite, weights: NDArray[Any]) -> NDArray[Any]:
        """Return weights as a method packs them; InputError if there is none."""
        if not hasattr(self._object, method):
            raise InputError(f"{self._spec} has no method {method}, which weights name")
        return np.asarray(self._ask(method, site, weights))

    def primfunc(self, method: str, site: ChainSite) -> Any:
        """Return a chain's PrimFunc as a method gives it; InputError if there is no method."""
        if not hasattr(self._object, method):
            raise InputError(f"{self._spec} has no method {method}, which call names")
        return self._ask(method, site)

    def _ask(self, method: str, *arguments: Any) -> Any:
        function = getattr(self._object, method, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except Exception as error:
            raise _failure(f"{self._spec}: {method}()", self._spec, error) from None


def _make(spec: str, files: Mapping[str, bytes]) -> Any:
    """Return an object of the class that "FILE.py:CLASS" names; InputError if that fails."""
    file, _, name = spec.partition(":")
    if not name:
        raise InputError(f'python = "{spec}" names no class; write "{file}:CLASS"')
    scope: dict[str, Any] = {"__name__": file.removesuffix(".py"), "__file__": file}
    try:
        exec(compile(files[file], file, "exec"), scope)
    except Exception as error:
        raise _failure(f"'{file}'", file, error) from None
    if name not in scope:
        raise InputError(f"'{file}' has no class {name}")
    try:
        return scope[name]()
    except Exception as error:
        raise _failure(f"{spec}()", spec, error) from None


def _failure(what: str, spec: str, error: Exception) -> InputError:
    file = spec.partition(":")[0]
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    if isinstance(error, SyntaxError) and error.lineno:
        lines = [error.lineno]
    where = f", line {lines[-1]}" if lines else ""
    return InputError(f"{what} failed{where}: {type(error).__name__}: {error}")
