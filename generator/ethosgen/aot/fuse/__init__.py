"""Fusion of operators into the producers of their inputs."""
