"""The operators that ONNX Runtime quantizes, each as a network of several variants.

A row is one operator: a function adds its variants to a network, each with an input of its own, and
returns their results. The quantizer decides what becomes integers. `rows` has the table, the other
modules have a family of operators each.
"""

from importlib import import_module

from tests.support.onnx_operators.rows import ROWS as ROWS
from tests.support.onnx_operators.rows import Row as Row

FAMILIES = ("layers", "elementwise", "activations", "reductions", "moves", "norms", "recurrent")
"""The modules that add rows, in the order of the page."""

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
