"""Joins the stages: read, offload, compile, render, build, run, compare.

    .tflite ──▶ Model ──▶ Plan ──▶ Program ──▶ Project ──▶ ELF ──▶ Outcome ──▶ Report

Every function takes a Watch, which times the stages and reports the current one. Stages are
imported on first use: compilers take seconds to load.
"""

from ethosgen.pipeline.application import Feed
from ethosgen.pipeline.creation import Written, create_project
from ethosgen.pipeline.firmware import (
    build_project,
    flash_project,
    run_app,
    run_project,
    verify,
)
from ethosgen.pipeline.judgement import Criteria, Inputs, choose_samples, judge
from ethosgen.pipeline.npu_model import attach_model, serve_npu
from ethosgen.pipeline.planning import (
    choose_accelerator,
    choose_npu,
    make_plan,
    make_program,
    read,
)
from ethosgen.pipeline.quantization import quantize
from ethosgen.pipeline.simulation import simulate

__all__ = [
    "Criteria",
    "Feed",
    "Inputs",
    "Written",
    "attach_model",
    "build_project",
    "choose_accelerator",
    "choose_npu",
    "choose_samples",
    "create_project",
    "flash_project",
    "judge",
    "make_plan",
    "make_program",
    "quantize",
    "read",
    "run_app",
    "run_project",
    "serve_npu",
    "simulate",
    "verify",
]
