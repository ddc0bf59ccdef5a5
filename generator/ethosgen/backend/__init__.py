"""Backends: what runs part of a network in place of the CPU."""
