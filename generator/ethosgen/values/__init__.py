"""Frozen values and plain functions of them: the network, the plan, the program, the outcome."""
