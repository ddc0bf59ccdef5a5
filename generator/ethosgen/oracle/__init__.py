"""Oracles: they compute the golden outputs, independently of the compiler."""
