"""The accelerator of docs/accelerators.md whose kernel is TIR, and changes of it."""

import re
from pathlib import Path

from tests import ROOT
from tests.support.toy_accelerator import changed

PAGE = ROOT / "docs" / "accelerators.md"
NAME = "tir-engine"
_HEAD = """\
schema = 1
title = "dense layers in TIR"
kind = "device"
headers = ["tir_engine.h"]
python = "engine.py:Engine"

"""
_HEADER = """\
#pragma once
#include <stdint.h>

static inline int32_t engine_product(int32_t input, int32_t weight, int32_t offset)
{
    return (input + offset) * weight;
}

static inline int32_t engine_rescale(int32_t sum, int32_t multiplier, int32_t shift)
{
    uint32_t left = shift > 0 ? (uint32_t)shift : 0, right = shift < 0 ? (uint32_t)-shift : 0;
    int64_t product = (int64_t)(int32_t)((uint32_t)sum << left) * multiplier;
    int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
    int64_t high = (product + nudge) / ((int64_t)1 << 31);
    high = high > INT32_MAX ? INT32_MAX : high;
    int64_t mask = ((int64_t)1 << right) - 1;
    return (int32_t)((high >> right) + ((high & mask) > (mask >> 1) + (high < 0)));
}
"""


def _fence(language: str) -> str:
    """Return the code of the page's section."""
    section = PAGE.read_text("utf-8").partition("\n## Kernels in TIR\n")[2].partition("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.S)
    return str(code)


def tir_folder(place: Path, *changes: tuple[str, str]) -> Path:
    """Write the page's accelerator with changes of its class, and return its folder."""
    folder, text = place / NAME, _fence("python")
    for old, new in changes:
        text = changed(old, new, text)
    folder.mkdir(parents=True)
    (folder / "accelerator.toml").write_text(_HEAD + _fence("toml"))
    (folder / "engine.py").write_text(text)
    (folder / "tir_engine.h").write_text(_HEADER)
    return folder
