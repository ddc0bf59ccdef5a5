"""Loops over tensors, shared by the operator families."""
