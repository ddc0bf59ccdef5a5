"""The commands, one module each, and what they share; like cli.py, they print."""
