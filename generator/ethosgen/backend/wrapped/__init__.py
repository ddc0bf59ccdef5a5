"""Wrapped accelerators, which a user describes in accelerator.toml.

expressions   predicates and formulas
declaration   the tables of accelerator.toml
folder        an accelerator's folder, read and checked
site          operators in a graph, and the terms that declarations may use
matching      chains with optional members
python        the user's Python class
arguments     the C call of a chain; packing: the order of weights
folding       chains become partitions of a plan
program       the accelerator's C, run on this machine
accelerator   all this as a backend
"""
