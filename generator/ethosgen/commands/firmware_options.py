"""Options for additional parts of a firmware, for a run."""

import click

COVERAGE = click.option(
    "--coverage",
    is_flag=True,
    help="Also list the statements of the generated C that the samples never reach, and the "
    "branches that they never take.",
)

SELF_TEST = click.option(
    "--self-test",
    is_flag=True,
    help="Make the firmware run the networks' self-tests first: CRCs, the NPU's identity, and an "
    "inference with a known output. If one fails, it does not start.",
)
