"""Measures the optimizer and bands of rows: what they save, and what less memory costs.

    .venv/bin/python -m bench.streaming                              # 40 minutes
    .venv/bin/python -m bench.streaming --only heads                 # one table
    .venv/bin/python -m bench.streaming --only networks --also mcunet=DIR
    .venv/bin/python -m bench.streaming --render

Writes evidence/streaming.json, evidence/streaming.md (networks that others published) and the
tables in docs/streaming.md. Exit status 1 if an output differs from the oracle's.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import mobilenet, optimizer
from bench.command import BenchError, Figures
from bench.limits import FIRMWARE_NPU
from bench.measure import MODELS
from bench.public import MANY, Published, by_folder, networks
from ethosgen.frontend import read_source
from ethosgen.optimizer.intervals.layers import LAYERS
from ethosgen.values.errors import EthosgenError
from ethosgen.values.source import Source
from tests import ROOT
from tests.support.pages import EVIDENCE, between, console, digest_of, listed, load, store, table

RESULTS, PAGE = EVIDENCE / "streaming.json", EVIDENCE / "streaming.md"
DOCS = ROOT / "docs" / "streaming.md"
VWW = MODELS / "vww_mobilenet_int8.tflite"
LIMITS = (None, 49_152, 40_000, 34_000, 30_000)
"""Limits on the SRAM of NPU and CPU, in bytes."""
SLICES = (
    "",
    "--step",
    "--stream always",
    "--stream always --step",
    "--feed --arena-limit 20KiB",
    "--feed --stream always",
)
LARGE_LIMITS = {
    "none": "",
    "320 KiB": "--arena-limit 320KiB",
    "256 KiB": "--arena-limit 256KiB",
    "the least": "--stream always",
}
"""Limits of MobileNetV2-224's arena."""


def heads() -> list[Figures]:
    """Measure a network with less and less SRAM, with the NPU and with the CPU alone."""
    rows = []
    for limit in LIMITS:
        options = ("--sram-limit", limit) if limit else ()
        npu = optimizer.verified(VWW, "--npu", FIRMWARE_NPU, "--offload", "auto", *options)
        alone = optimizer.verified(VWW, "--npu", "none", *options)
        rows.append(
            {
                "limit": limit,
                "on_cpu": sum(operator["on"] == "cpu" for operator in npu["operators"]),
                "operators": len(npu["operators"]),
                "arena_bytes": npu["ram_bytes"]["arena"],
                "milliseconds": npu["headline"]["time"]["milliseconds"],
                "alone_milliseconds": alone["headline"]["time"]["milliseconds"],
            }
        )
    return rows


def slices() -> list[Figures]:
    """Measure a network in slices, and with an input by rows, on the CPU."""
    return [{"options": each, **_on_cpu(VWW, *each.split())} for each in SLICES]


def large() -> list[Figures]:
    """Measure MobileNetV2 at 224 x 224 with less and less memory."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-streaming-") as folder:
        path = Path(folder) / f"{mobilenet.NAME}.tflite"
        path.write_bytes(mobilenet.build())
        return [
            {"limit": limit, **_on_cpu(path, *options.split())}
            for limit, options in LARGE_LIMITS.items()
        ]


def _on_cpu(model: Path, *options: str) -> Figures:
    answer = optimizer.verified(model, "--npu", "none", *options)
    return {
        "arena_bytes": answer["ram_bytes"]["arena"],
        "ram_bytes": answer["ram_bytes"]["total"],
        "instructions": answer["cpu_instructions"],
        "slice_instructions": answer["slice_instructions"],
    }


def head_table(figures: Iterable[Figures]) -> str:
    """Return the table of heads on the CPU."""
    head = ["limit, bytes", "operators on the CPU", "SRAM, bytes", "ms", "ms with the CPU alone"]
    return table(
        head,
        [
            [
                f"{row['limit']:,}" if row["limit"] else "none",
                f"{row['on_cpu']} of {row['operators']}",
                f"{row['arena_bytes']:,}",
                f"{row['milliseconds']:g}",
                f"{row['alone_milliseconds']:g}",
            ]
            for row in figures
        ],
        0,
    )


def slice_table(figures: Iterable[Figures]) -> str:
    """Return the table of slices."""
    head = ["options", "arena, bytes", "RAM of the whole firmware", "instructions"]
    return table(
        [*head, "longest slice"],
        [
            [
                f"`{row['options']}`" if row["options"] else "none",
                f"{row['arena_bytes']:,}",
                f"{row['ram_bytes']:,}",
                f"{row['instructions']:,}",
                f"{row['slice_instructions']:,}" if row["slice_instructions"] else "",
            ]
            for row in figures
        ],
    )


def large_table(figures: Sequence[Figures]) -> str:
    """Return the table of MobileNetV2's limits."""
    whole = figures[0]["instructions"]
    return table(
        ["limit", "arena, bytes", "instructions", "ratio"],
        [
            [
                row["limit"],
                f"{row['arena_bytes']:,}",
                f"{row['instructions']:,}",
                f"{row['instructions'] / whole:.3f}",
            ]
            for row in figures
        ],
    )


@dataclass(frozen=True)
class DocsTable:
    """A table of docs/streaming.md between its marks: how it is measured and written."""

    measure: Callable[[], list[Figures]]
    write: Callable[[list[Figures]], str]


