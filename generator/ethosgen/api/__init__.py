"""ethosgen in scripts and notebooks: the commands as functions, with values in and out.

    import ethosgen

    run = ethosgen.simulate("model.tflite", npu="ethos-u55-128")
    run.report.passed, run.outputs

`ethosgen` itself exports all of them, and imports them on first use; `ethosgen.place` and
`ethosgen.sweep` are in packages of their own. Every function raises an EthosgenError for errors
that a user can fix, with the command's sentence. The functions print nothing: pass `announce=print`
to follow long work.
"""

from ethosgen.api.attached import AttachedRun, attach
from ethosgen.api.firmware import FirmwareOptions
from ethosgen.api.networks import NetworkLike, draw_samples, read
from ethosgen.api.projects import (
    build_project,
    create_project,
    flash_project,
    identify,
    run_project,
)
from ethosgen.api.runs import Run, create_report, simulate, verify
from ethosgen.api.samples import SampleOptions
from ethosgen.api.studies import AccuracyOptions, ComparisonOptions, accuracy, compare
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.schedule import Schedule, Strategy

__all__ = [
    "AccuracyOptions",
    "AttachedRun",
    "ComparisonOptions",
    "FirmwareOptions",
    "NetworkLike",
    "OffloadMode",
    "OffloadOptions",
    "Run",
    "SampleOptions",
    "Schedule",
    "Strategy",
    "accuracy",
    "attach",
    "build_project",
    "compare",
    "create_project",
    "create_report",
    "draw_samples",
    "flash_project",
    "identify",
    "read",
    "run_project",
    "simulate",
    "verify",
]
