"""Runs .onnx files with ONNX Runtime."""

from collections.abc import Sequence

from ethosgen.host.extras import EXTRAS
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import Source

_QUIET = 4
"""ONNX Runtime's severity of messages above which it prints nothing."""


def run(source: Source, samples: Sequence[Arrays], is_optimized: bool = False) -> list[Arrays]:
    """Return the outputs of each sample, by name, computed node by node as in the file.

    `is_optimized` leaves ONNX Runtime its default optimizations: they fuse quantized islands into
    its own integer kernels, with one rounding more or less than the file.
    """
    EXTRAS["onnx"].require("comparing with ONNX Runtime", "onnxruntime")
    import onnxruntime

    from ethosgen.frontend.onnx.saturation import without_saturation

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _QUIET
    if not is_optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            without_saturation(source.data), options, providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        return [
            dict(zip(names, session.run(names, dict(sample)), strict=True)) for sample in samples
        ]
    except Exception as error:
        words = " ".join(str(error).split())[:200]
        raise UnsupportedError(f"ONNX Runtime refuses '{source.name}': {words}") from None


def version() -> str:
    """Return ONNX Runtime's version."""
    from importlib.metadata import version as installed

    return installed("onnxruntime")
