"""A corpus of small quantized networks that compares the NPU model with two oracles.

    .venv/bin/python -m tests.corpus table                # everything; writes evidence/exactness.md
    .venv/bin/python -m tests.corpus table --product u85  # only one of the page's products
    .venv/bin/python -m tests.corpus run CONV_2D int8     # one row of the table
    .venv/bin/python -m tests.corpus one CONV_2D int8 17  # one case: network and comparisons
    .venv/bin/python -m tests.corpus damage               # put in wrong outputs: none is excused

A case is an operator, a dtype and a seed, and gives the same network on every machine. Generators
choose through `choices.Choices`, whose source is a seed or hypothesis, so that hypothesis can
shrink a network that a seed has found (`shrink`).
"""
