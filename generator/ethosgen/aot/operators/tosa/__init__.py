"""TOSA's operators: arithmetic of their own, and those that have the arithmetic of TFLite's."""
