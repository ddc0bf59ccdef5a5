"""Loops over tensors, which the operator families share."""
