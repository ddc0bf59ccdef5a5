"""Metrics of labelled samples: scores and labels in, figures out."""

from ethosgen.metrics.classification import classify
from ethosgen.metrics.detection import detect, reconstruction_error

__all__ = ["classify", "detect", "reconstruction_error"]
