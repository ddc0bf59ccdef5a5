"""One module per operator family of the NPU."""
