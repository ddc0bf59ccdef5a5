"""`ethosgen quantize`: quantize a float network."""

import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import ValueChoice, path_option
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON, NPU
from ethosgen.commands.preparing import with_preparation
from ethosgen.commands.progress import Progress
from ethosgen.samples.pictures import Preparation
from ethosgen.values.grammar import counted
from ethosgen.values.quantization import (
    FLOAT,
    INTEGER,
    Mixture,
    QuantizationReport,
    QuantizationRequest,
    change_text,
)

_LONGEST_NAME = 40


def _share(_context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Return the share that a percentage states."""
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise click.BadParameter(f"{text} must be a percentage from 0% to below 100%, e.g. 0.5%")
    return share


@click.command(cls=GroupedCommand, short_help="Quantize a float network to int8 or int16")
@click.argument("network", metavar="FLOAT", type=click.Path(path_type=Path))
@path_option(
    "--data",
    required=True,
    metavar="DATA",
    help="Calibration data: typical inputs in an .npz file, one array for each input, by name, or "
    "as x; or a folder of .npy files, or of labelled files as `accuracy` takes it.",
)
@path_option(
    "-o",
    "--output",
    required=True,
    metavar="NETWORK",
    help="The quantized network to write, in FLOAT's format; .tflite for Keras.",
)
@click.option(
    "--activations",
    type=ValueChoice(["int8", "int16"]),
    default="int8",
    show_default=True,
    help="Type of the activations; weights are int8, with a scale for each channel.",
)
@click.option(
    "--keep",
    metavar="LAYER",
    multiple=True,
    help="Keep a layer in float; its name is in the table. Repeatable.",
)
@path_option(
    "--labels",
    metavar="FILE",
    help="Labels of the samples in --test-data (or --data), to compare the accuracy, as `accuracy` "
    "takes them: .npy, .txt or .csv [default: y in the .npz file, or the folder's subfolders].",
)
@path_option(
    "--test-data",
    metavar="DATA",
    help="Labelled samples for the accuracy, as `accuracy` takes them [default: --data, if it has "
    "labels].",
)
@with_preparation
@click.option(
    "--io",
    type=ValueChoice([FLOAT, INTEGER]),
    help="Type of inputs and outputs; int8 (int16 with --activations int16) saves a conversion in "
    "each inference, and the application passes quantized values [default: float for .onnx and "
    ".pt2, else int8].",
)
@click.option(
    "--max-loss",
    callback=_share,
    metavar="PERCENT",
    help="Largest loss of accuracy to accept, e.g. 0.5%; as few layers as necessary become int16, "
    "by measured sensitivity. Needs labels.",
)
@click.option(
    "--max-ms",
    type=click.FloatRange(0, min_open=True),
    metavar="MS",
    help="With --max-loss and --board: longest time of an inference in milliseconds, by the "
    "estimate of `compare`.",
)
@click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="With --max-ms: the board whose time is estimated, e.g. corstone300.",
)
@NPU
@click.option("--force", is_flag=True, help="Replace NETWORK if it exists.")
@JSON
def quantize(
    network: Path,
    data: Path,
    output: Path,
    activations: str,
    keep: tuple[str, ...],
    labels: Path | None,
    test_data: Path | None,
    preparation: Preparation,
    io: str | None,
    max_loss: float | None,
    max_ms: float | None,
    board: str | None,
    npu: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Quantize a float network (.onnx, .tflite, .pt2, .keras) to int8 with calibration data.

    Each format has its own quantizer: ONNX Runtime's, LiteRT's, PyTorch's. TensorFlow converts
    .keras files and folders of SavedModels to .tflite. The table shows the
    error of each layer against the float network. If the error is too large, the report names
    layers to keep in float.

    \b
        ethosgen quantize FLOAT.onnx --data samples.npz -o MODEL.onnx
    """
    from ethosgen.studies.quantization import quantize

    asked = QuantizationRequest(
        network,
        data,
        output,
        activations,
        keep,
        test_data,
        labels,
        force,
        io,
        max_loss,
        max_ms,
        board,
        npu,
    )
    with Progress() as progress:
        report = quantize(asked, progress.watch(), preparation)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        for line in report_lines(report):
            click.echo(line)
    where = shlex.join(["--board", board or "corstone300", *(["--npu", npu] if npu else [])])
    suggest_next(f"ethosgen verify {shlex.quote(str(output))} {where}", quiet=as_json)


def report_lines(report: QuantizationReport) -> Iterator[str]:
    """Yield the report for people."""
    measured = counted(report.measured, "sample")
    yield (
        f"{report.output}: weights int8 by channel, activations {report.activations}, calibrated "
        f"with {counted(report.samples, 'sample')}"
    )
    yield f"  layers    error of each result against float on {measured}, earlier layers' included"
    yield from (f"            {line}" for line in _table(report.layers))
    yield f"  outputs   {_noise_text(report.sqnr_db)}"
    left = report.left_in_float
    if left:
        yield f"  float     {counted(len(left), 'layer')} of {len(report.layers)} not quantized"
    for layer in report.kept_in_vain:
        yield (
            f"  note      '{layer.name}' is {layer.dtype} all the same: it has no weights, and its "
            "neighbours are quantized; keep those too"
        )
    if report.accuracy:
        of = report.accuracy
        yield (
            f"  accuracy  {of.before:.1%} before, {of.after:.1%} after "
            f"({of.right_before} and {of.right_after} of {counted(of.samples, 'sample')})"
        )
    if report.mixture:
        yield f"  mixture   {_mixture_text(report.mixture)}"
    if report.integer_ends:
        yield f"  ends      {report.activations}: {', '.join(report.integer_ends)}"
    yield (
        f"  weights   {report.weights_before:,} B before, {report.weights_after:,} B after "
        f"(the file: {report.bytes_before:,} B before, {report.bytes_after:,} B after)"
    )
    for number, advice in enumerate(report.advice):
        yield (
            f"  {'advice' if not number else '':<9} {shlex.join(advice.options)}: the outputs' "
            f"ratio is then {_ratio(advice.sqnr_db)} instead of {_ratio(report.sqnr_db)}"
        )


def _mixture_text(mixed: Mixture) -> str:
    """Describe the layers that became int16, and the benefit."""
    budget, time = f"{mixed.max_loss:.2%} may be lost", ""
    if mixed.ms is not None and mixed.ms_int8 is not None:
        before = f" instead of {mixed.ms_int8:.3g} ms" if mixed.wide else ""
        time = f"; ≈ {mixed.ms:.3g} ms{before}, {mixed.max_ms:g} ms allowed"
        if mixed.without:
            time += f", without {', '.join(mixed.without)}, whose time is unknown"
    if not mixed.wide:
        return f"int8 suffices: {change_text(mixed.loss_int8)}, {budget}{time}"
    return (
        f"int16 in {counted(len(mixed.wide), 'layer')}, {', '.join(mixed.wide)}: "
        f"{change_text(mixed.loss)} instead of {mixed.loss_int8:.2%}, {budget}{time} "
        f"({counted(mixed.trials, 'network')} measured)"
    )


def _table(layers: Any) -> Iterator[str]:
    """Yield a row for each layer, and a heading."""
    rows = [("layer", "operator", "type", "error", "ratio")]
    for layer in layers:
        energy = layer.energy
        error = "0" if not energy.noise else f"{energy.error:.2%}"
        rows.append(
            (_short(layer.name), layer.operator, layer.dtype, error, _ratio(energy.sqnr_db))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for name, operator, dtype, error, ratio in rows:
        yield (
            f"{name:<{widths[0]}}  {operator:<{widths[1]}}  {dtype:<{widths[2]}}  "
            f"{error:>{widths[3]}}  {ratio:>{widths[4]}}"
        )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _ratio(decibels: float) -> str:
    return f"{decibels:.1f} dB".replace("-0.0", "0.0") if math.isfinite(decibels) else "exact"


def _noise_text(decibels: float) -> str:
    if not math.isfinite(decibels):
        return "equal the float network's"
    share = 10 ** (-decibels / 20)
    return f"signal-to-noise ratio {_ratio(decibels)}: the error is {share:.2%} of the values"
