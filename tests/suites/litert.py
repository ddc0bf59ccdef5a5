"""LiteRT's zip tests, which its own generator writes, run against ethosgen.

    LITERT_PATH=TREE LITERT_ZIPS=FOLDER python -m tests.suites.litert --write [--part N] [SET ...]
    LITERT_PATH=TREE LITERT_ZIPS=FOLDER python -m tests.suites.litert [--on cpu ...] [--part N]

The first command writes a zip file for each operator, by TensorFlow in the environment `keras`.
A test is a network with inputs and TensorFlow's outputs. The suite allows a difference, a large one
for quantized networks; so the outputs must equal those of the oracle, too.
"""

import argparse
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from ethosgen.frontend import read_source
from ethosgen.frontend.tflite.identifier import FORMAT
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.oracle import LITERT
from ethosgen.values.errors import EthosgenError
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import Source
from ethosgen.verdict.judgement import golden_answer
from tests.suites import litert_generation
from tests.suites.golden_tests import DIFFERENT, PASSED, REFUSED, Array, GoldenResult, run_samples
from tests.suites.running import GoldenSuite, commit_of, run_main

VARIABLE, ZIPS = "LITERT_PATH", "LITERT_ZIPS"
QUANTIZED = "fully_quantize=True"
_KNOWN = (
    r"^(conv|depthwiseconv|sum|l2norm|prelu).*fully_quantize=True",
    r"^local_response_norm/.*alpha=-3.*beta=2",
    r"^local_response_norm/.*alpha=(None|2).*beta=2.*bias=-0\.1.*depth_radius=(0|1)"
    r".*input_shape=\[3,15,14,3\]",
    r"^static_rnn_with_control_flow_v2/.*use_sequence_length=True",
)
"""Tests that may fail by the suite's own lists (generated_examples_zip_test.cc)."""
CONVERTED = "LiteRT's own outputs for the file are ours: its converter changed the network"
OPEN = "an open shape, for which the test has several sizes"
_SIGNATURE = "serving_default"
_WRITE_S = 3600


@dataclass(frozen=True)
class Limits:
    """The suite's tolerance: `relative`, or `absolute` for values below `relative`.

    It is that of tflite_driver.cc and result_expectations.cc.
    """

    relative: float
    absolute: float

    def far(self, ours: Array, theirs: Array) -> Array:
        """Return a mask of the outputs that are too far from TensorFlow's."""
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
        with np.errstate(invalid="ignore"):
            apart = np.abs(ours - theirs)
            small = np.abs(theirs) < self.relative
            limit = np.where(small, self.absolute, self.relative * np.abs(theirs))
            far: Array = (apart > limit) & ~(np.isnan(ours) & np.isnan(theirs))
            far |= np.isnan(ours) != np.isnan(theirs)
        return far


FLOATS, INTEGERS = Limits(1e-2, 1e-4), Limits(0.2, 0.1)
"""For float networks, and for those that are quantized."""
STEPS, STEPS_16 = 4, 4 * 255
"""The steps that a quantized output of 8 or of 16 bits may differ by."""


@dataclass(frozen=True)
class ZipTest:
    """One test: the network's file, and its inputs and outputs by their names in the signature."""

    label: str
    model: bytes
    inputs: dict[str, Array]
    outputs: dict[str, Array]

    def in_order(self) -> tuple[list[Array], list[Array]]:
        """Return the inputs and the outputs in the order of the network's."""
        interpreter = Interpreter(model_content=self.model)
        runner = interpreter.get_signature_runner(_SIGNATURE)
        inputs = _ordered(self.inputs, runner.get_input_details(), interpreter.get_input_details())
        outputs = _ordered(
            self.outputs, runner.get_output_details(), interpreter.get_output_details()
        )
        return inputs, outputs


def _ordered(
    named: dict[str, Array], signature: dict[str, Any], details: list[dict[str, Any]]
) -> list[Array]:
    """Return arrays by the signature's names in the order of tensors; one without a name is 0."""
    by_index = {
        detail["index"]: named.get(name, np.zeros(detail["shape"], detail["dtype"]))
        for name, detail in signature.items()
    }
    return [by_index[detail["index"]] for detail in details]


