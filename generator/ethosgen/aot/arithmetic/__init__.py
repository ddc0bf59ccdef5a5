"""TFLite's arithmetic, shared by the operator families."""
