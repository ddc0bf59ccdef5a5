"""Keyword spotting: on QEMU, with Zephyr, its recognizer, and what it expects."""

import subprocess
import wave
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.applications import APPLICATIONS, Settings
from ethosgen.applications.kws import Recognizer
from ethosgen.applications.labels import append_labels
from ethosgen.flow import build_project
from ethosgen.flow.application import read_settings
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.application_projects import create, run
from tests.support.needs import needs_build, needs_gcc, needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder

DEMO = ROOT / "demo"
FRONT = (DEMO / "kws_front_end.tflite").read_bytes()
WORDS = (DEMO / "kws_int8.tflite").read_bytes()
NETWORKS = [("front", FRONT), ("words", WORDS)]
SOUND = DEMO / "kws_words.wav"
KWS = APPLICATIONS["kws"]
NAMES = "silence unknown yes no up down left right stop go".split()
SETTINGS = {
    "HOP_SAMPLES": 320,
    "INFERENCE_HOPS": 2,
    "AVERAGE_INFERENCES": 4,
    "LEAST_INFERENCES": 2,
    "THRESHOLD": 150,
    "SUPPRESSION_MS": 1000,
    "CHECK_HOPS": 50,
}

Array = np.ndarray[Any, Any]


def classifier(labels: int = 3, hops: int = 4, features: int = 40) -> bytes:
    """Return a small network for words."""
    net = NetworkBuilder("words", seed=3)
    return net.build(net.softmax(net.fully_connected(net.input((1, hops * features)), labels)))


def networks(*contents: bytes) -> list[Network]:
    return [parse_network(content, f"net{i}") for i, content in enumerate(contents)]


def write_wav(path: Path, sound: Array, rate: int = 16000, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(sound.itemsize)
        file.setframerate(rate)
        file.writeframes(sound.tobytes())
    return path


def words_in(lines: tuple[str, ...]) -> list[str]:
    return [line.split()[2] for line in lines if "check:" not in line]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("kws"), NETWORKS, "kws")


