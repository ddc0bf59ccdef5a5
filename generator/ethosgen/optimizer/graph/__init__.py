"""Rewrites of a graph's shape: repeated computations, and moves after moves."""
