"""Reads options of TFLite Micro's custom operators: an untrusted map in flexbuffers' format."""

import logging
import struct
from typing import Any

from flatbuffers import flexbuffers

_log = logging.getLogger(__name__)

_MET = (ArithmeticError, LookupError, TypeError, ValueError, struct.error)
"""The errors of the package's reader for damaged bytes."""


def read_map(data: bytes) -> dict[str, Any] | None:
    """Return names with numbers, booleans or strings; None if the bytes are not such a map."""
    if not data:
        return {}
    try:
        root = flexbuffers.GetRoot(data)
        values = root.AsMap.Values if root.IsMap else ()
        plain = all(value.IsNumeric or value.IsBool or value.IsString for value in values)
        if plain and root.IsMap and len(root.AsMap.Keys) == len(values):
            return dict(root.AsMap.Value)
    except _MET as error:
        _log.debug("flexbuffers: %s", error)
    return None
