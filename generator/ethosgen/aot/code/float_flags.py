"""Make floating-point results independent of compiler flags."""

import re

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


def computes_floats(source: str) -> bool:
    """Return whether C code computes with floating-point numbers."""
    return _FLOATS.search(source) is not None
