"""Generators: a function of Choices and a dtype returns a Case, one file per family."""
