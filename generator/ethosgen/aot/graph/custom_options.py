"""Options of TFLite Micro's own operators, which it reads by their place in the order of names."""

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.model import Operator


def read_integers(op: Operator, **bounds: tuple[int, int]) -> dict[str, int]:
    """Return whole numbers by name, each within its bounds; truth values are 0 or 1.

    UnsupportedError for one that is missing, is no whole number or lies outside, and for options
    besides: TFLite Micro would take one for another.
    """
    if set(op.options) != set(bounds):
        wanted, given = (", ".join(sorted(names)) or "none" for names in (bounds, op.options))
        raise UnsupportedError(
            f"its options are {given} instead of {wanted}, so that TFLite Micro would take one for "
            "another; convert the network again"
        )
    found = {}
    for name, (low, high) in bounds.items():
        value = op.options[name]
        if not isinstance(value, int) or not low <= value <= high:
            raise UnsupportedError(
                f"its option {name} is {value!r} instead of a whole number from {low} to {high}"
            )
        found[name] = int(value)
    return found
