"""The order of the calls: a step for each operator and partition, copies, and waits."""
