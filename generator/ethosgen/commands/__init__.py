"""The commands, a module each, and what they share; they print, as cli.py does."""