def write(arguments: Sequence[str]) -> None:
    """Write the zip files of sets, all by default, unless they are there."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites.litert --write")
    parser.add_argument("--part", default="1", help="draw one in so many tests of each set")
    parser.add_argument("sets", nargs="*")
    asked = parser.parse_args(arguments)
    python = ENVIRONMENTS["keras"].find()
    tree, folder = Path(os.environ[VARIABLE]), Path(os.environ[ZIPS])
    partial = folder / "partial"
    partial.mkdir(parents=True, exist_ok=True)
    for name in asked.sets or sets(tree):
        if (folder / f"{name}.zip").exists():
            continue
        done = subprocess.run(
            [python, litert_generation.__file__, tree, partial, name, asked.part],
            capture_output=True,
            text=True,
            check=False,
            timeout=_WRITE_S,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        if done.returncode == 0:
            (partial / f"{name}.zip").rename(folder / f"{name}.zip")
        last = done.stderr.strip().splitlines()[-1:] if done.returncode else ["written"]
        sys.stdout.write(f"{name}: {''.join(last)}\n")
        sys.stdout.flush()


def sets(tree: Path) -> list[str]:
    """Return the names of the sets that LiteRT's own build generates."""
    text = (tree / "tflite" / "testing" / "build_def.bzl").read_text()
    (listed,) = re.findall(r"def generated_test_models\(\):\s+return \[(.*?)\]", text, re.DOTALL)
    return re.findall(r'^\s*"(\w+)"', listed, re.MULTILINE)


