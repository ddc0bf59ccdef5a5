"""What the libraries of kernels share: their form, and how layers become calls of C functions."""
