"""Model to OffloadPlan: Vela decides what the NPU runs. Owns ethosu."""
