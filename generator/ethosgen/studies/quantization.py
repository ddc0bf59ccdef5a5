"""Quantizes a float network: reads, calibrates, writes it, and measures the loss."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.host.file_errors import require_writable
from ethosgen.quantization import find_quantizer, is_saved_model
from ethosgen.quantization.advice import Advice, advice, hurts, trials
from ethosgen.quantization.data import CalibrationData, Samples, read_data
from ethosgen.quantization.layers import QuantizedLayer, layers_of, worst_db
from ethosgen.quantization.mixing import MixtureBudget, mixture
from ethosgen.quantization.scripts import Answer, Arrays, Quantizer, Step
from ethosgen.samples.pictures import AS_IT_IS, Preparation
from ethosgen.studies.points import estimate
from ethosgen.values.errors import InputError, UnsupportedError, cannot_write
from ethosgen.values.grammar import counted, nearest
from ethosgen.values.network import Tensor
from ethosgen.values.quantization import (
    INTEGER,
    Accuracy,
    Mixture,
    QuantizationReport,
    QuantizationRequest,
)
from ethosgen.values.watch import Watch

MOST_MEASURED = 16
"""Number of samples on which layers are compared; storing all tensors of more is slow."""


def quantize(
    asked: QuantizationRequest, watch: Watch, preparation: Preparation = AS_IT_IS
) -> QuantizationReport:
    """Write the quantized network and return the loss.

    `preparation` is the conversion of a folder's pictures and sounds.

    Raises InputError for unusable files and data, ToolError if the quantizer is not installed,
    UnsupportedError if it fails. Nothing is written then.
    """
    quantizer = find_quantizer(asked.network)
    output = _checked_output(asked, quantizer)
    if not asked.network.is_file() and not is_saved_model(asked.network):
        raise InputError(f"cannot read '{asked.network}': no such file")
    quantizer.require()
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as folder:
        job = _QuantizationRun(quantizer, asked, Path(folder), watch, preparation)
        report = job.run()
        _deliver(job.result, output)
    return report


@dataclass
class _QuantizationRun:
    """One quantization, with the folder that its scripts share."""

    quantizer: Quantizer
    asked: QuantizationRequest
    folder: Path
    watch: Watch
    preparation: Preparation
    outputs: int = 1
    weights: tuple[int, int] = (0, 0)
    wide: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """Operators that have no estimated time, with int8 everywhere."""

    @property
    def result(self) -> Path:
        return self.folder / f"quantized{self.quantizer.output_suffix}"

    def run(self) -> QuantizationReport:
        asked, watch = self.asked, self.watch
        with watch.phase("read", f"reading '{asked.network}'"):
            self.quantizer.checks(asked.network, self.folder)
            inputs = self.inputs()
            own = asked.labels if asked.test_data is None else None
            data = read_data(asked.data, inputs, own, self.preparation)
            samples = data.samples
            inputs = [_as_given(tensor, samples[0]) for tensor in inputs]
            labelled = self.labelled(inputs, data)
        with watch.phase("quantize", f"quantizing with {counted(len(samples), 'sample')}"):
            self.quantize(inputs, samples)
        some = _stacked(_spread(samples, MOST_MEASURED))
        layers, ratio, accuracy = self.measure(some, labelled)
        mixed = self.mix(layers, accuracy, some, labelled)
        if mixed is not None and mixed.wide:
            self.wide = mixed.wide
            self.ask(("quantize", {}, some))
            layers, ratio, accuracy = self.measure(some, labelled)
        ends = self.integer_ends(some)
        return QuantizationReport(
            network=asked.network,
            output=asked.output,
            activations=asked.activations,
            keep=asked.keep,
            samples=len(samples),
            measured=min(len(samples), MOST_MEASURED),
            inputs={tensor.name: tensor.shape for tensor in inputs},
            layers=layers,
            sqnr_db=ratio,
            accuracy=accuracy,
            advice=self.advice(layers, ratio, accuracy, some),
            bytes_before=_size(asked.network),
            bytes_after=self.result.stat().st_size,
            integer_ends=ends,
            mixture=mixed,
            weights_before=self.weights[0],
            weights_after=self.weights[1],
        )

    def ask(self, *steps: Step) -> list[Answer]:
        """Call functions of the script and return their answers."""
        common = {
            "source": str(self.asked.network),
            "output": self.result.name,
            "activations": self.asked.activations,
            "keep": list(self.asked.keep),
            "wide": list(self.wide),
            "io": self.asked.io or self.quantizer.ends[0],
        }
        asked = [(name, common | dict(request), arrays) for name, request, arrays in steps]
        return self.quantizer.run(asked, self.folder)

    def inputs(self) -> list[Tensor]:
        """Return the network's inputs, and store the number of its outputs."""
        ((answer, _),) = self.ask(("inspect", {}, {}))
        self.outputs = len(answer["outputs"])
        if not answer["inputs"]:
            raise InputError(f"'{self.asked.network}' has no inputs, so nothing can be calibrated")
        return [
            Tensor(index, name, tuple(shape), dtype)
            for index, (name, shape, dtype) in enumerate(answer["inputs"])
        ]

    def quantize(self, inputs: Sequence[Tensor], samples: Samples) -> None:
        shapes = {tensor.name: list(tensor.shape) for tensor in inputs}
        (prepared, _), _ = self.ask(
            ("prepare", {"shapes": shapes}, {}), ("quantize", {}, _stacked(samples))
        )
        _check_names(self.asked.keep, prepared["layers"])

    def measure(
        self, some: Arrays, labelled: tuple[Samples, Any] | None
    ) -> tuple[list[QuantizedLayer], float, Accuracy | None]:
        """Return the layers, the outputs' lowest ratio, and the accuracy if there are labels."""
        steps: list[Step] = [("measure", {}, some)]
        text = "measuring each layer's error"
        if labelled is not None:
            samples, labels = labelled
            tested = _stacked(samples)
            steps += [("answers", {"output": name}, tested) for name in ("", self.result.name)]
            text += f", and the accuracy on {counted(len(samples), 'sample')}"
        with self.watch.phase("measure", text):
            (answer, _), *answers = self.ask(*steps)
        self.weights = tuple(answer["weights"])
        layers, ratio = layers_of(answer["layers"]), worst_db(answer["outputs"])
        if labelled is None:
            return layers, ratio, None
        right = [int(np.sum(arrays["largest"] == labels)) for _, arrays in answers]
        return layers, ratio, Accuracy(len(labels), *right)

    def mix(
        self,
        layers: Sequence[QuantizedLayer],
        accuracy: Accuracy | None,
        some: Arrays,
        labelled: tuple[Samples, Any] | None,
    ) -> Mixture | None:
        """Return the results that become int16; None if there is no budget."""
        budget = self.asked.max_loss
        if budget is None:
            return None
        if accuracy is None or labelled is None:
            raise InputError(
                "--max-loss is a share of labelled samples; add the labels to the data as 'y', or "
                "name them with --labels"
            )
        tested, names = _stacked(labelled[0]), [x.name for x in layers if x.is_quantized]
        before = accuracy.before

        def ratios(choices: list[list[str]]) -> list[float]:
            common = {"activations": self.asked.activations, "keep": list(self.asked.keep)}
            tried = [common | {"wide": wide} for wide in choices]
            ((answer, _),) = self.ask(("explore", {"trials": tried}, some))
            return [worst_db(energies) for energies in answer["trials"]]

        def loss_of(wide: Sequence[str]) -> float:
            trial = {"wide": list(wide), "output": f"trial{self.quantizer.output_suffix}"}
            _, (_, arrays) = self.ask(("quantize", trial, some), ("answers", trial, tested))
            return before - float(np.mean(arrays["largest"] == labelled[1]))

        with self.watch.phase("mix", f"measuring {counted(len(names), 'layer')} in int8 and int16"):
            mixed = mixture(
                names,
                MixtureBudget(budget, self.asked.max_ms),
                before - accuracy.after,
                ratios,
                loss_of,
                lambda wide: self.milliseconds(wide, some),
            )
        return replace(mixed, without=self.without)

    def milliseconds(self, wide: Sequence[str], some: Arrays) -> float:
        """Return the estimated time of an inference with the results of some layers in int16."""
        board = self.asked.board or ""
        path = self.folder / f"timed{self.quantizer.output_suffix}"
        trial = {"wide": list(wide), "output": path.name}
        ends: list[Step] = [("integer_ends", trial, some)] if self.changes_ends else []
        self.ask(("quantize", trial, some), *ends)
        cost = estimate(path, board, self.asked.npu)
        if cost.seconds is None:
            raise InputError(
                f"board '{board}' does not state its clocks, so --max-ms has no effect there; add "
                "clock_hz to its file, or name another board"
            )
        more = [name for name in cost.without if name not in self.without] if wide else []
        if more:  # int16 would seem to cost nothing
            raise UnsupportedError(
                f"--max-ms cannot be kept: the time of {', '.join(more)} in int16 on '{board}' is "
                "unknown; leave it out, and measure with ethosgen verify --profile"
            )
        if not wide:
            self.without = cost.without
        return 1e3 * cost.seconds

    @property
    def changes_ends(self) -> bool:
        """Whether inputs and outputs become integers after the quantizer."""
        return self.asked.io == INTEGER and self.quantizer.ends[0] != INTEGER

    def integer_ends(self, some: Arrays) -> list[str]:
        """Make inputs and outputs integers if the user requests it; return their names."""
        if not self.changes_ends:
            return []
        ((answer, _),) = self.ask(("integer_ends", {}, some))
        ends: list[str] = answer["ends"]
        if not ends:
            raise InputError(
                f"--io {INTEGER} has no effect on '{self.asked.network}': its first and last "
                "layers stay in float; leave it out"
            )
        return ends

    def labelled(
        self, inputs: Sequence[Tensor], data: CalibrationData
    ) -> tuple[Samples, Any] | None:
        """Return the samples with labels, None if there are none."""
        asked = self.asked
        if asked.test_data is not None:
            data = read_data(asked.test_data, inputs, asked.labels, self.preparation)
            if data.labels is None:
                raise InputError(
                    f"{asked.test_data}: --test-data is compared with labels; add them as 'y', or "
                    "name them with --labels"
                )
        if data.labels is None:
            return None
        if self.outputs != 1:
            raise InputError(f"labels need a network with one output; this has {self.outputs}")
        return data.samples, data.labels

    def advice(
        self,
        layers: Sequence[QuantizedLayer],
        ratio: float,
        accuracy: Accuracy | None,
        some: Arrays,
    ) -> list[Advice]:
        shares = (accuracy.before, accuracy.after) if accuracy else (None, None)
        if not hurts(ratio, *shares):
            return []
        asked = self.asked
        tried = trials(layers, asked.activations, asked.keep)
        with self.watch.phase("advise", f"trying {counted(len(tried), 'remedy', 'remedies')}"):
            ((answer, _),) = self.ask(("explore", {"trials": tried}, some))
        return advice(tried, answer["trials"], ratio, asked.keep)


