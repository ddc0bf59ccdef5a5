"""Functions that TFLite has no operator for, as several operators on floats."""

from ethosgen.frontend.relax.draft import Value
from ethosgen.frontend.relax.floats import Floats
from ethosgen.frontend.relax.site import NoIntegerForm, Site, translates

_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_SLOPE = 0.3275911
"""Abramowitz and Stegun, 7.1.26: within 1.5e-7."""


@translates("erf")
def erf(site: Site) -> Value:
    """Translate to a polynomial times an exponential."""
    source = _float(site, "ERF")
    add = Floats(site, source)
    size = add("ABS", source)
    factor = add("DIV", 1.0, add("ADD", add("MUL", size, _ERF_SLOPE), 1.0))
    total = add("MUL", factor, _ERF[-1])
    for number in reversed(_ERF[:-1]):
        total = add("MUL", add("ADD", total, number), factor)
    decay = add("EXP", add("NEG", add("MUL", source, source)))
    result = add("SUB", 1.0, add("MUL", total, decay))
    return site.finished(add("MUL", result, _sign(add, source)))


@translates("sign")
def sign(site: Site) -> Value:
    """Translate to two clamps of a steep line."""
    source = _float(site, "SIGN")
    return site.finished(_sign(Floats(site, source), source))


def _sign(add: Floats, source: Value) -> Value:
    steep = add("MUL", add("MUL", source, 1e30), 1e30)  # infinite, or 0
    return add("MINIMUM", add("MAXIMUM", steep, -1.0), 1.0)


def _float(site: Site, code: str) -> Value:
    if site.is_quantized:
        raise NoIntegerForm(f"{code} has no integer form")
    return site.value(0)
