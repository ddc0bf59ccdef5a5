"""What is drawn in an SVG that Matplotlib wrote."""

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: bytes) -> set[str]:
    """Return the texts."""
    words = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return {"".join(element.itertext()) for element in words}


def marks(svg: bytes, style: str = "") -> int:
    """Return the number of markers, of dots for example, whose style begins so."""
    uses = ElementTree.fromstring(svg).iter(f"{SVG}use")
    return sum(mark.get("style", "").startswith(style) for mark in uses)
