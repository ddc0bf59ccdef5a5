"""The common part of the kernels' libraries: their form, and layers as calls of C functions."""
