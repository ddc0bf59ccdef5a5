"""The order of the calls: each operator and partition a step, what is copied and what waits."""
