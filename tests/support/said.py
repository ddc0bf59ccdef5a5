"""The messages of a command on stderr, for tests."""


def sentences(stderr: str) -> list[str]:
    """Return the lines without those about progress, which a slow machine prints."""
    return [line for line in stderr.strip().splitlines() if not line.endswith(" s so far)")]
