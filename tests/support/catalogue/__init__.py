"""The operators and networks of tests, described once: a builder of each format writes them."""
