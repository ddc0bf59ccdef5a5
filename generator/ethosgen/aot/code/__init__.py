"""Kernels to C: the Relax module, the lowering passes, TVM's C generator."""
