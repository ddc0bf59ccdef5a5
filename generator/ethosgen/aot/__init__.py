"""OffloadPlan to Program: TVM compiles what the NPU does not run. Owns tvm."""
