"""`ethosgen.toml` in a user's folder: networks, board, options, labelled data and budgets."""