DOCS_TABLES: Mapping[str, DocsTable] = {
    "heads": DocsTable(heads, head_table),
    "slices": DocsTable(slices, slice_table),
    "large": DocsTable(large, large_table),
}

HEAD = """# What the optimizer and bands save

Generated by `python -m bench.streaming`; do not edit. The networks of [public.md](public.md) in
int8 or int16, and others that are public, without and with [the optimizer](../docs/optimizer.md):
on the Cortex-M55 alone, and with {npu} in cycles of the NPU model and bytes of that firmware. "As
before" has neither the optimizer nor bands nor [parts](../docs/memory.md); "least" is the arena
with `--stream always`, and the ratio of its instructions. All outputs are equal to TensorFlow Lite
Micro's. The networks of MLPerf Tiny and MobileNetV2 are in [bench.md](bench.md).
"""
COLUMNS = {title: key for title, key in optimizer.COLUMNS.items() if key != "cycles"}


def measure_networks(published: Iterable[Published], known: list[Figures]) -> Iterator[Figures]:
    """Yield the figures of networks, those that are known without measuring them again."""
    by_digest = {figures["digest"]: figures for figures in known}
    for network in published:
        digest = digest_of(network.data)
        if digest not in by_digest:
            console.print(f"  {network.source}: {network.name}")
            by_digest[digest] = _both(network)
        yield by_digest[digest] | {
            "digest": digest,
            "source": network.source,
            "name": network.name,
        }


def _both(network: Published) -> Figures:
    """Return the figures of a network without the optimizer, with it, and with bands."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-streaming-") as folder:
        model = Path(folder, f"{network.name}.tflite")
        model.write_bytes(network.data)
        try:
            return {
                "before": optimizer.figures_of(model, "--no-optimize", "--stream", "off"),
                "after": optimizer.figures_of(model),
                "bands": optimizer.on_cpu(model, "--stream", "always"),
            }
        except BenchError as error:
            return {"refusal": error.words.strip().removeprefix("ethosgen: ")}


def whole_integers(published: Iterable[Published]) -> list[Published]:
    """Return the networks outside of folders with many small ones, if their layers are integer."""
    folders = by_folder(published, lambda network: (network.source, network.folder))
    few = [network for _, those in folders if len(those) <= MANY for network in those]
    return [network for network in few if _is_integer(network)]


def _is_integer(published: Published) -> bool:
    try:
        graph = read_source(Source("tflite", f"{published.name}.tflite", published.data)).graph
    except EthosgenError:
        return False
    layers = (op for op in graph.operators if op.code in LAYERS)
    return any(graph.tensors[op.outputs[0]].dtype in ("int8", "int16") for op in layers)


def networks_page(figures: Iterable[Figures]) -> str:
    """Return evidence/streaming.md."""
    rows, refused = [], []
    for network in figures:
        if "refusal" in network:
            refused.append(f"- {network['source']}, {network['name']}: {network['refusal']}")
            continue
        before, after, bands = network["before"], network["after"], network["bands"]
        rows.append(
            [
                network["source"],
                network["name"],
                *(optimizer.cell(before[key], after[key]) for key in COLUMNS.values()),
                f"{bands['arena_bytes']:,}",
                f"{bands['instructions'] / after['instructions']:.3f}",
            ]
        )
    head = ["from", "network", *COLUMNS, "least arena B", "its ratio"]
    lines = [HEAD.format(npu=FIRMWARE_NPU), table(head, rows, 2), *listed("Refused:", refused)]
    return "\n".join([*lines, "", optimizer.PUBLISHED]) + "\n"


def write_pages(results: Figures) -> None:
    """Write the page of networks and the tables of docs/streaming.md."""
    if "networks" in results:
        PAGE.write_text(networks_page(results["networks"]))
    DOCS.write_text(docs_page(DOCS.read_text(), results))


def docs_page(page: str, results: Figures) -> str:
    """Return docs/streaming.md with the tables of these figures."""
    for name, docs_table in DOCS_TABLES.items():
        if name not in results:
            continue
        begin, end = f"<!-- {name}: start -->\n", f"<!-- {name}: end -->"
        page = between(page, begin, end, f"\n{docs_table.write(results[name])}\n\n")
    return page


def main() -> None:
    """Measure and write; status 1 if an output differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=[*DOCS_TABLES, "networks"], help="measure this table")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--render", action="store_true", help="write the tables from the figures")
    arguments = parser.parse_args()
    results = load(RESULTS, {})
    try:
        for name, docs_table in DOCS_TABLES.items():
            if not arguments.render and arguments.only in (None, name):
                console.print(f"{name} ...")
                results[name] = docs_table.measure()
                store(RESULTS, results)
        if not arguments.render and arguments.only in (None, "networks"):
            known = results.get("networks", []) if arguments.only else []
            measured: list[Figures] = []
            for figures in measure_networks(whole_integers(networks(arguments.also)), known):
                measured.append(figures)
                store(RESULTS, results | {"networks": measured})
            results["networks"] = measured
    except RuntimeError as error:
        sys.exit(str(error))
    write_pages(results)
    console.print(f"written: {RESULTS}, {PAGE}, {DOCS}")


if __name__ == "__main__":
    main()
