"""Things that run an ELF and talk over a console. Owns serial."""
