"""numpy's clip as a ufunc: np.clip's Python wrapper takes longer than clipping a small array.

numpy does not document the ufunc; without it, two other ufuncs do the same.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CLIP = getattr(getattr(np, "_core", None), "umath", None)
_ufunc = getattr(_CLIP, "clip", None)


def _clip(values: NDArray[Any], low: NDArray[Any], high: NDArray[Any], out: NDArray[Any]) -> object:
    """Clip values to [low, high] and write them to `out`."""
    return np.minimum(np.maximum(values, low, out=out), high, out=out)


clip = _ufunc if isinstance(_ufunc, np.ufunc) else _clip
