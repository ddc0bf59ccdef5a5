"""Turn docs/bench.json into docs/bench.md and the README's table; nothing is typed by hand."""

import json
from pathlib import Path
from typing import Any

import cpu_only
import npu_model
from limits import FIRMWARE_NPU, NPUS, OFFLOADED_ONLY, SIZES, TIMES, Limit

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "bench.json"
PAGE = ROOT / "docs" / "bench.md"
CYCLES = ROOT / "docs" / "cycles.md"
README = ROOT / "README.md"
BEGIN = "<!-- bench: written by make bench -->"
END = "<!-- bench: end -->"

Results = dict[str, Any]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table; every column but the first is aligned to the right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def exactness(results: Results) -> str:
    """Return mismatches by network, for the firmware and for each NPU in simulate."""
    head = ["network", f"firmware, {FIRMWARE_NPU[7:]}", *(npu[7:] for npu in NPUS)]
    rows = []
    for model in results["models"]:
        cells = [model["firmware"], *(model["simulate"][npu] for npu in NPUS)]
        rows.append([model["name"], *(f"{c['mismatches']} of {c['elements']:,}" for c in cells)])
    return table(head, rows)


def second_opinion(results: Results) -> str:
    """Return what LiteRT says of the same outputs, in one line a network."""
    rows = []
    for model in results["models"]:
        cell = model["litert"]
        said = (
            [f"{cell['mismatches']:,} of {cell['elements']:,}", str(cell["max_abs_diff"])]
            if cell
            else ["refuses the file", ""]
        )
        rows.append([model["name"], *said])
    return table(["network", "other than LiteRT's", "by at most"], rows)


def sizes(results: Results) -> str:
    """Return sizes and instructions by network, with the limits and TFLite Micro's below."""
    rows = []
    for model in results["models"]:
        over = missed_sizes(model)
        cells = [_number(model[key], key in over) for key in SIZES]
        rows.append([model["name"], f"{model['npu_share']}", *cells])
    rows.append(["**at most**", "", *(f"{limit.most:,}" for limit in SIZES.values())])
    rows.append(["TFLite Micro", "", *(limit.tflm or "-" for limit in SIZES.values())])
    head = ["network", "operators on NPU + CPU", *(limit.title for limit in SIZES.values())]
    return table(head, rows)


def times(results: Results) -> str:
    """Return wall-clock times with their limits, and the processor time within them."""
    rows = []
    for key, limit in TIMES.items():
        cpu_s = results["times"].get(key.replace("_s", "_cpu_s"))
        spent = "" if cpu_s is None else f"{cpu_s:.2f} s"
        rows.append(
            [limit.title, _seconds(results["times"][key], limit), spent, f"{limit.most:g} s"]
        )
    return table(["what", "took", "processor time", "at most"], rows)


def missed_sizes(model: dict[str, Any]) -> list[str]:
    """Return the keys of the limits that a network is over, or has no figure for."""
    return [
        key
        for key, limit in SIZES.items()
        if not (key in OFFLOADED_ONLY and model["cpu_operators"])
        and (model[key] is None or model[key] > limit.most)
    ]


def misses(results: Results) -> list[str]:
    """Return one sentence for each thing that is not as it must be."""
    found = []
    for model in results["models"]:
        for where, cell in (("the firmware", model["firmware"]), *model["simulate"].items()):
            if cell["mismatches"] or not cell["elements"]:
                found.append(
                    f"{model['name']} on {where}: {cell['mismatches']} of {cell['elements']} differ"
                )
        found += [
            f"{model['name']}: {SIZES[key].title} is {model[key]}, at most {SIZES[key].most:,}"
            for key in missed_sizes(model)
        ]
    found += [
        f"{limit.title}: {results['times'][key]} s, at most {limit.most:g} s"
        for key, limit in TIMES.items()
        if results["times"][key] is None or results["times"][key] > limit.most
    ]
    return found + cpu_only.misses(results["cpu_only"]) + npu_model.misses(results["npu_model"])


def _number(value: int | None, is_over: bool) -> str:
    text = "unknown" if value is None else f"{value:,}"
    return f"**{text}**" if is_over else text


def _seconds(value: float | None, limit: Limit) -> str:
    if value is None:
        return "**unknown**"
    return f"**{value:.2f} s**" if value > limit.most else f"{value:.2f} s"


