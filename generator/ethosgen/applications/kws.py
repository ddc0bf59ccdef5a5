"""Keyword spotting: a front end that turns sound into features, a network that scores words."""

import wave
import zlib
from collections.abc import Mapping, Sequence
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
from ethosgen.applications.labels import NO_WORDS, is_word, labels_of
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network

Array = np.ndarray[Any, Any]

RATE = 16000
"""Samples of sound a second."""
_BYTES = 2
"""The width of a sample."""
_BLOCK = 320
"""Samples that the host sends at a time; the application cuts them into hops of its own."""
_SCALE, _ZERO_POINT, _HIGHEST = 1 / 256, -128, 255
_TIME_WIDTH = 10
_THOUSAND = 1000
_DRAWN_S = 4
_TWO = "two networks, the front end (int16 sound to int8 features) and the one for words"


@dataclass(frozen=True)
class Kws:
    """Spots keywords in a stream of sound."""

    name: str = "kws"
    templates: str = TEMPLATES
    title: str = "spot keywords in a stream of sound, with an audio front end"
    accepts: str = ".wav: 16-bit PCM, one channel, 16,000 samples a second"
    files: tuple[str, ...] = (
        "application.c",
        "audio.h",
        "audio_dma.c",
        "audio_dma.h",
        "audio_host.c",
        "labels.h",
        "recognizer.c",
        "recognizer.h",
        "settings.h",
    )

    def check(self, networks: Networks) -> None:
        """Raise InputError unless there are a front end and a network for its features."""
        require_networks(self.name, networks, 2, _TWO)
        fronts = [
            network for network in networks if network.inputs and network.inputs[0].dtype == "int16"
        ]
        if len(fronts) != 1:
            raise InputError(f"--app {self.name} is for {_TWO}; {_inputs_of(networks)}")
        front, words = _ordered(networks)
        require_one_port(self.name, front, ("int16", "int8"))
        require_one_port(self.name, words, ("int8",))
        features, source = front.outputs[0], words.inputs[0]
        if features.dtype != "int8" or source.elements % features.elements:
            raise InputError(
                f"'{front.name}' makes {counted(features.elements, 'feature')} of {features.dtype} "
                f"of each hop, but '{words.name}' takes {source.elements} of {source.dtype}, which "
                "must be a whole number of hops"
            )
        quantization = words.outputs[0].quantization
        if quantization is None or (quantization.scale, quantization.zero_point) != (
            (_SCALE,),
            (_ZERO_POINT,),
        ):
            raise InputError(
                f"--app {self.name} needs probabilities, but the output of '{words.name}' has not "
                "the scale 1/256 and zero point -128 of a SOFTMAX; end the network with one"
            )
        labels_of(words)

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return the networks' places, and the labels."""
        front, words = _ordered(networks)
        count = words.outputs[0].elements
        return {
            "front_index": list(networks).index(front),
            "words_index": list(networks).index(words),
            "labels": labels_of(words) or tuple(map(_number, range(count))),
            "no_words": NO_WORDS,
            "sample_rate": RATE,
            "block_samples": _BLOCK,
        }

    def item_bytes(self, networks: Networks) -> int:
        """Return the size of a block of samples."""
        return 2 * _BLOCK

    def item_s(self, settings: Settings) -> float | None:
        """Return the time of a block of samples."""
        return _BLOCK / RATE

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Read the sound of all files, in order."""
        return _blocks(np.concatenate([load_sound(path) for path in paths]))

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return noise and tones that begin and end: no words, but all levels and bands."""
        rng = np.random.default_rng(seed)
        times = np.arange(_DRAWN_S * RATE) / RATE
        sound = rng.normal(0, 30, len(times))
        for begin in np.arange(0.3, _DRAWN_S, 0.4):
            tone = np.sin(2 * np.pi * np.cumsum(rng.uniform(100, 4000) / RATE + 0 * times))
            loud = 10 ** rng.uniform(1.5, 4.4) * ((times > begin) & (times < begin + 0.25))
            sound += loud * (tone + rng.normal(0, 0.3, len(times)))
        return _blocks(np.clip(np.rint(sound), -32768, 32767).astype("<i2"))

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return a line for each detection, and the lines with CRCs of features and scores."""
        front, _ = _ordered(networks)
        sound = np.frombuffer(b"".join(items), "<i2")
        audio, size = front.inputs[0], front.inputs[0].elements
        starts = range(0, len(sound) - size + 1, _step(settings, "HOP_SAMPLES"))
        windows = [sound[start : start + size].reshape(audio.shape) for start in starts]
        answers = run(networks.index(front), [{audio.name: window} for window in windows])
        features = [answer[front.outputs[0].name].ravel() for answer in answers]
        scores = self._scores(features, networks, run, settings)
        return _Listener(size, settings).lines(features, scores)

    def _scores(
        self, features: Sequence[Array], networks: Networks, run: Run, settings: Settings
    ) -> dict[int, Array]:
        """Return the scores 0 to 255 of the inferences, by the hop after which they run."""
        front, words = _ordered(networks)
        source, output = words.inputs[0], words.outputs[0]
        hops = source.elements // front.outputs[0].elements
        turns = range(hops - 1, len(features), _step(settings, "INFERENCE_HOPS"))
        samples = [
            {source.name: np.concatenate(features[hop + 1 - hops : hop + 1]).reshape(source.shape)}
            for hop in turns
        ]
        answers = run(networks.index(words), samples)
        return {
            hop: answer[output.name].ravel().astype(np.int64) - _ZERO_POINT
            for hop, answer in zip(turns, answers, strict=True)
        }


class Recognizer:
    """Decides when a word was spoken, by the definition of recognizer.h and settings.h."""

    def __init__(self, labels: Sequence[str], settings: Mapping[str, int]) -> None:
        self._labels = labels
        self._settings = settings
        self._scores: list[Array] = []
        self._last, self._last_ms = -1, 0

    def step(self, scores: Array, time_ms: int) -> tuple[str, int] | None:
        """Take the scores 0 to 255 of the next inference; return a detected label and its score."""
        self._scores = [*self._scores, scores][-self._settings["AVERAGE_INFERENCES"] :]
        averages = np.sum(self._scores, axis=0) // len(self._scores)
        label = int(averages.argmax())
        score = int(averages[label])
        if len(self._scores) < self._settings["LEAST_INFERENCES"]:
            return None
        if score <= self._settings["THRESHOLD"]:
            return None
        if label == self._last and time_ms - self._last_ms <= self._settings["SUPPRESSION_MS"]:
            return None
        self._last, self._last_ms = label, time_ms
        return (self._labels[label], score) if is_word(self._labels[label]) else None


class _Listener:
    """Writes the lines for the hops of a stream."""

    def __init__(self, window: int, settings: Settings) -> None:
        self._width = max(map(len, settings.labels))
        self._window = window
        self._settings = settings
        self._recognizer = Recognizer(settings.labels, settings)

    def lines(self, features: Sequence[Array], scores: dict[int, Array]) -> list[str]:
        """Return the lines; `scores` are by hop."""
        every, lines = self._settings["CHECK_HOPS"], []
        sums = [0, 0]
        for hop, feature in enumerate(features):
            time_ms = (self._window + hop * self._settings["HOP_SAMPLES"]) * _THOUSAND // RATE
            sums[0] = zlib.crc32(feature.astype(np.int8).tobytes(), sums[0])
            if hop in scores:
                sums[1] = zlib.crc32(scores[hop].astype(np.uint8).tobytes(), sums[1])
                detected = self._recognizer.step(scores[hop], time_ms)
                if detected is not None:
                    lines.append(self._detection(time_ms, *detected))
            if every and ((hop + 1) % every == 0 or hop + 1 == len(features)):
                check = f"check: features {sums[0]:08x}, scores {sums[1]:08x}"
                lines.append(f"{decimal(time_ms)} s  {check}")
                sums = [0, 0]
        return lines

    def _detection(self, time_ms: int, label: str, score: int) -> str:
        share = decimal(score * _THOUSAND // _HIGHEST)
        return f"{decimal(time_ms)} s  {label:{self._width}}{share}"


def decimal(thousandths: int) -> str:
    """Return a number of thousandths as a decimal fraction, as report.c writes it."""
    return f"{thousandths // _THOUSAND}.{thousandths % _THOUSAND:03}".rjust(_TIME_WIDTH)


def _ordered(networks: Networks) -> tuple[Network, Network]:
    """Return the front end and the network for words."""
    first, second = networks
    return (first, second) if first.inputs[0].dtype == "int16" else (second, first)


def _number(label: int) -> str:
    """Return the name of an unnamed label: the first two are micro_speech's."""
    return ("silence", "unknown")[label] if label < 2 else f"label_{label}"