@needs_build
@needs_qemu
def test_words_are_detected_and_every_bit_is_the_oracles(project: Path) -> None:
    report = run(project, SOUND)
    assert report.verdict == "PASS", report.first
    assert words_in(report.lines) == ["yes", "left", "stop", "go"]
    times = [float(line.split()[0]) for line in report.lines]
    assert times == sorted(times)
    checks = [line for line in report.lines if "check:" in line]
    hops = (report.items * 320 - 480) // 320 + 1
    assert len(checks) == -(-hops // 50)
    assert report.work is not None and report.work.seconds == report.items * 0.02
    each_second = report.work.count / report.work.seconds
    # 50 times the front end, which takes 31,268 instructions; the rest is the application's own
    assert 1.0 < each_second / (50 * 31_268) < 1.5
    assert report.work.share is not None and report.work.share < 0.1


@needs_build
@needs_qemu
def test_settings_change_what_it_does_and_what_is_expected(project: Path, tmp_path: Path) -> None:
    settings = project / "application" / "settings.h"
    before = settings.read_text()
    changes = {"HOP_SAMPLES 320": "HOP_SAMPLES 450", "INFERENCE_HOPS 2": "INFERENCE_HOPS 5",
               "CHECK_HOPS 50": "CHECK_HOPS 7"}  # fmt: skip
    try:
        for old, new in changes.items():
            assert old in settings.read_text()
            settings.write_text(settings.read_text().replace(old, new))
        build_project(project, watch=Watch())
        noise = np.random.default_rng(2).normal(0, 900, 20000).astype("<i2")
        report = run(project, write_wav(tmp_path / "noise.wav", noise))
    finally:
        settings.write_text(before)
        build_project(project, watch=Watch())
    assert report.passed, report.first
    hops = (-(-20000 // 320) * 320 - 480) // 450 + 1
    assert len(report.lines) == -(-hops // 7)


@needs_build
@needs_qemu
def test_one_wrong_bit_of_a_feature_fails(project: Path, tmp_path: Path) -> None:
    source = project / "application" / "application.c"
    before = source.read_text()
    line = "        if (CHECK_HOPS > 0) {\n            state.features_crc"
    assert line in before
    try:
        wrong = f"        ring[state.oldest][7] ^= (int8_t)(state.hops == 60u);\n{line}"
        source.write_text(before.replace(line, wrong))
        build_project(project, watch=Watch())
        silence = np.zeros(24000, "<i2")
        report = run(project, write_wav(tmp_path / "silence.wav", silence))
    finally:
        source.write_text(before)
        build_project(project, watch=Watch())
    assert report.verdict == "FAIL"
    assert "1.490 s  check: features" in report.first


@needs_zephyr
@needs_qemu
@pytest.mark.slow
def test_it_runs_with_zephyr(tmp_path: Path) -> None:
    report = run(create(tmp_path, NETWORKS, "kws", "zephyr"), SOUND)
    assert report.passed, report.first
    assert words_in(report.lines) == ["yes", "left", "stop", "go"]


def test_the_checks_are_crc_32_of_features_and_scores() -> None:
    front, words = networks(FRONT, WORDS)
    asked: list[tuple[int, int]] = []

    def answer(index: int, samples: Any) -> list[dict[str, Array]]:
        asked.append((index, len(samples)))
        network, count = (front, words)[index], len(samples)
        size = network.outputs[0].elements
        return [{network.outputs[0].name: np.full(size, i % 50, np.int8)} for i in range(count)]

    items = [bytes(640)] * 60
    lines = KWS.expect(items, [front, words], answer, Settings(SETTINGS, NAMES))
    hops = (60 * 320 - 480) // 320 + 1
    turns = range(47, hops, 2)
    assert asked == [(0, hops), (1, len(turns))]
    first = zlib.crc32(b"".join(bytes([i % 50] * 40) for i in range(50)))
    scores = zlib.crc32(bytes([128] * 10) + bytes([129] * 10))
    assert lines[0] == f"     1.010 s  check: features {first:08x}, scores {scores:08x}"
    for name in ("HOP_SAMPLES", "INFERENCE_HOPS"):
        with pytest.raises(InputError, match=f"settings.h: {name} is 0; make it 1 or more"):
            KWS.expect(items, [front, words], answer, Settings({**SETTINGS, name: 0}, NAMES))
    assert len(lines) == 2 and lines[1].startswith("     1.190 s  check: features ")


def test_scores_are_averaged_and_a_word_is_told_once() -> None:
    recognizer = Recognizer(["silence", "unknown", "go", "no"], SETTINGS)
    go, no, silence = np.eye(4, dtype=np.int64)[[2, 3, 0]] * 255
    told = [recognizer.step(go, 40 * i) for i in range(8)]
    assert told == [None, ("go", 255), *[None] * 6]
    told = [recognizer.step(no, 320 + 40 * i) for i in range(4)]
    assert told == [None, None, ("no", 191), None]
    told = [recognizer.step(silence, 480 + 40 * i) for i in range(4)]
    assert told == [None] * 4  # silence is above the threshold, but no word
    assert [recognizer.step(no, 640 + 40 * i) for i in range(3)] == [None, None, ("no", 191)]


def test_a_word_that_lasts_is_told_again_after_a_time() -> None:
    recognizer = Recognizer(["silence", "go"], SETTINGS)
    go = np.array([0, 200], np.int64)
    times = [40 * i for i in range(60) if recognizer.step(go, 40 * i) is not None]
    assert times == [40, 1080, 2120]


RECOGNIZER_PROGRAM = """
#include "recognizer.h"
#include <stdio.h>
int main(void)
{
    struct recognizer recognizer = {0};
    struct detection detection;
    uint8_t scores[LABELS];
    unsigned long time_ms;
    while (scanf("%lu", &time_ms) == 1) {
        for (unsigned i = 0; i < LABELS; i++) {
            unsigned score;
            if (scanf("%u", &score) != 1) return 1;
            scores[i] = (uint8_t)score;
        }
        if (recognizer_step(&recognizer, scores, time_ms, &detection))
            printf("%lu %u %u\\n", time_ms, (unsigned)detection.label, (unsigned)detection.score);
    }
    return 0;
}
"""


@needs_gcc
def test_recognizer_and_expectation_agree_on_random_scores(tmp_path: Path) -> None:
    place = create(tmp_path, [("front", FRONT), ("words", WORDS)], "kws", build=False)
    (tmp_path / "main.c").write_text(RECOGNIZER_PROGRAM)
    folder = place / "application"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1", f"-I{folder}"]
    sources = [tmp_path / "main.c", folder / "recognizer.c"]
    subprocess.run(["gcc", *flags, *sources, "-o", tmp_path / "told"], check=True)
    settings = read_settings(folder)
    rng = np.random.default_rng(6)
    best = np.repeat(rng.integers(0, 10, 400), rng.integers(1, 40, 400))
    scores = rng.integers(0, 60, (len(best), 10))
    scores[np.arange(len(best)), best] = rng.integers(140, 256, len(best))
    text = "\n".join(f"{40 * i} {' '.join(map(str, row))}" for i, row in enumerate(scores))
    told = subprocess.run(
        [tmp_path / "told"], check=True, input=text, stdout=subprocess.PIPE, text=True
    )
    assert list(settings.labels) == NAMES
    recognizer, expected = Recognizer(NAMES, settings), []
    for i, row in enumerate(scores):
        detected = recognizer.step(row, 40 * i)
        if detected is not None:
            expected.append(f"{40 * i} {NAMES.index(detected[0])} {detected[1]}")
    assert told.stdout.splitlines() == expected
    assert len(expected) > 100


DMA_PROGRAM = """
#include "audio.h"
#include "audio_dma.h"
#include <stdio.h>
static int16_t (*memory)[AUDIO_HALF_SAMPLES];
static unsigned done;
static int16_t sample;
static void fill(void)
{
    for (unsigned i = 0; i < AUDIO_HALF_SAMPLES; i++) memory[done % AUDIO_HALVES][i] = sample++;
    done++;
    audio_half_done();
}
bool audio_dma_start(int16_t halves[AUDIO_HALVES][AUDIO_HALF_SAMPLES])
{
    memory = halves;
    return true;
}
void audio_dma_sleep(void) { fill(); }
void audio_dma_lock(void) {}
void audio_dma_unlock(void) {}
int main(void)
{
    int16_t samples[450];
    if (!audio_start()) return 1;
    for (unsigned n = 0; n < 5; n++) {
        audio_read(samples, 450);
        printf("%d %d\\n", samples[0], samples[449]);
    }
    fill(); fill(); fill(); /* too slow: the oldest are lost */
    printf("%u\\n", (unsigned)audio_lost_halves());
    audio_read(samples, 100);
    printf("%d %u\\n", samples[0], (unsigned)audio_lost_halves());
    return 0;
}
"""


@needs_gcc
def test_the_double_buffer_gives_every_sample_or_says_how_many_are_lost(tmp_path: Path) -> None:
    place = create(tmp_path, [("front", FRONT), ("words", classifier())], "kws", build=False)
    header = place / "application" / "audio.h"
    header.write_text(header.read_text().replace("AUDIO_FROM_DMA 0", "AUDIO_FROM_DMA 1"))
    (tmp_path / "main.c").write_text(DMA_PROGRAM)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{header.parent}"]
    sources = [tmp_path / "main.c", *header.parent.glob("audio_*.c")]
    subprocess.run(["gcc", *flags, *sources, "-o", tmp_path / "dma"], check=True)
    answer = subprocess.run([tmp_path / "dma"], check=True, stdout=subprocess.PIPE, text=True)
    told = answer.stdout.splitlines()
    assert told[:5] == [f"{450 * n} {450 * n + 449}" for n in range(5)]
    # 2,250 samples were read, the last from half 7; 8, 9 and 10 came: only 10 was not overwritten
    assert told[5:] == ["0", "3200 3"]


def test_labels_come_from_the_network_or_are_numbers(tmp_path: Path) -> None:
    content = append_labels(classifier(), ["_silence_", "on", "off"])
    assert KWS.facts(networks(FRONT, content))["labels"] == ("_silence_", "on", "off")
    facts = KWS.facts(networks(classifier(), FRONT))
    assert facts["labels"] == ("silence", "unknown", "label_2")
    assert (facts["front_index"], facts["words_index"]) == (1, 0)
    place = create(tmp_path, [("front", FRONT), ("words", content)], "kws", build=False)
    header = (place / "application" / "labels.h").read_text()
    assert [f"    {word}, /* {label} */" in header for word, label in (
        ("false", "_silence_"), ("true", "on"), ("true", "off"))] == [True] * 3  # fmt: skip
    assert read_settings(place / "application").labels == ("_silence_", "on", "off")


def other_scale() -> bytes:
    net = NetworkBuilder("words", seed=3)
    return net.build(net.fully_connected(net.input((1, 160)), 3))


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        ((FRONT,), "two networks, the front end .* but got 1 network"),
        ((classifier(), classifier()), "here 'net0' takes int8 and 'net1' takes int8"),
        ((FRONT, classifier(features=41)), "40 features of int8 .* takes 164 of int8"),
        ((FRONT, other_scale()), "needs probabilities"),
        ((FRONT, append_labels(classifier(), ["a"])), "labels.txt of 'net1' has 1 label, but"),
        (
            (FRONT, append_labels(classifier(), ["a", 'b"', "c"])),
            "line 2 of labels.txt of .*, without quotes",
        ),
    ],
)
def test_networks_that_do_not_fit_are_refused(contents: tuple[bytes, ...], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        KWS.check(networks(*contents))


def test_sound_is_cut_into_blocks_and_a_drawn_one_is_loud_and_quiet(tmp_path: Path) -> None:
    sound = np.arange(-400, 400, dtype="<i2")
    blocks = KWS.load([write_wav(tmp_path / "some.wav", sound)] * 2, [])
    assert {len(block) for block in blocks} == {KWS.item_bytes([])}
    whole = np.frombuffer(b"".join(blocks), "<i2")
    assert whole[:1600].tolist() == [*sound.tolist()] * 2 and not whole[1600:].any()
    drawn = np.frombuffer(b"".join(KWS.draw([], 1)), "<i2").reshape(-1, 3200).std(axis=1)
    assert drawn.min() < 40 and drawn.max() > 3000


def test_files_that_are_no_sound_get_a_sentence(tmp_path: Path) -> None:
    sound = np.zeros(320, "<i2")
    cases = {
        write_wav(tmp_path / "cd.wav", sound, 44100, 2): "44,100 samples a second, 2 channels and "
        "16 bits, .* convert it with: sox cd.wav -r 16000 -c 1 -b 16 mono.wav",
        write_wav(tmp_path / "none.wav", sound[:0]): "has no samples",
        tmp_path / "missing.wav": "cannot read '.*missing.wav' as a WAV file of PCM: No such file",
        tmp_path / "text.wav": "cannot read '.*text.wav' as a WAV file of PCM: file does not start",
        tmp_path / "short.wav": "the file ends early",
        write_wav(tmp_path / "long.wav", sound): "cannot read '.*long.wav' as a WAV file of PCM",
    }
    data = bytearray((tmp_path / "long.wav").read_bytes())
    data[16:20] = b"\xff\xff\xff\xff"  # the size of the first chunk
    (tmp_path / "long.wav").write_bytes(data)
    (tmp_path / "text.wav").write_text("no sound at all")
    (tmp_path / "short.wav").write_bytes(b"RIFF")
    for path, fault in cases.items():
        with pytest.raises(InputError, match=fault):
            KWS.load([path], [])
