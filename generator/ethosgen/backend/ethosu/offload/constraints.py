"""Regor's list of operators and constraints for each NPU."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.backend.ethosu.accelerator import ACCELERATORS
from ethosgen.backend.ethosu.offload.u85_types import U85_TYPES

_OTHER_NAMES = {"ARGMAX": "ARG_MAX"}
"""TFLite's names of operators that Regor calls otherwise."""
_TYPED = ("u55", "u65")
_DTYPES = re.compile(r"Feature-map dataTypes must be one of \{(?P<names>[^}]*)\}")
_EXCLUDED = re.compile(r"^(?P<bits>\d+)-bit feature-maps are not supported")


@dataclass(frozen=True)
class NpuOperator:
    """One operator of one product: feature-map dtypes, and Regor's constraints as text.

    For each operator of U85 Regor lists every type of the product. So `dtypes` are measured; they
    are empty for operators with variables, which ethosgen keeps on the CPU.
    """

    dtypes: tuple[str, ...]
    conditions: tuple[str, ...]


def npu_operators() -> dict[str, dict[str, NpuOperator]]:
    """Return the operators that Regor supports: product ("u55") → TFLite's name → operator.

    Vela can still refuse a listed operator for its shapes or values.
    """
    products = {a.product: a for a in ACCELERATORS.values()}
    return {
        product: {
            code: NpuOperator(
                _dtypes(conditions) if product in _TYPED else U85_TYPES.get(code, ()),
                tuple(conditions),
            )
            for code, conditions in _listed(a.vela_architecture).items()
        }
        for product, a in products.items()
    }


def _listed(architecture: str) -> dict[str, Sequence[str]]:
    """Return Regor's constraints by TFLite's name of the operator."""
    from ethosu import regor

    listed = regor.tflite_operator_constraints(architecture)
    return {_OTHER_NAMES.get(code, code): conditions for code, conditions in listed.items()}


def _dtypes(conditions: Sequence[str]) -> tuple[str, ...]:
    """Return the feature-map types that the conditions allow."""
    named: set[str] = set()
    excluded: set[str] = set()
    for condition in conditions:
        if match := _DTYPES.search(condition):
            named |= {name.strip(' "').lower() for name in match["names"].split(",")}
        if match := _EXCLUDED.match(condition):
            excluded |= {f"int{match['bits']}", f"uint{match['bits']}"}
    return tuple(sorted(named - excluded))