def _inputs_of(networks: Networks) -> str:
    dtypes = (
        f"'{network.name}' takes {network.inputs[0].dtype}"
        for network in networks
        if network.inputs
    )
    return "here " + " and ".join(dtypes)


def _blocks(sound: Array) -> list[bytes]:
    """Return sound in whole blocks; zeros fill the last one."""
    padded = np.pad(sound, (0, -len(sound) % _BLOCK)).astype("<i2")
    return [block.tobytes() for block in padded.reshape(-1, _BLOCK)]


def load_sound(path: Path) -> Array:
    """Return the samples of a WAV file, int16 [n].

    InputError for any other file, or one that is not 16-bit PCM with one channel at RATE.
    """
    try:
        with wave.open(str(path), "rb") as file:
            facts = (file.getframerate(), file.getnchannels(), file.getsampwidth())
            data = file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error, RuntimeError, MemoryError) as error:  # wrong header
        reason = getattr(error, "strerror", None) or str(error) or "the file ends early"
        raise InputError(f"cannot read '{path}' as a WAV file of PCM: {reason}") from None
    if facts != (RATE, 1, _BYTES):
        rate, channels, width = facts
        raise InputError(
            f"'{path}' has {counted(rate, 'sample')} a second, {counted(channels, 'channel')} and "
            f"{counted(8 * width, 'bit')}, but the application takes {RATE:,}, 1 and 16; convert "
            f"it with: sox {path.name} -r {RATE} -c 1 -b 16 mono.wav"
        )
    if not data:
        raise InputError(f"'{path}' has no samples")
    return np.frombuffer(data[: len(data) // _BYTES * _BYTES], "<i2")


KWS = Kws()


def _step(settings: Settings, name: str) -> int:
    """Return a number that counts steps; InputError for one that never advances."""
    if settings[name] < 1:
        raise InputError(f"application/settings.h: {name} is {settings[name]}; make it 1 or more")
    return settings[name]
