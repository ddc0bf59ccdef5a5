"""Plots of figures, by Matplotlib."""
