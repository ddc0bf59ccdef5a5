"""Files of tables that users write, in TOML or JSON: read, and checked against a model."""
