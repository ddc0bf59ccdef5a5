"""Front ends: they read a file's bytes into a network."""
