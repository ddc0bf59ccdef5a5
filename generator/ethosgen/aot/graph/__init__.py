"""The residual graph made ready for code: paddings, states, subgraphs, how tensors are stored."""
