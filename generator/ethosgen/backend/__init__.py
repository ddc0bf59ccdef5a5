"""Backends: they run parts of a network instead of the CPU."""
