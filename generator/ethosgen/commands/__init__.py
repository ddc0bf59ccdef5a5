"""Groups of commands beside the main ones; they print, as cli.py does."""
