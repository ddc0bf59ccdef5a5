"""Functional model of Ethos-U55 and Ethos-U65."""
