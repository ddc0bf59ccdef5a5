"""The version of this ethosgen, which projects, reports and messages name."""

__version__ = "0.1.0"
