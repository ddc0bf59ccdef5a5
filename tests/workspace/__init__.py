"""Tests of ethosgen.workspace."""
