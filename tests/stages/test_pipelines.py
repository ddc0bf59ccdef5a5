"""Pipelines on QEMU: equal outputs, and every fault of an element reported with its name."""

import json
import os
import shutil
import signal
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.board import load_board
from ethosgen.board.system import uniform_system
from ethosgen.cli import cli
from ethosgen.flow.planning import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.stages.frames import whole_bytes, windows
from ethosgen.stages.report import PipelineReport
from ethosgen.systems.elements import (
    Rig,
    build_pipeline,
    members_of,
    open_pipeline,
    run_pipeline,
)
from ethosgen.systems.staging import create_pipeline
from ethosgen.targets.elements import Elements
from ethosgen.values.errors import TargetError
from ethosgen.values.handover import END_BYTES, HEADER_BYTES
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import HOST
from ethosgen.verdict.judgement import Criteria, Inputs
from tests import ROOT
from tests.support.catalogue.recurrent import lstm
from tests.support.needs import needs_build, needs_models, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.small_models import SHARED_MODELS

pytestmark = [needs_qemu, needs_build]

DIGITS = ROOT / "demo" / "digits_int8.tflite"
TIMEOUT_S = 4.0


def make(
    path: Path,
    network: Path,
    stages: int,
    link: str = "serial",
    npu: str | None = None,
    cuts: Sequence[int] | None = None,
) -> Path:
    system = uniform_system(load_board("corstone300"), npu, None, stages, link)  # type: ignore[arg-type]
    create_pipeline(read(network, None, Watch()), system, EXACT, path, Watch(), cuts)
    build_pipeline(path, Watch())
    return path


def run(path: Path, samples: int = 6) -> PipelineReport:
    return run_pipeline(path, Inputs(None, samples, 0), Criteria(), None, Watch())


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("pipeline") / "three", DIGITS, 3)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("pipeline") / "shared", DIGITS, 2, "shared")


