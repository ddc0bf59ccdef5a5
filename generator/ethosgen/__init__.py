"""ethosgen: a quantized network to Cortex-M + Ethos-U firmware, checked bit for bit."""

__version__ = "0.1.0"
