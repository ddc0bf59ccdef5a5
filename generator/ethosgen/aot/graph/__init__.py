"""The residual graph made ready for code: steps, subgraphs, states, variables."""
