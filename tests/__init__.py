"""The tests, which mirror the modules of ethosgen, and what they share (`support`, `corpus`)."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The repository."""
