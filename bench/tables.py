"""Renders evidence/bench.md and the README's table from evidence/bench.json, and nothing else."""

from typing import Any

from bench import compilers, cpu_only, npu_model, optimizer
from bench.limits import FIRMWARE_NPU, NPUS, OFFLOADED_ONLY, SIZES, TIMES, Limit
from tests import ROOT
from tests.support.pages import EVIDENCE, between, store, table

RESULTS, PAGE, CYCLES = (EVIDENCE / name for name in ("bench.json", "bench.md", "cycles.md"))
README = ROOT / "README.md"
BEGIN = "<!-- bench: written by make bench -->"
END = "<!-- bench: end -->"

Results = dict[str, Any]


def exactness(results: Results) -> str:
    """Return mismatches by network, for the firmware and for each NPU in simulate."""
    head = ["network", f"firmware, {FIRMWARE_NPU[7:]}", *(npu[7:] for npu in NPUS)]
    rows = []
    for model in results["models"]:
        cells = [model["firmware"], *(model["simulate"][npu] for npu in NPUS)]
        rows.append([model["name"], *(f"{c['mismatches']} of {c['elements']:,}" for c in cells)])
    return table(head, rows)


def second_opinion(results: Results) -> str:
    """Return the comparison of the same outputs with LiteRT's, one row per network."""
    rows = []
    for model in results["models"]:
        cell = model["litert"]
        said = (
            [f"{cell['mismatches']:,} of {cell['elements']:,}", str(cell["max_abs_diff"])]
            if cell
            else ["LiteRT refuses the file", ""]
        )
        rows.append([model["name"], *said])
    return table(["network", "differ from LiteRT's", "largest difference"], rows)


def sizes(results: Results) -> str:
    """Return sizes and instructions by network, followed by the limits and TFLite Micro's."""
    rows = []
    for model in results["models"]:
        over = missed_sizes(model)
        cells = [_number(model[key], key in over) for key in SIZES]
        rows.append([model["name"], f"{model['npu_share']}", *cells])
    rows.append(["**limit**", "", *(f"{limit.most:,}" for limit in SIZES.values())])
    rows.append(["TFLite Micro", "", *(limit.tflm or "-" for limit in SIZES.values())])
    head = ["network", "operators on NPU + CPU", *(limit.title for limit in SIZES.values())]
    return table(head, rows)


def times(results: Results) -> str:
    """Return wall-clock times, their limits, and the processor time."""
    rows = []
    for key, limit in TIMES.items():
        cpu_s = results["times"].get(key.replace("_s", "_cpu_s"))
        spent = "" if cpu_s is None else f"{cpu_s:.2f} s"
        rows.append(
            [limit.title, _seconds(results["times"][key], limit), spent, f"{limit.most:g} s"]
        )
    return table(["command", "time", "processor time", "limit"], rows)


def missed_sizes(model: dict[str, Any]) -> list[str]:
    """Return the keys of the limits that a network exceeds, or has no figure for."""
    return [
        key
        for key, limit in SIZES.items()
        if not (key in OFFLOADED_ONLY and model["cpu_operators"])
        and (model[key] is None or model[key] > limit.most)
    ]


def misses(results: Results) -> list[str]:
    """Return one sentence for each limit that is missed and each output that differs."""
    sentences = []
    for model in results["models"]:
        for where, cell in (("the firmware", model["firmware"]), *model["simulate"].items()):
            if cell["mismatches"] or not cell["elements"]:
                sentences.append(
                    f"{model['name']} on {where}: {cell['mismatches']} of {cell['elements']} differ"
                )
        sentences += [
            f"{model['name']}: {SIZES[key].title} is {model[key]}, at most {SIZES[key].most:,}"
            for key in missed_sizes(model)
        ]
    sentences += [
        f"{limit.title}: {results['times'][key]} s, at most {limit.most:g} s"
        for key, limit in TIMES.items()
        if results["times"][key] is None or results["times"][key] > limit.most
    ]
    return sentences + cpu_only.misses(results["cpu_only"]) + npu_model.misses(results)


def _number(value: int | None, is_over: bool) -> str:
    text = "unknown" if value is None else f"{value:,}"
    return f"**{text}**" if is_over else text


def _seconds(value: float | None, limit: Limit) -> str:
    if value is None:
        return "**unknown**"
    return f"**{value:.2f} s**" if value > limit.most else f"{value:.2f} s"


def when_and_where(conditions: Results) -> str:
    """Return a sentence's end with the conditions of figures."""
    machine = conditions["machine"]
    return (
        f"{conditions['date']} from commit {conditions['commit']}:\n{machine['cpu']}, "
        f"{machine['cores']} cores (load average before the timing: {machine['load']}),\nPython "
        f"{machine['python']}, {machine['gcc']}, {machine['qemu']}."
    )


def measured_apart(results: Results, part: str) -> str:
    """Return a paragraph with the conditions of a part that `--only` measured, else ""."""
    apart = results.get("apart", {}).get(part)
    return f"Measured separately, on {when_and_where(apart)}\n\n" if apart else ""


