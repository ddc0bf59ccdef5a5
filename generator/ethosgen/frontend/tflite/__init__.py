"""TFLite's format: the only writer of .tflite files."""
