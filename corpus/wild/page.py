"""Writes docs/random.md from a log."""

import collections
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from corpus import ROOT
from corpus.wild.batch import BAD

PAGE = ROOT / "docs" / "random.md"

Entry = Mapping[str, Any]

MEANING = {
    "equal": "every element of every output equals the oracle's",
    "refused": "`project` refuses it in a sentence; below by class",
    "dropped": "no oracle runs it, so there is nothing to compare with",
    "differs": "an element differs",
    "fault": "the NPU model faults on Vela's commands",
    "traceback": "an exception that is no sentence",
    "died": "the process ended",
    "hang": "no answer within two minutes",
}

_HEAD = """# Random networks

Written by `python -m corpus.wild table` from a log; do not edit it.

    .venv/bin/python -m corpus.wild run --count 300            # fresh networks; prints the seed
    .venv/bin/python -m corpus.wild run --count 20000 --start {start}
    .venv/bin/python -m corpus.wild one {start}                # one network, and its verdict

A run goes on where its log ends. Each network has 1 to 30 operators. `corpus/wild/fragments.py`
draws small pieces from the builders of the corpus and of the tests: every operator and type of
`ethosgen ops` but most of the signal library, ranks 0 to 6, extents of 1, constants on either side,
weights per channel and of int4, batches, fused activations, states, subgraphs.
`corpus/wild/graph.py` joins them: an input of a piece becomes a tensor that is there, through
QUANTIZE, CAST, RESHAPE, SLICE or PAD where it must. Tensors have several readers, networks several
inputs and outputs, and some outputs are read as well. Now and then a scale is 2^-14 to 2^20 times
what is usual, or the weights of a channel are 2^-4 to 2^-30 of it.

Each network is planned, compiled and rendered as `project` does it, for an NPU, a memory mode,
`--io` and `--offload` that are drawn, or without an NPU. Where a sentence advises the other `--io`,
the run follows. Partitions run on the NPU model and the rest by LLVM on this machine, three samples
each. TensorFlow Lite Micro is the oracle of a network that it runs. Else each operator is a
network of its own, and LiteRT answers for what TensorFlow Lite Micro lacks. SPACE_TO_BATCH_ND and
GREATER of int16 are always LiteRT's: TensorFlow Lite Micro reads fields there that nothing has set.
"""

_FOUND = """## What they found

Ours, mended, each with its minimal network as a test:

- Vela leaves out an output that BATCH_MATMUL of the same partition reads transposed, and writes the
  edges of a PAD in one partition and its middle in a later one. Both ended in a KeyError; the CPU
  gets what is in the way now (`tests/offload/test_refusal.py`).
- Vela lets an operator of the CPU read what RESHAPE or EXPAND_DIMS made of its input. SLICE and PAD
  of int32 were called damaged for that (`tests/offload/test_reshaping.py`).
- TVM takes a uint32 that becomes an int32 for positive, and drops the lower bound of a clamp behind
  it: QUANTIZE of int16 to int8 wrapped (`tests/aot/test_exponents.py`).
- NEG, SUM, TRANSPOSE, MIRROR_PAD, REDUCE_MAX, REDUCE_MIN and ARG_MAX lacked integer types on the
  CPU, where Vela's errata need them (`tests/operator_cases.py`).

Vela's, found by the check of `project` and errata now (`padded-part` and `groups-of-batches` in
`tests/errata`): a convolution with padding that reads part of a tensor gets all of its padding at
the bottom and right. Part of a tensor is what SLICE has made for DEPTHWISE_CONV_2D or
TRANSPOSE_CONV, and each group of a CONV_2D with groups and a batch above 1.

TensorFlow Lite Micro's: SPACE_TO_BATCH_ND and GREATER of int16 answer by what was in memory, and
REVERSE_V2 along no axis reads at address 0.
"""


def page(log: Sequence[Entry], qemu: Sequence[Entry] = ()) -> str:
    """Return the page; `qemu` is the log of the networks that ran as firmware."""
    seeds = sorted(entry["seed"] for entry in log)
    lines = [_HEAD.format(start=seeds[0]), *_verdicts(log), *_seconds(log)]
    lines += [*_firmware(qemu), *_errata(log)]
    lines += ["## Refused", "", *_classes(log, "refused")]
    lines += ["## Dropped", "", *_classes(log, "dropped")]
    bad = [entry for entry in log if entry["verdict"] in BAD]
    if bad:
        lines += ["## Differences, faults and failures", ""]
        lines += ["| seed | verdict | asked for | why |", "| ---: | --- | --- | --- |"]
        lines += [
            f"| {e['seed']} | {e['verdict']} | `{e['setting']}` | {_short(e['why'])} |" for e in bad
        ]
        lines.append("")
    return "\n".join([*lines, _FOUND])


