"""Chains of operators that compute bands of rows, instead of whole tensors one after another."""
