"""MLPerf Tiny: the benchmark's own runner drives the firmware by commands over the console."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.applications.application import (
    TEMPLATES,
    Networks,
    Run,
    Settings,
    require_networks,
    require_one_port,
)
from ethosgen.applications.kws import load_sound
from ethosgen.applications.sound_features import FEATURES, FRAME, features_of, tables
from ethosgen.samples.quantizing import quantized
from ethosgen.values.errors import InputError, reason_of
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network, Tensor

_DRAWN = 4
_COMMAND_BYTES = 31
"""How many bytes the runner loads with a command."""
_STREAM_BYTES = 512
"""The same of the script that streams sound."""
_FRAME_BYTES = 2 * FRAME
_DRAWN_FRAMES = 40
_FLIP = 0x80


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of MLPerf Tiny: its name in the protocol, and the network that fits it.

    An input is int8 as the network takes it, bytes of an image (`is_image`), floats whose
    quantized values the network reproduces (`is_error`), or a frame of a stream of sound
    (`is_stream`), of whose features the network takes the latest.
    """

    model: str
    title: str
    shape: tuple[int, ...]
    outputs: int
    is_image: bool = False
    is_error: bool = False
    is_stream: bool = False

    @property
    def what(self) -> str:
        """The content of a file of the data set, in a few words."""
        if self.is_error:
            return "floats, little-endian"
        if self.is_stream:
            return f"sound: {counted(FRAME, 'sample')} of 16 bits, little-endian"
        return (
            "the bytes of an image, 0 to 255" if self.is_image else "int8, as the network takes it"
        )

    @property
    def results(self) -> str:
        """The firmware's answer, in a few words."""
        return "the mean squared error" if self.is_error else "the score of each class"


BENCHMARKS = (
    Benchmark("kws01", "keyword spotting", (1, 49, 10, 1), 12),
    Benchmark("vww01", "visual wake words", (1, 96, 96, 3), 2, is_image=True),
    Benchmark("ic01", "image classification", (1, 32, 32, 3), 10, is_image=True),
    Benchmark("ad01", "anomaly detection", (1, 640), 640, is_error=True),
    Benchmark("sww01", "streaming wake words", (1, 30, 1, 40), 3, is_stream=True),
)
"""The benchmarks whose inputs come over the console."""