def page(results: Results) -> str:
    """Return docs/bench.md."""
    machine, ratio = results["machine"], results["times"]["simulate_over_tflm"]
    host_ms = results["times"]["tflm_s"] * 1000
    missed = misses(results)
    verdict = (
        "Everything is within its limit."
        if not missed
        else "Not as it must be:\n\n" + "\n".join(f"- {sentence}" for sentence in missed)
    )
    return f"""# Measurements

Written by `make bench` on {results["date"]}, of commit {results["commit"]}; edit nothing here.
{machine["cpu"]}, {machine["cores"]} cores (load average before the timing: {machine["load"]}),
Python {machine["python"]}, {machine["gcc"]}, {machine["qemu"]}.

{verdict}

## Exactness

Elements that differ from TensorFlow Lite Micro's reference kernels, over
{results["samples"]} random inputs: the whole firmware on QEMU, then `ethosgen simulate` for each
NPU.

{exactness(results)}

TensorFlow Lite Micro decides. LiteRT, with its reference kernels, is the second opinion; where it
differs, it differs from TensorFlow Lite Micro too (its FULLY_CONNECTED rounds once where TFLite
Micro's rounds twice).

{second_opinion(results)}

## Sizes and instructions

Firmware for {FIRMWARE_NPU} with `--io arena`; bytes, without command streams and weights; direct
driver, compiled for size. The application contains the library. A bold figure is over its limit;
the limit on instructions an inference holds for networks that run wholly on the NPU. Instructions
are counted on QEMU, outside the wait for the NPU; the stack is painted before the first call.

{sizes(results)}

## Times

Medians of three, on the machine above.

{times(results)}

TensorFlow Lite Micro's own interpreter takes {host_ms:.1f} ms for a sample of vww on the same
machine in the same run: the NPU model takes {ratio:.1f} times as long.

## Without an NPU

`ethosgen verify --npu none`: every operator on the Cortex-M55, its inner loops for Helium. TFLM is
TensorFlow Lite Micro with CMSIS-NN's kernels for Helium; the column "reference kernels" is the
instructions of its portable ones. Code is the model library's; TFLM's has the interpreter in it.

{table(*cpu_only.rows(results["cpu_only"]))}

{npu_model_section(results)}"""


def npu_model_section(results: Results) -> str:
    """Return what docs/bench.md says of the NPU model's speed and memory."""
    return f"""## The NPU model

A sample on the model of {FIRMWARE_NPU}, compiled before, and on TensorFlow Lite Micro's
interpreter: in Python from arrays by name to arrays by name, one thread each, in turns in one
process. Times are the best of {npu_model.REPEATS} rounds of {npu_model.ROUND_S * 1000:g} ms or
more, ratios their median: at most {npu_model.MOST_OF_TFLM:g}, for every network. The first sample
decodes weights. MobileNetV2 1.0 at 224x224 has random weights and may take
{npu_model.MOST_MOBILENET_S:g} s.

Memory is the most that the model held at a time for two samples, with the command streams and the
constants that Vela compiled, beside all tensors of the network: at most
{npu_model.MOST_OF_TENSORS:g} times as much.
{npu_model.beyond_tensors(results["npu_model"])}

{table(*npu_model.rows(results["npu_model"]))}

Its cycles, beside Vela's: [cycles.md](cycles.md).
"""


def readme_section(results: Results) -> str:
    """Return the README's table, markers included."""
    head = ["network", "mismatches", "library flash B", "arena B", "stack B", "instructions"]
    rows = [
        [
            model["name"],
            f"{model['firmware']['mismatches']} of {model['firmware']['elements']:,}",
            _number(model["library_flash_bytes"], False),
            _number(model["arena_bytes"], False),
            _number(model["stack_bytes"], False),
            _number(model["cpu_instructions"], False),
        ]
        for model in results["models"]
    ]
    return f"{BEGIN}\n{table(head, rows)}\n{END}"


def with_section(readme: str, results: Results) -> str:
    """Return the README's text with a fresh table; ValueError if the markers are not there."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has lost its markers {BEGIN} and {END}")
    return before + readme_section(results) + after


def write(results: Results) -> None:
    """Write docs/bench.json, docs/bench.md and the README's table."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    CYCLES.write_text(npu_model.cycles_page(results))
    README.write_text(with_section(README.read_text(), results))
