"""Dead values: channels, weights and operators on which no output depends."""
