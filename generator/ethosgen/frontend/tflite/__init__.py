"""TFLite's format: the one writer of .tflite files."""
