"""Samples: the inputs that are tried, drawn or from a file, and the outputs."""
