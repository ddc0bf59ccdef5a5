"""Options of TFLite Micro's custom operators, which it reads by position, sorted by name."""

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator


def read_integers(op: Operator, **bounds: tuple[int, int]) -> dict[str, int]:
    """Return integers by name, each within its inclusive bounds; bools are 0 or 1.

    UnsupportedError for an option that is missing, not an integer or out of range, and for unknown
    options: TFLite Micro would confuse them.
    """
    if set(op.options) != set(bounds):
        wanted, present = (", ".join(sorted(names)) or "none" for names in (bounds, op.options))
        raise UnsupportedError(
            f"its options are {present} instead of {wanted}, which TFLite Micro would confuse; "
            "convert the network again"
        )
    integers = {}
    for name, (low, high) in bounds.items():
        value = op.options[name]
        if not isinstance(value, int) or not low <= value <= high:
            raise UnsupportedError(
                f"its option {name} is {value!r} instead of an integer from {low} to {high}"
            )
        integers[name] = int(value)
    return integers
