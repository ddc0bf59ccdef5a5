"""What all plots share: Matplotlib's settings, and how a figure becomes a file."""

import io
import warnings
from collections.abc import Callable
from typing import Any

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "ethosgen",  # the same figures give the same bytes
    "svg.fonttype": "none",  # text stays text, for readers of screens
    "font.size": 9,
}


def drawn(size: tuple[float, float], fill: Callable[[Any], None], kind: str = "svg") -> bytes:
    """Return the bytes of an SVG or PNG file with a figure, which `fill` gets to draw on.

    `size` is its width and height in inches.
    """
    import matplotlib
    from matplotlib.figure import Figure

    file = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # the reader's fonts show the text of an SVG, not those that it is measured with
        warnings.filterwarnings("ignore", r"Glyph \d+")
        figure = Figure(figsize=size)
        fill(figure)
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(file, format=kind, dpi=110, metadata=metadata)
    return file.getvalue()