def _verdicts(log: Sequence[Entry]) -> Iterator[str]:
    counts = collections.Counter(entry["verdict"] for entry in log)
    elements = sum(entry["elements"] for entry in log)
    operators = sum(entry["operators"] for entry in log)
    on_npu = sum(entry["on_npu"] for entry in log)
    yield f"Vela {version('ethos-u-vela')}, tflite-micro {version('tflite-micro')}."
    yield ""
    yield "| verdict | networks | |"
    yield "| --- | ---: | --- |"
    yield f"| drawn | {len(log):,} | {operators:,} operators, {on_npu:,} of them on the NPU |"
    for name, meaning in MEANING.items():
        yield f"| {name} | {counts[name]:,} | {meaning} |"
    yield ""
    followed = sum(bool(entry.get("followed")) for entry in log)
    by_parts = sum(entry["oracles"] not in ([], ["tflm"]) for entry in log)
    yield f"{elements:,} elements were compared. {by_parts:,} networks were judged operator by"
    yield f"operator. {followed:,} followed the advice to use the other `--io`."
    yield ""


def _seconds(log: Sequence[Entry]) -> Iterator[str]:
    times = [entry["seconds"].get("all", 0.0) for entry in log]
    yield (
        f"One process took {statistics.mean(times):.2f} s for each network on average, "
        f"{max(times):.1f} s for the slowest."
    )
    yield ""


def _firmware(qemu: Sequence[Entry]) -> Iterator[str]:
    if not qemu:
        return
    counts = collections.Counter(entry["verdict"] for entry in qemu)
    elements = sum(entry.get("elements", 0) for entry in qemu)
    wrong = sum(entry.get("mismatches", 0) for entry in qemu)
    yield "## On QEMU"
    yield ""
    yield "A sample of those that are equal and that TensorFlow Lite Micro runs whole, as firmware,"
    yield "with other inputs (`python -m corpus.wild firmware`), several in each:"
    yield f"{counts['PASS']:,} of {len(qemu):,} pass, {wrong:,} of {elements:,} elements differ,"
    yield f"{counts['refused']:,} are refused."
    yield ""


def _errata(log: Sequence[Entry]) -> Iterator[str]:
    found = collections.Counter(name for entry in log for name in entry.get("errata", ()))
    if not found:
        return
    yield "## What stays on the CPU"
    yield ""
    yield "Errata of Vela that kept operators from the NPU, so that the outputs are equal;"
    yield "`found-by-check` is what `project` found by its check, and has no name yet."
    yield ""
    yield "| erratum | networks |"
    yield "| --- | ---: |"
    yield from (f"| {name} | {count} |" for name, count in found.most_common())
    yield ""


def _classes(log: Sequence[Entry], verdict: str) -> Iterator[str]:
    """Yield a table of sentences without their names and numbers."""
    classes: dict[str, list[int]] = {}
    for entry in log:
        if entry["verdict"] == verdict:
            classes.setdefault(class_of(entry["why"]), []).append(entry["seed"])
    yield "| networks | for example | sentence |"
    yield "| ---: | ---: | --- |"
    for sentence, seeds in sorted(classes.items(), key=lambda item: -len(item[1])):
        yield f"| {len(seeds)} | {seeds[0]} | {sentence} |"
    yield ""


def class_of(why: str) -> str:
    """Return the class of a refusal: its first reason, without names and numbers."""
    text = re.sub(r"^\w+Error: ", "", why.partition(" | ")[0])
    text = re.sub(r"^operator \d+ of \d+( of '\w+')?, ", "", text)
    text = re.sub(r", which makes '[^']*'| that makes '[^']*'", "", text)
    text = text.partition(" (it is not on the NPU")[0].partition("; ")[0]
    text = re.sub(r"'[^']*'", "…", text)
    text = re.sub(r"[\[(][\d, ]*[\])]", "…", text)
    text = re.sub(r"(?<![A-Za-z_\d])\d+(?![A-Za-z_\d])", "n", text)
    return _short(text)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return (line if len(line) <= 200 else f"{line[:200]} …").replace("|", "\\|")
