"""Preparation of the residual graph for code: paddings, states, subgraphs, storage of tensors."""
