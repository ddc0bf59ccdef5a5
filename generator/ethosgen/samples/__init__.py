"""Samples: inputs to run, drawn or from a file, and outputs."""
