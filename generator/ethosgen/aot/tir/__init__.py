"""Functions of TIR: what a kernel is, its arithmetic, and how loops are built, read and joined."""
