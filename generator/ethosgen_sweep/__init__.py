"""Sweeps: the study file, the store of results, dask's cluster, and tables of results."""
