"""Tests of ethosgen_pytest."""
