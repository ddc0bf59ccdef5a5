"""The processors of this machine that the process may use."""

import os


def processor_count() -> int:
    """Return how many there are; on systems that bind processes to none, all."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
