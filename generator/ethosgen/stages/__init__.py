"""Cut a network into stages for several elements, and time each."""
