"""The commands, a module each, and their common parts; like cli.py, they print."""
