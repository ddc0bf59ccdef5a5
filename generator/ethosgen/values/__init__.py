"""Frozen values and plain functions on them: the network, the plan, the program, the outcome."""
