"""The commands, a module each, and what they share; like cli.py, they print."""
