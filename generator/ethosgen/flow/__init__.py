"""Combines the steps: read, offload, compile, render, build, run, compare.

    .tflite ──▶ Model ──▶ Plan ──▶ Program ──▶ Project ──▶ ELF ──▶ Outcome ──▶ Report

Every function takes a Watch, which times the phases and reports the current one. The names below
are imported on first use, because compilers take seconds to load, and a worker process needs only
its own module.
"""

from typing import TYPE_CHECKING

from ethosgen.late_names import imported_on_use

if TYPE_CHECKING:
    from ethosgen.flow.application import Feed
    from ethosgen.flow.creation import Written, create_project
    from ethosgen.flow.firmware import (
        build_project,
        flash_project,
        run_app,
        run_project,
        verify,
    )
    from ethosgen.flow.firmware_run import RunOptions
    from ethosgen.flow.models import attach_model, serve_npu
    from ethosgen.flow.planning import (
        PlanSettings,
        choose_accelerator,
        choose_npu,
        make_plan,
        make_program,
        read,
    )
    from ethosgen.flow.simulation import simulate

__all__ = [
    "Feed",
    "PlanSettings",
    "RunOptions",
    "Written",
    "attach_model",
    "build_project",
    "choose_accelerator",
    "choose_npu",
    "create_project",
    "flash_project",
    "make_plan",
    "make_program",
    "read",
    "run_app",
    "run_project",
    "serve_npu",
    "simulate",
    "verify",
]

_NAMES_OF = {
    "application": ("Feed",),
    "creation": ("Written", "create_project"),
    "firmware": ("build_project", "flash_project", "run_app", "run_project", "verify"),
    "firmware_run": ("RunOptions",),
    "models": ("attach_model", "serve_npu"),
    "planning": (
        "PlanSettings",
        "choose_accelerator",
        "choose_npu",
        "make_plan",
        "make_program",
        "read",
    ),
    "simulation": ("simulate",),
}

if not TYPE_CHECKING:  # mypy would accept any name
    __getattr__ = imported_on_use(__name__, _NAMES_OF)


def __dir__() -> list[str]:
    return sorted(__all__)
