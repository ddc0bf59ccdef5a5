"""Operators fused into the ones that write what they read."""