@dataclass(frozen=True)
class MlPerf:
    """Answers the runner of MLPerf Tiny."""

    name: str = "mlperf"
    templates: str = TEMPLATES
    title: str = "answer the runner of the benchmark MLPerf Tiny"
    accepts: str = ".bin files of the benchmark's data sets, or .wav for the wake words"
    files: tuple[str, ...] = (
        "application.c",
        "commands.c",
        "commands.h",
        "run_benchmark.py",
        "settings.h",
        "stopwatch.c",
        "stopwatch.h",
    )

    def check(self, networks: Networks) -> None:
        """Raise InputError unless there is one network, which fits a benchmark."""
        require_networks(self.name, networks, 1, "one network, of a benchmark")
        require_one_port(self.name, networks[0], ("int8",))
        if find_benchmark(networks[0]) is None:
            known = ", ".join(
                f"{each.model} from {_shape_text(each.shape)} to {each.outputs}"
                for each in BENCHMARKS
            )
            tensor, output = networks[0].inputs[0], networks[0].outputs[0]
            raise InputError(
                f"--app {self.name} needs the int8 network of a benchmark ({known}), but "
                f"'{networks[0].name}' goes from {_shape_text(tensor.shape)} to {output.elements:,}"
            )
        for tensor in (networks[0].inputs[0], networks[0].outputs[0]):
            if tensor.quantization is None or not tensor.quantization.is_per_tensor:
                raise InputError(f"--app {self.name} needs a scale, but '{tensor.name}' has none")

    def more_files(self, networks: Networks) -> tuple[str, ...]:
        """Return the C that computes sound features, for the network that takes them."""
        return ("features.c", "features.h") if _benchmark_of(networks).is_stream else ()

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return the network's benchmark, and the constants of its features."""
        benchmark = _benchmark_of(networks)
        stream = tables(networks[0].inputs[0]) if benchmark.is_stream else None
        return {"benchmark": benchmark, "stream": stream}

    def item_bytes(self, networks: Networks) -> int:
        """Return the size of an input as the runner loads it."""
        benchmark = _benchmark_of(networks)
        if benchmark.is_stream:
            return _FRAME_BYTES
        return networks[0].inputs[0].elements * (4 if benchmark.is_error else 1)

    def item_s(self, settings: Settings) -> float | None:
        """Return None: the runner decides when it loads the next input."""
        return None

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Read files of a data set; one of ad's has a spectrum of 128 floats per window of time."""
        items = []
        size, benchmark = self.item_bytes(networks), _benchmark_of(networks)
        if benchmark.is_stream:
            return _frames(paths)
        for path in paths:
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InputError(f"cannot read '{path}': {reason_of(error)}") from None
            if benchmark.is_error:
                items += [content[i : i + size] for i in _windows(len(content), size)]
            elif len(content) == size:
                items.append(content)
            if (
                not items
                or len(items[-1]) != size
                or (not benchmark.is_error and len(content) != size)
            ):
                raise InputError(
                    f"'{path}' has {counted(len(content), 'byte')}, but an input of "
                    f"{benchmark.model} has {size:,}"
                )
        return items

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return random inputs, over the whole range of the network's."""
        rng, tensor = np.random.default_rng(seed), networks[0].inputs[0]
        if _benchmark_of(networks).is_stream:
            loud = 10 ** rng.uniform(0, 5, (_DRAWN_FRAMES, 1))
            sound = np.cumsum(rng.normal(size=(_DRAWN_FRAMES, FRAME)), axis=1) * loud
            return [row.astype("<i2").tobytes() for row in np.clip(sound, -32768, 32767)]
        values = rng.integers(0, 256, (_DRAWN, tensor.elements), np.uint8)
        if not _benchmark_of(networks).is_error:
            return [row.tobytes() for row in values]
        assert tensor.quantization is not None
        scale, zero = tensor.quantization.scale[0], tensor.quantization.zero_point[0]
        real = (values.view(np.int8) - float(zero) + rng.uniform(-0.5, 0.5, values.shape)) * scale
        return [row.astype("<f4").tobytes() for row in real]

    def commands(self, item: bytes) -> list[str]:
        """Return the commands that load an input and infer once, as the runner sends them.

        No benchmark's input but a frame of sound has its size.
        """
        is_frame = len(item) == _FRAME_BYTES
        size = _STREAM_BYTES if is_frame else _COMMAND_BYTES
        parts = [item[i : i + size] for i in range(0, len(item), size)]
        infer = "extract_uart_stream" if is_frame else "infer 1 0"
        return [f"db load {len(item)}", *(f"db {part.hex()}" for part in parts), infer]

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return the line of results for each input, or the two lines for each frame."""
        benchmark = _benchmark_of(networks)
        if benchmark.is_stream:
            return _stream_lines(items, networks[0], run)
        source, target = networks[0].inputs[0], networks[0].outputs[0]
        samples = [{source.name: _network_input(item, source, benchmark)} for item in items]
        lines = []
        for item, outputs in zip(items, run(0, samples), strict=True):
            values = _real(outputs[target.name].ravel(), target)
            if benchmark.is_error:
                values = np.array([_mean_squared_error(np.frombuffer(item, "<f4"), values)])
            lines.append(f"m-results-[{','.join(f'{value:.3f}' for value in values)}]")
        return lines


def find_benchmark(network: Network) -> Benchmark | None:
    """Return the benchmark that a network fits; None if it fits none."""
    tensor, output = network.inputs[0], network.outputs[0]
    return next(
        (
            benchmark
            for benchmark in BENCHMARKS
            if (benchmark.shape, benchmark.outputs) == (tuple(tensor.shape), output.elements)
        ),
        None,
    )


def _benchmark_of(networks: Networks) -> Benchmark:
    benchmark = find_benchmark(networks[0])
    assert benchmark is not None
    return benchmark


def _shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _windows(size: int, window: int) -> range:
    """Return the starts of the windows in a file of ad: one at each spectrum."""
    return range(0, size - window + 1, window // 5)


def _network_input(item: bytes, tensor: Tensor, benchmark: Benchmark) -> np.ndarray[Any, Any]:
    if benchmark.is_error:
        values = quantized(np.frombuffer(item, "<f4"), tensor)
    else:
        flip = _FLIP if benchmark.is_image else 0
        values = (np.frombuffer(item, np.uint8) ^ np.uint8(flip)).view(np.int8)
    return np.ascontiguousarray(values).reshape(tensor.shape)


def _frames(paths: Sequence[Path]) -> list[bytes]:
    """Return the whole frames of files of sound, as one stream."""
    sound = np.concatenate([load_sound(path) for path in paths]).astype("<i2")
    if len(sound) < FRAME:
        raise InputError(
            f"'{paths[0]}' has {counted(len(sound), 'sample')}, but a frame has {FRAME}"
        )
    return [row.tobytes() for row in sound[: len(sound) // FRAME * FRAME].reshape(-1, FRAME)]


def _stream_lines(items: Sequence[bytes], network: Network, run: Run) -> list[str]:
    """Return the lines with the features of each frame, and with the network's answer."""
    source, target = network.inputs[0], network.outputs[0]
    features = features_of(np.frombuffer(b"".join(items), "<i2"), source)
    silence = np.zeros((source.elements // FEATURES, FEATURES), np.int8)
    stream, rows = np.concatenate([silence, features]), len(silence)
    windows = [stream[number + 1 : number + 1 + rows] for number in range(len(features))]
    samples = [{source.name: np.ascontiguousarray(each.reshape(source.shape))} for each in windows]
    lines = []
    for row, outputs in zip(features, run(0, samples), strict=True):
        lines.append(f"m-features-[{_signed(row)}]")
        lines.append(f"m-activations-[{_signed(outputs[target.name].ravel())}]")
    return lines


def _signed(values: np.ndarray[Any, Any]) -> str:
    return ", ".join(f"{value:+3d}" for value in values.tolist())


def _real(values: np.ndarray[Any, Any], tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the real values as 32-bit floats, as the firmware computes them."""
    assert tensor.quantization is not None
    steps = values.astype(np.int32) - tensor.quantization.zero_point[0]
    return np.float32(tensor.quantization.scale[0]) * steps.astype(np.float32)


def _mean_squared_error(wanted: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> np.float32:
    """Return the error, summed in floats in order."""
    differences = values - wanted.astype(np.float32)
    squares = differences * differences
    return np.float32(np.add.accumulate(squares, dtype=np.float32)[-1] / np.float32(len(squares)))


MLPERF = MlPerf()
