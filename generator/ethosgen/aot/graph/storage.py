"""Storage of tensors: their alignment, and the operators that leave their bytes unchanged."""

ALIGNMENT = 16
"""In bytes. Ethos-U requires this for tensors (Arm core driver 1.0.0), and it suits Helium."""

COPY = "COPY"
"""Code of the operator that copies an output whose bytes belong to another tensor."""

SAME_BYTES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", COPY, "TOSA_RESHAPE", "TOSA_IDENTITY"})
"""Operators whose output has the bytes of the first input, so both can share an address."""