def _checked_output(asked: QuantizationRequest, quantizer: Quantizer) -> Path:
    output = asked.output
    if asked.max_ms is None and (asked.board is not None or asked.npu is not None):
        raise InputError("--board and --npu say where --max-ms holds; add it, or leave them out")
    if asked.max_ms is not None and (asked.max_loss is None or asked.board is None):
        raise InputError(
            "--max-ms goes with --max-loss, whose choice it limits, and with --board, where the "
            "time is estimated; add them"
        )
    if asked.max_loss is not None and asked.activations != "int8":
        raise InputError(
            "--max-loss chooses the layers that become int16; leave out --activations int16"
        )
    wanted = quantizer.output_suffix
    if output.suffix.lower() != wanted:
        why = "" if quantizer.written else ", as the float network does"
        raise InputError(f"'{output}' must end in {wanted}{why}")
    if output.exists() and asked.network.exists() and output.samefile(asked.network):
        raise InputError(f"'{output}' is the float network itself; name another file with -o")
    if output.is_dir():
        raise InputError(f"'{output}' is a folder; name a file with -o")
    if output.exists() and not asked.force:
        raise InputError(
            f"'{output}' exists; name another file with -o, or replace it with --force"
        )
    require_writable(output.parent)
    return output


def _deliver(content: Path, output: Path) -> None:
    """Move the network to its path, atomically, because it may replace a file."""
    partial = output.with_name(f".{output.name}.partial")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content.read_bytes())
        partial.replace(output)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise cannot_write(output, error) from None


def _size(network: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    paths = [network, *network.rglob("*")] if network.is_dir() else [network]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _as_given(tensor: Tensor, sample: Mapping[str, np.ndarray[Any, Any]]) -> Tensor:
    return Tensor(tensor.index, tensor.name, sample[tensor.name].shape, tensor.dtype)


def _check_names(keep: Sequence[str], layers: Sequence[str]) -> None:
    wrong = next((name for name in keep if name not in layers), None)
    if wrong is not None:
        raise InputError(
            f"no layer is called '{wrong}'{nearest(wrong, layers)}; without --keep, the table "
            "lists their names"
        )


def _stacked(samples: Samples) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.stack([sample[name] for sample in samples]) for name in samples[0]}


def _spread(samples: Samples, most: int) -> Samples:
    """Return at most `most` samples, evenly spread."""
    count = min(len(samples), most)
    return [samples[i * len(samples) // count] for i in range(count)]
