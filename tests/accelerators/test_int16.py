"""An accelerator that computes in int16, with 64-bit sums: checked, in firmware, and measured."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend import load_wrapped
from ethosgen.studies.acceptance import check_accelerator
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

SIZES = ("batches", "h", "w", "channels")
NUMBERS = [
    *(f"{tensor}_{size}" for tensor in ("input", "output") for size in SIZES),
    *("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_top", "pad_left"),
    *("activation_min", "activation_max"),
]
POINTERS = ["input", "weights", "bias", "output", "multipliers", "shifts"]
TOML = f"""\
schema = 1
title = "convolutions of int16"
kind = "device"
headers = ["conv16.h"]
sources = ["conv16.c"]

[[operator]]
chain = ["CONV_2D"]
dtypes = ["int16"]
where = [
    "weights_is_constant and dilation_h == 1 and dilation_w == 1",
    "weights_channels == input_channels",
]
call = "conv16"
arguments = {[*POINTERS, *NUMBERS]!r}
cycles = "output_elements * kernel_h * kernel_w * input_channels"
""".replace("'", '"')
HEADER = f"""\
#pragma once
#include <stdint.h>
int32_t conv16(const int16_t *input, const int8_t *weights, const int64_t *bias, int16_t *output,
               const int32_t *multipliers, const int32_t *shifts,
               {", ".join(f"int32_t {number}" for number in NUMBERS)});
"""
SOURCE = f"""\
#include "conv16.h"
#include <stddef.h>

/* Of the multiplier, TensorFlow Lite keeps 16 bits where sums have 64. */
static int32_t rescale(int64_t sum, int32_t multiplier, int32_t shift)
{{
    int64_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    int32_t right = 15 - shift;

    return (int32_t)((sum * reduced + ((int64_t)1 << (right - 1))) >> right);
}}

int32_t conv16(const int16_t *input, const int8_t *weights, const int64_t *bias, int16_t *output,
               const int32_t *multipliers, const int32_t *shifts,
               {", ".join(f"int32_t {number}" for number in NUMBERS)})
{{
    for (int32_t n = 0; n < output_batches; n++) {{
        for (int32_t i = 0; i < output_h * output_w * output_channels; i++) {{
            int32_t c = i % output_channels;
            int32_t top = i / output_channels / output_w * stride_h - pad_top;
            int32_t left = i / output_channels % output_w * stride_w - pad_left;
            int64_t sum = bias != NULL ? bias[c] : 0;
            for (int32_t k = 0; k < kernel_h * kernel_w * input_channels; k++) {{
                int32_t y = top + k / input_channels / kernel_w;
                int32_t x = left + k / input_channels % kernel_w;
                if (y >= 0 && y < input_h && x >= 0 && x < input_w) {{
                    int32_t pixel = (n * input_h + y) * input_w + x;
                    sum += input[pixel * input_channels + k % input_channels] *
                           weights[c * kernel_h * kernel_w * input_channels + k];
                }}
            }}
            int32_t value = rescale(sum, multipliers[c], shifts[c]);
            value = value < activation_min ? activation_min : value;
            *output++ = (int16_t)(value > activation_max ? activation_max : value);
        }}
    }}
    (void)input_batches;
    return 0;
}}
"""


@pytest.fixture
def conv16(tmp_path: Path) -> Path:
    """Return the accelerator's folder."""
    folder = tmp_path / "conv16"
    folder.mkdir()
    files = {"accelerator.toml": TOML, "conv16.h": HEADER, "conv16.c": SOURCE}
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@needs_gcc
def test_it_equals_tflite_micro_on_random_networks(conv16: Path) -> None:
    (result,) = check_accelerator(load_wrapped(str(conv16)), 0, Watch())
    assert result.passed and result.networks >= 6, result
    assert any("TensorFlow Lite Micro" in name for name in result.compared)


@needs_gcc
def test_a_wrong_rounding_is_found(conv16: Path) -> None:
    source = conv16 / "conv16.c"
    wrong = source.read_text().replace("+ ((int64_t)1 << (right - 1))", "")
    source.write_text(wrong)
    (result,) = check_accelerator(load_wrapped(str(conv16)), 0, Watch())
    assert not result.passed and result.findings


@needs_gcc
@needs_qemu
def test_it_runs_in_firmware(conv16: Path, tmp_path: Path) -> None:
    net = NetworkBuilder("wide", seed=4)
    x = net.input((1, 9, 7, 3), dtype="int16", zero_point=0)
    x = net.conv2d(x, 5, (3, 3), (2, 1), activation="RELU")
    path = tmp_path / "wide.tflite"
    path.write_bytes(net.build(net.conv2d(x, 4, (2, 2), padding="VALID")))
    recipe = Recipe((path,), "corstone300", "none", accelerators=(str(conv16),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 5, 3)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 2
