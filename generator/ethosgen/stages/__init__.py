"""Cut a network into stages for several elements, and tell how long each takes."""
