"""Functions of TIR: kernels, their arithmetic, and building, reading and joining loops."""
