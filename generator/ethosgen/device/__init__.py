"""Functional models of a user's devices: their registers, their memory, the process that runs them.

A model may crash or hang, so it runs in its own process. It shares the pages of its registers and
the firmware's memory with the target.
"""
