"""`ethosgen serve-npu`: the NPU of another process; not for interactive use."""

import sys

import click


@click.command(hidden=True)
def serve_npu() -> None:
    """Serve as the NPU of a Zephyr application on native_sim, over stdin and stdout."""
    from ethosgen import pipeline

    pipeline.serve_npu(sys.stdin.buffer, sys.stdout.buffer)
