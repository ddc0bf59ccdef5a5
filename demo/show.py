"""Runs the demo: held-out digits through the firmware on a simulated Corstone-300.

    .venv/bin/python demo/show.py [--samples 360]

Runs the commands that a user would type, prints the results, and exits with status 0 only if every
output equals TensorFlow Lite Micro's and the accuracy is the network's own.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from digits import load_split
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

Array = np.ndarray[Any, Any]

ETHOSGEN = Path(sys.executable).parent / "ethosgen"
MODEL = Path("demo/digits_int8.tflite")
DIRECTORY = Path("build/demo")
BOARD = "corstone300"
NPU = "ethos-u55-128"
SCALE, ZERO_POINT = 1 / 255, -128
SHADES = " ░▒▓█"
PICTURES = 4
LEAST_ACCURACY = 0.97

console = Console(highlight=False)


class CommandError(Exception):
    """A command of the demo that failed; its error output is printed."""


def run(*arguments: str) -> str:
    """Run `ethosgen` with these arguments; return its stdout, or raise CommandError."""
    shown = " ".join((".venv/bin/ethosgen", *arguments))
    console.print(f"$ {shown}", style="bold", soft_wrap=True)
    begin = time.monotonic()
    with console.status("running"):
        done = subprocess.run(
            [ETHOSGEN, *arguments], capture_output=True, text=True, check=False, timeout=600
        )
    if done.returncode != 0:
        raise CommandError(f"{done.stdout}{done.stderr}status {done.returncode}: {shown}")
    console.print(f"  {time.monotonic() - begin:.1f} s", style="dim")
    return done.stdout


def picture(image: Array, label: int, answer: int) -> Text:
    """Return 8x8 pixels in 0..1 as text, two characters per pixel, with the answer below."""
    shades = np.rint(image.reshape(8, 8) * (len(SHADES) - 1)).astype(int)
    text = Text("\n".join("".join(SHADES[s] * 2 for s in row) for row in shades) + "\n")
    verdict = f"answer: {answer}" if answer == label else f"answer: {answer}, is {label}"
    return text.append(verdict, style="green" if answer == label else "bold red")


def pictures(images: Array, labels: Array, answers: Array) -> Columns:
    """Return some digits side by side, including a misread one if there is any."""
    right = [int(np.flatnonzero((labels == d) & (answers == d))[0]) for d in set(answers & labels)]
    wrong = np.flatnonzero(answers != labels)[:1].tolist()
    chosen = wrong + right[: PICTURES - len(wrong)]
    return Columns(
        [picture(images[i], int(labels[i]), int(answers[i])) for i in chosen], padding=(0, 3)
    )


def show(samples: int) -> bool:
    """Generate, build, run and compare; return whether every check passes."""
    _, held_out = load_split()
    images, labels = held_out.images[:samples], held_out.labels[:samples]
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    inputs, outputs = DIRECTORY / "held_out.npz", DIRECTORY / "answers.npz"
    np.savez(inputs, image=np.rint(images / SCALE + ZERO_POINT).astype(np.int8))
    project = str(DIRECTORY / "digits")
    run("project", str(MODEL), "--board", BOARD, "--npu", NPU, "-o", project)
    run("build", project)
    report = json.loads(
        run("run", project, "--input", str(inputs), "--output", str(outputs), "--json")
    )
    with np.load(outputs) as answers:
        digits = answers["digit"].reshape(len(labels), -1).argmax(axis=1)
    console.print()
    console.print(pictures(images, labels, digits))
    console.print()
    return summarize(report, labels, digits)


def summarize(report: dict[str, Any], labels: Array, digits: Array) -> bool:
    """Print the figures, and the next command to type."""
    golden = report["oracles"]["tflm"]
    equal = report["passed"] and report["samples"] == len(labels) and golden["mismatches"] == 0
    correct = int(np.count_nonzero(digits == labels))
    accurate = correct >= LEAST_ACCURACY * len(labels)
    npu = report["npu"]
    on_npu, on_cpu = npu["npu_operators"], npu["cpu_operators"]
    rows = [
        ("board", f"{report['board']} on {report['on']}, {npu['name']}"),
        ("network", f"{on_npu} operators on the NPU, {on_cpu} on the CPU"),
        ("accuracy", f"{correct} of {len(labels)} held-out digits ({correct / len(labels):.1%})"),
        (
            "exactness",
            f"{golden['elements'] - golden['mismatches']:,} of {golden['elements']:,} outputs "
            "equal TensorFlow Lite Micro's, bit for bit",
        ),
        ("flash", sizes(report["flash_bytes"])),
        ("RAM", sizes(report["ram_bytes"])),
        ("CPU", f"{report['cpu_instructions']} instructions per inference, without the NPU's work"),
    ]
    for name, value in rows:
        console.print(f"  {name:<10} {value}", soft_wrap=True)
    console.print("  [green]PASS[/green]" if equal and accurate else "  [bold red]FAIL[/bold red]")
    console.print("\nYour own network:")
    console.print(f"  [bold].venv/bin/ethosgen verify MODEL.tflite --board {BOARD}[/bold]")
    return bool(equal and accurate)


def sizes(parts: dict[str, int]) -> str:
    """Return "12,345 B: code 1,234, constants 567, …"."""
    short = {"command_streams": "commands"}
    others = ", ".join(f"{short.get(k, k)} {v:,}" for k, v in parts.items() if k != "total")
    return f"{parts['total']:,} B: {others}"


def main() -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(description="Show held-out digits on a simulated board.")
    parser.add_argument("--samples", type=int, default=360, choices=range(1, 361), metavar="N")
    arguments = parser.parse_args()
    try:
        return 0 if show(arguments.samples) else 1
    except CommandError as failure:
        Console(stderr=True, highlight=False).print(str(failure), markup=False, soft_wrap=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
