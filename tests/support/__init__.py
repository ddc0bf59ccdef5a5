"""Shared by tests: builders of networks, stand-ins for the NPU, and small helpers."""
