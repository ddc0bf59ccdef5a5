"""Suites of tests that others wrote, each run against ethosgen as it asks for."""
