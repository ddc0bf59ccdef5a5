"""Oracles: what computes the golden outputs, independently of the compiler."""
