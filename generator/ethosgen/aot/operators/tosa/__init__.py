"""TOSA's operators: those with their own arithmetic, and those with TFLite's."""
