"""The memory plan: a place for every tensor, and the proof that none is overwritten."""
