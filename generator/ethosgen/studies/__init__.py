"""Many runs joined: accuracy, comparison, sweeps, a report, quantization, acceptance."""
