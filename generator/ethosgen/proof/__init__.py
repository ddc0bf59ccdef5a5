"""Proves facts of a compiled firmware from its ELF: the stack that it needs, and its memory.

It shares no code with the planner, the generator or the compilers of the firmware. `stack` bounds
the stack; `memory` checks the blocks of the manifest, the accesses, and the places of the sections.
"""