def page(results: Results) -> str:
    """Return evidence/bench.md."""
    ratio = results["times"]["simulate_over_tflm"]
    host_ms = results["times"]["tflm_s"] * 1000
    missed = misses(results)
    verdict = (
        "Everything is within its limit."
        if not missed
        else "Requirements not met:\n\n" + "\n".join(f"- {sentence}" for sentence in missed)
    )
    return f"""# Measurements

Generated by `make bench`; do not edit.
Measured on {when_and_where(results)}

{verdict}

## Exactness

Elements that differ from those of TensorFlow Lite Micro's reference kernels, over
{results["samples"]} random inputs: first the whole firmware on QEMU, then `ethosgen simulate` for
each NPU.

{exactness(results)}

TensorFlow Lite Micro decides. LiteRT's reference kernels are the second opinion. Where they differ
from ethosgen, they also differ from TensorFlow Lite Micro: LiteRT's FULLY_CONNECTED rounds once,
TensorFlow Lite Micro's twice.

{second_opinion(results)}

## Sizes and instructions

Firmware for {FIRMWARE_NPU} with `--io arena` and the direct driver, compiled for size. Sizes are in
bytes, without command streams and weights. The application includes the library. A bold figure
exceeds its limit; the limit on instructions per inference applies to networks that run entirely on
the NPU. Instructions are counted on QEMU, outside the wait for the NPU; the stack is filled with a
pattern before the first call, to find how much of it is used.

{measured_apart(results, "models")}{sizes(results)}

## Times

{measured_apart(results, "times")}Medians of three, in wall-clock time.

{times(results)}

On the same machine, in the same run, TensorFlow Lite Micro's own interpreter takes {host_ms:.1f} ms
for a sample of vww; the NPU model takes {ratio:.1f} times as long.

## Without an NPU

`ethosgen verify --npu none`: every operator runs on the Cortex-M55, with inner loops for Helium.
Cycles are those of LLVM's model of the Cortex-M55, as in [kernels.md](kernels.md). TFLM is
TensorFlow Lite Micro with CMSIS-NN's Helium kernels, compiled by GCC; its cycles are those of
CMSIS-NN compiled by clang, which is faster. The column "reference kernels" has the instructions of
its portable kernels. Code is that of the model library; TFLM's includes the interpreter.

{measured_apart(results, "cpu_only")}{table(*cpu_only.rows(results["cpu_only"]))}

The same networks compiled by GCC and by Clang 19, with the toolchain files of their projects. Flash
is that of the whole firmware.

{measured_apart(results, "compilers")}{table(*compilers.rows(results.get("compilers", [])))}

## The optimizer

Each network without and with [the optimizer](../docs/optimizer.md): on the Cortex-M55 alone, and
with {FIRMWARE_NPU}, in cycles of the NPU model and bytes of that firmware. Outputs are the same.

{measured_apart(results, "optimizer")}{table(*optimizer.rows(results.get("optimizer", [])))}

With `--stream always`, [bands of rows](../docs/streaming.md) on the Cortex-M55 alone:

{table(*optimizer.band_rows(results.get("optimizer", [])))}

{optimizer.PUBLISHED}

{npu_model_section(results)}"""


def npu_model_section(results: Results) -> str:
    """Return the section of evidence/bench.md on the NPU model's speed and memory."""
    first = npu_model.GENERATIONS["npu_model"]
    return f"""## The NPU model

One sample on the NPU model of {FIRMWARE_NPU}, after compilation, and on TensorFlow Lite Micro's
interpreter. Both are called from Python with arrays by name, in one process, alternately, with one
thread each. Times are the processor's, the best of {npu_model.REPEATS} rounds of at least
{npu_model.ROUND_S * 1000:g} ms, ratios the median; the limit of the ratio is
{npu_model.MOST_OF_TFLM:g} for every network. The first sample includes the decoding of weights.
MobileNetV2 1.0 at 224x224 has random weights; its limit is {first.most_mobilenet_s:g} s.

Memory is the peak use of the NPU model for two samples, including Vela's command streams and
constants. Its limit is {npu_model.MOST_OF_TENSORS:g} times the size of all tensors of the network.
{npu_model.beyond_tensors(results["npu_model"])}

{measured_apart(results, "npu_model")}{table(*npu_model.rows(results["npu_model"]))}

{_on_u85(results)}[cycles.md](cycles.md) compares its cycle estimates with Vela's.
"""


def _on_u85(results: Results) -> str:
    """Return the table of U85's speed and memory, "" while only its cycles are measured."""
    head, rows = npu_model.rows(results["npu_model_u85"])
    if not rows:
        return ""
    u85 = npu_model.GENERATIONS["npu_model_u85"]
    limit = f"{u85.most_mobilenet_s:g} s"
    return f"""The same on {u85.npu}, where the limit of MobileNetV2 is {limit}:

{measured_apart(results, "npu_model_u85")}{table(head, rows)}

"""


def readme_section(results: Results) -> str:
    """Return the README's table."""
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
    return table(head, rows)


def with_section(readme: str, results: Results) -> str:
    """Return the README's text with the new table; ValueError if the markers are missing."""
    return between(readme, BEGIN, END, f"\n{readme_section(results)}\n")


def write(results: Results) -> None:
    """Write evidence/bench.json, evidence/bench.md and the README's table."""
    RESULTS.parent.mkdir(exist_ok=True)
    store(RESULTS, results)
    PAGE.write_text(page(results))
    CYCLES.write_text(npu_model.cycles_page(results))
    README.write_text(with_section(README.read_text(), results))
