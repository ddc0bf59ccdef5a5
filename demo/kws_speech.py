"""Words that espeak-ng speaks, in noise, as streams of sound with the times of each word.

No voice of HELD_OUT is in VOICES, and no word of HELD_OUT_OTHERS in OTHERS: what is measured with
them, the network has never heard. espeak-ng (1.51, from Debian) is a formant synthesizer; what it
speaks is the output of a program, free of anybody's rights.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from kws_front_end import RATE
from rich.progress import track

Array = np.ndarray[Any, Any]

WORDS = "yes no up down left right stop go".split()
OTHERS = """
bed bird cat dog happy house marvin sheila tree wow zero one two three four five six seven eight
nine on off hello light table music water yellow blue green lamp snow low so show toe guess less
mess dress town gown noun brown lift let life night bright top stock shop step cup pub app goat
ghost girl gate bus back play open close start please lock love nose
""".split()
HELD_OUT_OTHERS = """
computer orange river garden paper monday summer doctor kitchen phone seat ball ten bread flow test
might camera door winter
""".split()

ACCENTS = """
en-us en-gb en-gb-x-rp en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd en-029 en-us-nyc
""".split()
VOICES = """
adam Alex Alicia Andrea Annie antonio aunty belinda boris caleb david Denis Diogo ed f1 f2 f4 Gene
Gene2 grandma grandpa Gustave Henrique Hugo iven iven2 iven4 john kaukovalta Lee linda m1 m2 m4 m5
m7 marcelo Marco max Michael michel mike norbert pablo paul quincy rob sandro steph steph2 Storm
travis victor
""".split()
HELD_OUT = """
Andy anika benjamin edward f3 f5 iven3 Jacky m3 m6 m8 Mario Miguel Nguyen pedro robert shelby steph3
zac
""".split()


@dataclass(frozen=True)
class Utterance:
    """One spoken word: float32 samples between -1 and 1, without the silence around it."""

    word: str
    samples: Array


@dataclass(frozen=True)
class Stream:
    """Sound int16 [n], and for each word of it the first sample and the one behind the last."""

    sound: Array
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def speak(word: str, voice: str, speed: int, pitch: int) -> Utterance:
    """Return a word as espeak-ng speaks it; speed in words a minute, pitch from 0 to 99."""
    from scipy.signal import resample_poly  # type: ignore[import-untyped]  # takes a second

    command = ["espeak-ng", "--stdout", "-v", voice, "-s", str(speed), "-p", str(pitch), word]
    spoken = subprocess.run(command, check=True, capture_output=True).stdout
    samples = np.frombuffer(spoken[44:], np.int16).astype(np.float32) / 32768
    samples = resample_poly(samples, 320, 441).astype(np.float32)  # 22,050 Hz to 16,000 Hz
    loud = np.flatnonzero(np.abs(samples) > 0.02 * np.abs(samples).max())
    return Utterance(word, samples[loud[0] : loud[-1] + 1])


def draw_utterances(
    voices: Sequence[str], words: Sequence[str], repeats: int, rng: np.random.Generator
) -> list[Utterance]:
    """Return each word `repeats` times by each voice: accents, speeds and pitches are drawn."""
    if shutil.which("espeak-ng") is None:
        raise SystemExit("this needs espeak-ng: apt-get install espeak-ng")
    pairs = [(voice, word) for voice in voices for word in words for _ in range(repeats)]
    spoken = []
    for voice, word in track(pairs, f"speaking {len(pairs):,} words", transient=True):
        accent = str(rng.choice(ACCENTS))
        speed, pitch = int(rng.integers(115, 205)), int(rng.integers(20, 80))
        spoken.append(speak(word, f"{accent}+{voice}", speed, pitch))
    return spoken


def draw_streams(
    utterances: Sequence[Utterance],
    rng: np.random.Generator,
    length: int = 10,
    stretch: float = 0.0,
    shuffle: bool = True,
) -> list[Stream]:
    """Return streams of `length` words each, usually shuffled, each stream in its own noise.

    Each word is played faster or slower by up to `stretch`, which also makes its speaker's throat
    shorter or longer: more voices than espeak-ng has.
    """
    order = rng.permutation(len(utterances)) if shuffle else np.arange(len(utterances))
    groups = [order[start : start + length] for start in range(0, len(order), length)]
    played = [_played(utterance, 1 + rng.uniform(-stretch, stretch)) for utterance in utterances]
    return [_stream([played[i] for i in group], rng) for group in groups]


def _played(utterance: Utterance, speed: float) -> Utterance:
    """Return an utterance played at another speed, by linear interpolation."""
    count = int(len(utterance.samples) / speed)
    places = np.arange(count) * speed
    samples = np.interp(places, np.arange(len(utterance.samples)), utterance.samples)
    return Utterance(utterance.word, samples.astype(np.float32))


def _stream(utterances: Sequence[Utterance], rng: np.random.Generator) -> Stream:
    from scipy.signal import fftconvolve

    loudness = rng.uniform(-70, -32)  # of the noise, in dB of full scale
    echo = _echo(rng) if rng.random() < 0.3 else None
    parts, starts, ends, position = [], [], [], 0
    for utterance in utterances:
        gap = int(rng.uniform(0.5, 1.5) * RATE)
        spoken = _at_level(utterance.samples, rng.uniform(max(-36, loudness + 8), -12))
        parts += [np.zeros(gap, np.float32), spoken]
        starts.append(position + gap)
        position += gap + len(spoken)
        ends.append(position)
    parts.append(np.zeros(RATE, np.float32))
    clean = np.concatenate(parts)
    if echo is not None:
        clean = fftconvolve(clean, echo)[: len(clean)]
    noisy = clean + _at_level(_noise(len(clean), rng), loudness)
    sound = np.clip(np.rint(noisy * 32767), -32768, 32767).astype(np.int16)
    words = tuple(utterance.word for utterance in utterances)
    return Stream(sound, words, tuple(starts), tuple(ends))


def _at_level(samples: Array, decibels: float) -> Array:
    """Scale samples to a root mean square in dB of full scale."""
    mean = float(np.sqrt(np.mean(samples.astype(np.float64) ** 2))) + 1e-9
    scaled: Array = (samples * (10 ** (decibels / 20) / mean)).astype(np.float32)
    return scaled


def _noise(length: int, rng: np.random.Generator) -> Array:
    """Return noise whose power falls as 1 / f**k, k drawn from 0 to 2, sometimes with a hum."""
    from scipy.fft import next_fast_len  # type: ignore[import-untyped]

    slope = rng.uniform(0, 2)
    count = next_fast_len(length)
    shape = np.maximum(np.fft.rfftfreq(count, 1 / RATE), 20) ** (-slope / 2)
    noise: Array = np.fft.irfft(np.fft.rfft(rng.normal(size=count)) * shape, count)[:length]
    if rng.random() < 0.3:
        tone = rng.choice([50.0, 60.0]) * rng.integers(1, 8)
        hum = np.sin(2 * np.pi * tone / RATE * np.arange(length))
        noise += hum * rng.uniform(0.2, 1) * noise.std()
    return noise


def _echo(rng: np.random.Generator) -> Array:
    """Return the response of a room: the sound itself, then noise that decays in 0.1 to 0.4 s."""
    seconds = rng.uniform(0.1, 0.4)
    count = int(seconds * RATE)
    decay = 10.0 ** (-3 * np.arange(count) / count)
    tail = rng.normal(size=count) * decay * rng.uniform(0.01, 0.06)
    tail[0] = 1
    return tail.astype(np.float32)
