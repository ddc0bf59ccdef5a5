"""Chains of operators that compute bands of rows instead of one whole tensor after another."""
