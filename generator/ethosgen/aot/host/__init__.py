"""The residual graph on this machine."""
