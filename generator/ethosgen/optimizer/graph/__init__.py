"""Rewrites of a graph's shape: what is computed twice, and moves behind moves."""
