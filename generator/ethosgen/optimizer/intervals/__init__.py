"""Intervals of a network's values, for every input."""
