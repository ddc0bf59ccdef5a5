"""Folders of accelerators for tests: the toy adder, and changes of it."""

from pathlib import Path
from typing import Any

from tests.plugins.toy.toy_plugin.adder import DRIVER, HEADER
from tests.support.networks import NetworkBuilder

TOML = """\
schema = 1
title = "toy adder"
kind = "device"
headers = ["toy_add.h"]
sources = ["toy_add.c"]
start = 10

[[operator]]
chain = ["ADD"]
where = [
    "activation == 'NONE'",
    "input_scale == input2_scale and input_scale == output_scale",
    "input_zero_point == 0 and input2_zero_point == 0 and output_zero_point == 0",
    "input_shape == output_shape and input2_shape == output_shape",
]
call = "toy_add"
arguments = ["input", "input2", "output", "output_elements"]
cycles = "output_elements"
"""
PLAIN: dict[str, Any] = {"scale": 0.05, "zero_point": 0}


def write_folder(
    folder: Path, toml: str = TOML, header: str = HEADER, source: str = DRIVER, **files: str
) -> Path:
    """Write the toy's folder, or one with other files, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    body = source.replace(HEADER, "")
    (folder / "accelerator.toml").write_text(toml)
    (folder / "toy_add.h").write_text(f"#pragma once\n{header}")
    (folder / "toy_add.c").write_text(f'#include "toy_add.h"\n{body}')
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def changed(old: str, new: str, toml: str = TOML) -> str:
    """Return the declaration with a change of a text that it has once."""
    assert toml.count(old) == 1, old
    return toml.replace(old, new)


def sums_file(path: Path) -> Path:
    """Write two sums that the adder takes, between operators of the CPU, and one to rescale."""
    net = NetworkBuilder("sums", seed=3)
    x, y = net.input((1, 6), name="x", **PLAIN), net.input((1, 6), name="y", **PLAIN)
    z = net.add(net.add(x, y, **PLAIN), net.relu(x, **PLAIN), **PLAIN)
    path.write_bytes(net.build(net.add(z, y, scale=0.07, zero_point=2)))
    return path
