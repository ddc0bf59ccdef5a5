"""The memory plan: an address for every tensor, and proof that no live tensor is overwritten."""
