"""A small PlatformIO platform for the compiler on PATH, in the form of the vendors' ones."""

from platformio.public import PlatformBase


class CorstonePlatform(PlatformBase):
    """Arm Corstone-300."""