@cache
def _places() -> dict[str, tuple[Path, str, str]]:
    """Return by a test's name its zip file, the start of its members' names, and its label."""
    places = {}
    for path in sorted(Path(os.environ[ZIPS]).glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            lines = archive.read("manifest.txt").decode().splitlines()
        for line in lines:
            member, _, label = line.partition(" ")
            title = (label or member).rpartition("/")[2].removeprefix(f"{path.stem}_")
            places[f"{path.stem}/{title}"] = path, member, label or member
    return places


def names() -> list[str]:
    """Return the names of all tests: the set, and the parameters."""
    return list(_places())


def load(name: str) -> ZipTest:
    """Return a test."""
    path, member, label = _places()[name]
    with zipfile.ZipFile(path) as archive:
        model = archive.read(f"{member}.bin")
        inputs, outputs = read_examples(archive.read(f"{member}.inputs").decode())
    return ZipTest(label, model, inputs, outputs)


def read_examples(text: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Read inputs and outputs, each of four lines: name, dtype, shape and values."""
    lines = [line.partition(",") for line in text.splitlines()[1:]]
    groups: list[dict[str, Array]] = []
    for i, (word, _, value) in enumerate(lines):
        if word in ("inputs", "outputs"):
            groups.append({})
        elif word == "name":
            dtype, shape, values = (lines[i + k][2] for k in (1, 2, 3))
            groups[-1][value] = _array(dtype, shape, values)
    inputs, outputs = groups
    return inputs, outputs


def _array(dtype: str, shape: str, values: str) -> Array:
    numbers = values.split(",") if values else []
    sizes = [int(size) for size in shape.split(",") if size]
    if dtype.startswith(("|S", "object", "complex")):
        return np.array(numbers[:0], dtype="O")  # ethosgen refuses these before it reads them
    return np.array(numbers, np.float64).astype(dtype).reshape(sizes)


def run_named(name: str, on: str) -> GoldenResult:
    """Run one test in this process."""
    group, _, title = name.partition("/")
    result = GoldenResult(group, title, on, PASSED)
    test = load(name)
    try:
        network = read_source(Source(FORMAT, f"{group}.tflite", test.model))
        inputs, golden = test.in_order()
        if [array.shape for array in inputs] != [tensor.shape for tensor in network.inputs]:
            return replace(result, end=REFUSED, why=OPEN)
        sample = {
            tensor.name: array.astype(tensor.dtype)
            for tensor, array in zip(network.inputs, inputs, strict=True)
        }
        outputs, on_npu = run_samples(network, [sample], on)
    except EthosgenError as error:
        return replace(result, end=REFUSED, why=str(error))
    compared = golden_answer(network, [sample]).against(outputs)
    limits = INTEGERS if QUANTIZED in test.label else FLOATS
    ours = [outputs[0][tensor.name] for tensor in network.outputs]
    far = _count_far(network, ours, golden, limits)
    result = replace(
        result,
        on_npu=on_npu,
        elements=compared.elements,
        unequal=compared.mismatches,
        most=compared.max_abs_diff,
        like_oracle=compared.mismatches == 0,
    )
    if compared.mismatches:
        why = f"{compared.mismatches} of {compared.elements} differ from the oracle's"
        return replace(result, end=DIFFERENT, why=why)
    if far and not any(re.search(known, name) for known in _KNOWN):
        is_ours = not _count_far(network, ours, _litert_outputs(network, sample), limits)
        why, note = f"{far} of {compared.elements} differ", CONVERTED if is_ours else ""
        return replace(result, end=DIFFERENT, why=why, note=note)
    return result


def _litert_outputs(network: Network, sample: Arrays) -> list[Array]:
    """Return the outputs of LiteRT's reference kernels, dequantized as TensorFlow's are."""
    (outputs,) = LITERT.run(network, [sample])
    pairs = ((tensor, outputs[tensor.name]) for tensor in network.outputs)
    return [_dequantized(*pair) if _has_steps(pair[0]) else pair[1] for pair in pairs]


def _has_steps(tensor: Tensor) -> bool:
    return len(tensor.scales) == 1 and tensor.dtype != "uint8"


def _dequantized(tensor: Tensor, array: Array) -> Array:
    return np.asarray(tensor.scales[0] * (array.astype(np.float64) - tensor.first_zero_point))


def _count_far(
    network: Network, ours: Sequence[Array], theirs: Sequence[Array], limits: Limits
) -> int:
    rows = zip(network.outputs, ours, theirs, strict=True)
    return sum(int(_far(*row, limits).sum()) for row in rows)


def _far(tensor: Tensor, ours: Array, theirs: Array, limits: Limits) -> Array:
    if ours.shape != theirs.shape:
        return np.ones(1, bool)
    if not _has_steps(tensor):
        return limits.far(ours, theirs)
    steps = STEPS_16 if tensor.dtype == "int16" else STEPS
    return np.asarray(np.abs(_dequantized(tensor, ours) - theirs) > steps * tensor.scales[0])


def cause(result: GoldenResult) -> str:
    """Explain a difference from TensorFlow, "" if it cannot."""
    if result.like_oracle and result.group == "relu6":
        return "the outputs are TensorFlow Lite Micro's, whose RELU6 does not rescale"
    return result.note


_REASONS = {
    "computed at run time": "axes, limits or paddings that are computed",
    "cannot be compiled": "an operator or a type that ethosgen does not have",
    "type": "strings, complex numbers, and other types",
    "has no operators": "a network without operators",
    "shape": "an open or a computed shape",
    "does not accept a value": "an index that is out of range",
    "input as well|is constant": "an output that is an input or a constant",
}
"""By an expression for sentences, what they say in general."""


def reason(result: GoldenResult) -> str:
    """Return the kind of a refusal."""
    kinds = (kind for words, kind in _REASONS.items() if re.search(words, result.why))
    return next(kinds, result.reason)


SUITE = GoldenSuite(
    "litert",
    "LiteRT, zip tests",
    "Networks of one operator or a few, which LiteRT's own generator makes by TensorFlow 2.21 for "
    "each operator with many parameters, in floats and quantized. Of its 180 sets, 152 were "
    "written whole, and of each of the other 28, the largest, a drawn third. All that was written "
    "ran on the CPU; what passed there and is quantized ran with the NPUs, too, and one in 40 on "
    "QEMU. Outputs must equal the oracle's, and be within the suite's tolerance of TensorFlow's, "
    "unless the suite itself lists the test as failing.",
    lambda: commit_of(Path(os.environ[VARIABLE])),
    names,
    run_named,
    cause,
    reason,
    variable=f"{VARIABLE}=TREE {ZIPS}",
)


def main(arguments: list[str]) -> int:
    """Write zip files, or run the tests."""
    if arguments[:1] == ["--write"]:
        write(arguments[1:])
        return 0
    return run_main(SUITE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
