"""Many runs combined: accuracy, comparison, sweeps, a report, quantization, acceptance."""
