"""Ethos-U85's differences: registers, operations, weight streams and output stage."""
