"""Front ends: a file's bytes to a network."""