def test_three_elements_equal_the_oracle(three: Path) -> None:
    done = CliRunner().invoke(cli, ["run", str(three), "--samples", "12", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["verdict"] == "PASS"
    assert (said["mismatches"], said["samples"]) == (0, 12)
    assert [element["name"] for element in said["elements"]] == ["stage_0", "stage_1", "stage_2"]
    slowest = max(element["cycles"] for element in said["elements"])
    assert said["interval_cycles"] == slowest
    assert said["latency_cycles"] == pytest.approx(sum(o["cycles"] for o in said["elements"]), 0.01)
    assert said["one_element_cycles"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("stages", "link"), [(2, "serial"), (8, "serial"), (8, "shared")])
def test_two_and_eight_elements_equal_the_oracle(tmp_path: Path, stages: int, link: str) -> None:
    report = run(make(tmp_path / "p", DIGITS, stages, link))
    assert report.verdict == "PASS"
    assert len(report.elements) == stages


@pytest.mark.slow
@needs_models
def test_three_processors_have_more_throughput_than_one(tmp_path: Path) -> None:
    network = SHARED_MODELS / "kws_dscnn_int8.tflite"
    report = run(make(tmp_path / "p", network, 3, "shared", "none"), 4)
    assert report.verdict == "PASS"
    assert report.alone is not None
    assert report.interval < 0.45 * report.alone
    assert report.latency < 1.1 * report.alone


@pytest.mark.slow
@pytest.mark.parametrize("link", ["serial", "shared"])
def test_tensors_that_pass_through_and_a_state(tmp_path: Path, link: str) -> None:
    net = NetworkBuilder("keeps", seed=3)
    late = net.input((1, 1, 6), name="late", scale=0.02)
    x = net.fully_connected(net.input((1, 12), name="early"), 8)
    x = lstm(net, net.reshape(x, (1, 1, 8)), 6)
    total = net.add(x, late)
    file = tmp_path / "keeps.tflite"
    file.write_bytes(net.build(net.relu(total), x))
    report = run(make(tmp_path / "p", file, 3, link), 8)
    assert report.verdict == "PASS"


def other_weights(path: Path) -> Path:
    """Write the digits with one weight changed."""
    network = parse_network(DIGITS.read_bytes(), "digits_int8")
    tensors = list(network.graph.tensors)
    index = next(op.inputs[1] for op in network.graph.operators if op.code == "CONV_2D")
    data = bytearray(tensors[index].data or b"")
    data[0] ^= 1
    tensors[index] = replace(tensors[index], data=bytes(data))
    path.write_bytes(file_of(network.edited(replace(network.graph, tensors=tuple(tensors)))))
    return path


def with_elements_of(pipeline: Path, other: Path, numbers: Sequence[int], to: Path) -> Path:
    """Copy a pipeline, with some elements of another one."""
    shutil.copytree(pipeline, to)
    for number in numbers:
        shutil.rmtree(to / f"stage_{number}")
        shutil.copytree(other / f"stage_{number}", to / f"stage_{number}")
    return to


@pytest.mark.slow
@pytest.mark.parametrize("link", ["serial", "shared"])
@pytest.mark.parametrize("kind", ["weights", "cuts"])
def test_an_element_of_another_network_is_named(tmp_path: Path, link: str, kind: str) -> None:
    mine = make(tmp_path / "mine", DIGITS, 3, link)
    if kind == "weights":
        (tmp_path / "other").mkdir()
        network = other_weights(tmp_path / "other" / DIGITS.name)
        other = make(tmp_path / "theirs", network, 3, link)
    else:
        old = open_pipeline(mine, Watch()).manifest.boundaries
        cuts = (0, old[1], old[2] + 1, old[3])
        other = make(tmp_path / "theirs", DIGITS, 3, link, cuts=cuts)
    for number, wrong in enumerate([(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]):
        mixed = with_elements_of(mine, other, wrong, tmp_path / f"mixed_{number}")
        words = f"^element 'stage_{wrong[0]}' was built from another network .* build it$"
        with pytest.raises(TargetError, match=words):
            run(mixed)


# ---- faults -----------------------------------------------------------------------------------


def run_with_fault(
    path: Path,
    act: Callable[[int, Elements], None] = lambda _done, _elements: None,
    tap: Callable[[int, bytes], bytes] | None = None,
    samples: int = 6,
) -> list[list[bytes] | None]:
    """Run samples; `act` is called after each output, `tap` changes what lines carry."""
    opened = open_pipeline(path, Watch())
    wiring, manifest = opened.wiring, opened.manifest
    rooms = windows(wiring, manifest.window[0]) if manifest.window else []
    sizes = [wiring.edges[edge].bytes for edge in wiring.edges_behind(HOST)]
    frames = [[bytes([n] * size) for size in sizes] for n in range(samples)]
    with Elements(
        members_of(opened), wiring, opened.identity, rooms, tap=tap, timeout_s=TIMEOUT_S
    ) as elements:
        outputs = elements.run(frames, lambda done: act(done, elements))
        elements.finish(samples)
    return outputs


def signal_after(
    number: int, element: int, what: signal.Signals
) -> Callable[[int, Elements], None]:
    def act(done: int, elements: Elements) -> None:
        process = elements.targets[element]._process
        if done == number and process is not None:
            os.kill(process.pid, what)

    return act


class Cut:
    """Leaves out, or changes, some bytes of a line: those of a frame, counted from 0."""

    def __init__(self, line: int, start: int, stop: int, change: int | None = None) -> None:
        self._line, self._start, self._stop, self._change = line, start, stop, change
        self._seen = 0

    def __call__(self, line: int, data: bytes) -> bytes:
        if line != self._line:
            return data
        kept = bytearray()
        for byte in data:
            inside = self._start <= self._seen < self._stop
            self._seen += 1
            if not inside:
                kept.append(byte)
            elif self._change is not None:
                kept.append(byte ^ self._change)
        return bytes(kept)


def frame_of(path: Path, line: int) -> int:
    opened = open_pipeline(path, Watch())
    return whole_bytes(opened.wiring.edges[opened.wiring.lines[line].edge].bytes)


@pytest.mark.parametrize("element", [0, 1, 2])
def test_an_element_that_dies_is_named(three: Path, element: int) -> None:
    with pytest.raises(TargetError, match=f"element 'stage_{element}': QEMU ended early"):
        run_with_fault(three, signal_after(2, element, signal.SIGKILL), samples=12)


@pytest.mark.parametrize("element", [0, 1, 2])
def test_an_element_that_dies_at_the_end_is_named(three: Path, element: int) -> None:
    with pytest.raises(TargetError, match=f"^element 'stage_{element}': QEMU ended early"):
        run_with_fault(three, signal_after(6, element, signal.SIGKILL))


@pytest.mark.parametrize("element", [0, 1, 2])
def test_an_element_that_hangs_is_named(three: Path, element: int) -> None:
    with pytest.raises(TargetError, match=f"element 'stage_{element}' hangs: .* for 4 s"):
        run_with_fault(three, signal_after(1, element, signal.SIGSTOP), samples=12)


def test_a_hung_element_is_named_with_shared_memory(shared: Path) -> None:
    with pytest.raises(TargetError, match="element 'stage_1' hangs"):
        run_with_fault(shared, signal_after(1, 1, signal.SIGSTOP), samples=12)


@pytest.mark.parametrize(
    ("line", "who"),
    [
        (0, "the line from the host"),
        (1, "element 'stage_0', or the line behind it,"),
        (2, "element 'stage_1', or the line behind it,"),
        (3, "element 'stage_2', or its line to the host,"),
    ],
)
def test_a_dropped_frame_names_the_element_before(three: Path, line: int, who: str) -> None:
    size = frame_of(three, line)
    with pytest.raises(TargetError) as caught:
        run_with_fault(three, tap=Cut(line, 2 * size, 3 * size))
    assert str(caught.value).startswith(f"{who} dropped frame 2: frame 3 arrived")


@pytest.mark.parametrize("line", [1, 3])
def test_a_last_frame_that_never_comes_is_noticed(three: Path, line: int) -> None:
    size = frame_of(three, line)
    with pytest.raises(
        TargetError, match=f"element 'stage_{line - 1}' dropped frame 5: it did not"
    ):
        run_with_fault(three, tap=Cut(line, 5 * size, 6 * size))


@pytest.mark.parametrize("at", [0, HEADER_BYTES + 3, -1])
@pytest.mark.parametrize("line", [0, 1, 2, 3])
def test_a_damaged_frame_is_never_answered(three: Path, line: int, at: int) -> None:
    size = frame_of(three, line)
    start = size + at % size  # the second frame
    names = ["the line from the host", *(f"element 'stage_{n}'" for n in range(3))]
    with pytest.raises(TargetError, match=f"^{names[line]}.* damaged frame 1"):
        run_with_fault(three, tap=Cut(line, start, start + 1, 0x40))


@pytest.mark.parametrize("line", [1, 3])
def test_a_lost_byte_is_never_answered(three: Path, line: int) -> None:
    size = frame_of(three, line)
    with pytest.raises(
        TargetError, match=f"element 'stage_{line - 1}'.* (damaged|dropped) frame 1"
    ):
        run_with_fault(three, tap=Cut(line, size + HEADER_BYTES, size + HEADER_BYTES + 1))


class Flip:
    """Flips a bit of some frames' tensors on a line, and mends the CRC: a wrong answer."""

    def __init__(self, line: int, size: int, frames: Sequence[int]) -> None:
        self._line, self._size, self._frames, self._seen = line, size, frames, 0
        change = bytearray(size - END_BYTES)
        change[HEADER_BYTES + 1] = 0x08
        crc = zlib.crc32(change) ^ zlib.crc32(bytes(len(change)))
        self._change = bytes(change) + crc.to_bytes(END_BYTES, "little")

    def __call__(self, line: int, data: bytes) -> bytes:
        if line != self._line:
            return data
        changed = bytearray(data)
        for n in range(len(data)):
            frame, at = divmod(self._seen + n, self._size)
            if frame in self._frames:
                changed[n] ^= self._change[at]
        self._seen += len(data)
        return bytes(changed)


@pytest.mark.parametrize("line", [1, 3])
def test_an_element_that_answers_wrongly_is_named(three: Path, line: int) -> None:
    tap = Flip(line, frame_of(three, line), [1, 3])  # the second run begins with frame 2
    report = run_pipeline(three, Inputs(None, 2, 0), Criteria(), None, Watch(), Rig(tap=tap))
    assert report.verdict == "FAIL"
    assert report.suspect is not None and report.suspect.difference is not None
    assert report.suspect.element == f"stage_{line - 1}"
    assert report.suspect.difference.sample == 1
    said = report.as_json()["diagnosis"]
    assert said["element"] == f"stage_{line - 1}"
    assert abs(said["difference"]["got"] - said["difference"]["expected"]) == 8


def test_a_fault_that_does_not_repeat_blames_nobody(three: Path) -> None:
    tap = Flip(3, frame_of(three, 3), [1])
    report = run_pipeline(three, Inputs(None, 2, 0), Criteria(), None, Watch(), Rig(tap=tap))
    assert report.verdict == "FAIL"
    assert report.suspect is not None and report.suspect.element is None
    assert "the fault does not repeat" in report.findings["element"]


def test_frames_in_shared_memory_are_recorded(shared: Path) -> None:
    opened = open_pipeline(shared, Watch())
    wiring = opened.wiring
    rooms = windows(wiring, opened.manifest.window[0])  # type: ignore[index]
    frames = [[bytes([n] * wiring.edges[0].bytes)] for n in range(6)]
    with Elements(
        members_of(opened), wiring, opened.identity, rooms, is_recording=True
    ) as elements:
        outputs = elements.run(frames)
        elements.finish(len(frames))
    first, _, last = ([[data] for data in kept.frames] for kept in elements.recorders)
    assert (first, last) == (frames, outputs)


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_lost_doorbell_is_noticed(shared: Path, line: int) -> None:
    who = "the line from the host" if line == 0 else f"element 'stage_{line - 1}'"
    with pytest.raises(TargetError, match=f"^{who}.* dropped frame 1"):
        run_with_fault(shared, tap=Cut(line, 1, 2))


def test_the_right_outputs_come_out_without_a_fault(three: Path) -> None:
    assert len(run_with_fault(three, tap=lambda _line, data: data)) == 6
