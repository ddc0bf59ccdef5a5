"""Metrics of labelled samples: scores and labels in, figures out."""

from ethosgen.metrics.classification import best, classify
from ethosgen.metrics.detection import detect, reconstruction_error

__all__ = ["best", "classify", "detect", "reconstruction_error"]
