"""Curves, tables and sums, shared by the operator families."""
