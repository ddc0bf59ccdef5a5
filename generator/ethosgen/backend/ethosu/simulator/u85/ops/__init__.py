"""The arithmetic of U85's operations."""

from ethosgen.backend.ethosu.simulator.u85.ops import conv, dma, elementwise, pool, resize

__all__ = ["conv", "dma", "elementwise", "pool", "resize"]
