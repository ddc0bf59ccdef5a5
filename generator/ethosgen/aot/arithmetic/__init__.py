"""TFLite's arithmetic, which the operator families share."""
