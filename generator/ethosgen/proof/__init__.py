"""Proves facts of a compiled firmware from its ELF: how much stack it needs, and its memory.

It shares no code with what planned, generated or compiled the firmware. `stack` bounds the stack;
`memory` checks the blocks of the manifest, the accesses, and the places of the sections.
"""
