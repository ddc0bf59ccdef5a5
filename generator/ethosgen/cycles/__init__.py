"""Processor cycles of code: the blocks that QEMU executes, times llvm-mca's cycles for each.

firmware on QEMU ── counting.py, blocks.c ── which block ran after which, how often
ELF ── code.py ── the text of these blocks
text ── timing.py ── cycles of each block after each of its predecessors, by a core's model
all ── costs.py ── cycles by function and by block
"""
