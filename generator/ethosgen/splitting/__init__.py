"""Cuts operators into parts, each of which an element computes from a region of its inputs."""
