"""The common part of all plots: Matplotlib's settings, and a figure that a notebook shows."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ethosgen.host.extras import EXTRAS
from ethosgen.values.errors import InputError

KINDS = ("png", "svg", "pdf")
"""The files that `Picture.save` writes, by their suffix."""

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "ethosgen",  # the same figures give the same bytes
    "svg.fonttype": "none",  # text stays text, for screen readers
    "font.size": 9,
}
_DATELESS: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


class Picture:
    """A plot: a notebook shows it, `save` writes it, and `figure` is Matplotlib's to change.

    Args:
        figure: the figure of Matplotlib.
        title: what the plot shows.
    """

    def __init__(self, figure: Any, title: str = "plot") -> None:
        self.figure = figure
        self.title = title

    def save(self, path: str | Path) -> None:
        """Write the plot to a .png, .svg or .pdf file.

        Args:
            path: the file; its suffix is the format.
        """
        target = Path(path)
        kind = target.suffix.lower().removeprefix(".")
        if kind not in KINDS:
            known = ", ".join(f".{name}" for name in KINDS)
            raise InputError(f"'{target}' ends in none of {known}; choose one")
        data = self.file(kind)
        try:
            target.write_bytes(data)
        except OSError as error:
            raise InputError(f"cannot write '{target}': {error.strerror}") from None

    def file(self, kind: str) -> bytes:
        """Return the bytes of a file of one of KINDS."""
        import matplotlib

        file = io.BytesIO()
        with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
            # an SVG's text is shown in the reader's fonts, not in those that measured it
            warnings.filterwarnings("ignore", r"Glyph \d+")
            self.figure.savefig(file, format=kind, dpi=110, metadata=_DATELESS.get(kind))
        return file.getvalue()

    def __repr__(self) -> str:
        """Return "<Picture: the timeline of digits>"."""
        return f"<Picture: {self.title}>"

    def _repr_png_(self) -> bytes:
        return self.file("png")


def picture(size: tuple[float, float], fill: Callable[[Any], None], title: str = "plot") -> Picture:
    """Return a plot of `size` inches that `fill` draws; ToolError without Matplotlib."""
    EXTRAS["plot"].require("a plot")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=size)
        fill(figure)
    return Picture(figure, title)
