"""Real Zephyr: the self-test when an application starts, and files of weights that change."""

import re
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow, targets
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.platforms import ZEPHYR
from ethosgen.project import open_project
from ethosgen.project.weights_file import HEADER_BYTES
from ethosgen.toolchain.sizes import Built
from ethosgen.values.errors import TargetError
from ethosgen.values.outcome import Outcome
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.recipes import recipe
from tests.support.retrained import retrained
from tests.targets.test_flipped_bits import LibraryConstant, flip

pytestmark = [needs_zephyr, needs_qemu]

DIGITS = ROOT / "demo" / "digits_int8.tflite"
SELF_TEST = "        status = ethosgen_networks_self_test();\n"
IN_SLICES = """
#include "digits_self_test.h"

static ethosgen_status in_slices(uint32_t bytes)
{
    struct ethosgen_self_test state = {0u, 0u, 0u};
    ethosgen_status status;
    uint32_t calls = 0u;

    do {
        status = digits_self_test_step(&state, bytes);
        calls++;
    } while (status == ETHOSGEN_MORE);
    if (status == ETHOSGEN_OK && calls != DIGITS_SELF_TEST_BYTES / bytes + 1u) {
        status = ETHOSGEN_WRONG_ROW;
    }
    return state.part == 0u && state.offset == 0u ? status : ETHOSGEN_BAD_VALUE;
}
"""
SLICED = f"""        const uint32_t sizes[] = {{1u, 7u, 256u, 1000000u}};
        ethosgen_status once;

{SELF_TEST.replace("status", "once", 1)}
        for (uint32_t i = 0u; i < 4u && status == ETHOSGEN_OK; i++) {{
            status = in_slices(sizes[i]);
        }}
        if (status != once) {{
            status = ETHOSGEN_BAD_BUFFER; /* whatever both say, they agree */
        }}
"""
ON_CHANGES = """
#include "digits_self_test.h"
#include "other_self_test.h"

#define COMPARED_BITS (48u * 8u)
#define HEADER_BITS (96u * 8u)

static uint8_t *slot(uint32_t network)
{
    return (uint8_t *)(uintptr_t)board_weights[network].start;
}

static void swap_files(void)
{
    size_t first = (size_t)(board_weights[0].end - board_weights[0].start);
    size_t second = (size_t)(board_weights[1].end - board_weights[1].start);

    for (size_t i = 0u; i < (first < second ? first : second); i++) {
        uint8_t byte = slot(0u)[i];

        slot(0u)[i] = slot(1u)[i];
        slot(1u)[i] = byte;
    }
}

/* What a run and the self-test say, and the same of the other network. */
static bool all_say(ethosgen_status run, ethosgen_status test)
{
    return digits_run() == run && digits_self_test() == test && other_run() == run &&
           other_self_test() == test;
}

static ethosgen_status changes(void)
{
    ethosgen_status status = ethosgen_networks_self_test();

    if (status != ETHOSGEN_OK) {
        return status;
    }
    for (uint32_t bit = 0u; bit < HEADER_BITS; bit++) {
        uint8_t mask = (uint8_t)(1u << (bit % 8u));
        bool is_compared = bit < COMPARED_BITS;
        ethosgen_status found = is_compared ? ETHOSGEN_WEIGHTS_CHANGED : ETHOSGEN_WEIGHTS_DAMAGED;

        slot(0u)[bit / 8u] ^= mask;
        if (is_compared && digits_run() != found) {
            return ETHOSGEN_WRONG_ROW;
        }
        if (digits_self_test() != found) {
            return ETHOSGEN_ROWS_MISSING;
        }
        slot(0u)[bit / 8u] ^= mask;
    }
    if (!all_say(ETHOSGEN_OK, ETHOSGEN_OK)) {
        return ETHOSGEN_BAD_VALUE;
    }
    swap_files();
    if (!all_say(ETHOSGEN_WEIGHTS_CHANGED, ETHOSGEN_WEIGHTS_CHANGED)) {
        return ETHOSGEN_TOO_MANY_ROWS;
    }
    swap_files();
    return all_say(ETHOSGEN_OK, ETHOSGEN_OK) ? ETHOSGEN_OK : ETHOSGEN_BAD_BUFFER;
}
"""


def built(place: Path, more: str, call: str, *networks: Path, apart: bool = False) -> Built:
    """Build an application whose start calls C of its own in place of the self-test."""
    names = ("digits", "other")[: len(networks)]
    wanted = recipe(*networks, names=names, platform=ZEPHYR, apart=apart)
    flow.create_project(wanted, directory=place, watch=Watch())
    main = place / "src" / "main.c"
    text = main.read_text()
    assert text.count(SELF_TEST) == text.count("static ethosgen_status init(void)") == 1
    text = text.replace(SELF_TEST, call)
    text = text.replace(
        "static ethosgen_status init(void)", f"{more}\nstatic ethosgen_status init(void)"
    )
    main.write_text(text)
    return flow.build_project(place, self_test=True, watch=Watch())


def started(elf: Path, place: Path) -> Outcome:
    """Start a firmware, and run a sample; TargetError if it refuses to start."""
    info = open_project(place)
    zeros = {t.name: np.zeros(t.shape, t.dtype) for t in info.networks[0].inputs}
    return targets.run(elf, info, [zeros], attach=flow.attach_model(find_accelerator(info.npu)))


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a project with the weights in the code, and its firmware."""
    place = tmp_path_factory.mktemp("inside") / "p"
    return place, built(place, IN_SLICES, SLICED, DIGITS).elf


def with_other_golden(elf: Path, place: Path) -> bytes:
    """Return a firmware whose code compares the output with another CRC-32."""
    source = (place / "model" / "digits_self_test.c").read_text()
    (crc,) = re.findall(r"GOLDEN_CRC 0x(\w+)u", source)
    word = int(crc, 16).to_bytes(4, "little")
    data = elf.read_bytes()
    assert data.count(word) == 1
    return data.replace(word, (int(crc, 16) ^ 1).to_bytes(4, "little"))


def test_an_intact_application_starts(inside: tuple[Path, Path]) -> None:
    place, elf = inside
    assert len(started(elf, place).samples) == 1


@pytest.mark.parametrize(
    ("symbol", "status"),
    [
        ("digits_weights", "SELF_TEST_WEIGHTS: weights or other constants in memory are not as"),
        ("digits_commands_0", "SELF_TEST_COMMANDS: the NPU's commands in memory are not as"),
        ("digits_npu_streams", "SELF_TEST_COMMANDS: the NPU's commands in memory are not as"),
        ("golden", "SELF_TEST_OUTPUT: an inference of the known input does not give"),
    ],
)
def test_one_wrong_bit_is_found_at_once_and_in_slices(
    inside: tuple[Path, Path], symbol: str, status: str, tmp_path: Path
) -> None:
    place, elf = inside
    wrong = tmp_path / "wrong.elf"
    if symbol == "golden":
        wrong.write_bytes(with_other_golden(elf, place))
    else:
        flip(elf, LibraryConstant(symbol, 16), wrong)
        assert wrong.read_bytes() != elf.read_bytes()
    with pytest.raises(TargetError, match=f"could not start: ETHOSGEN_{status}"):
        started(wrong, place)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a project of two networks with weights apart from the code, and its firmware."""
    folder = tmp_path_factory.mktemp("apart")
    other = folder / "other.tflite"
    other.write_bytes(retrained(DIGITS.read_bytes()))
    place = folder / "p"
    call = "        status = changes();\n"
    return place, built(place, ON_CHANGES, call, DIGITS, other, apart=True).elf


def test_files_that_change_after_the_start_are_refused(apart: tuple[Path, Path]) -> None:
    """The application changes each bit of a header in turn, and swaps the two networks' files."""
    place, elf = apart
    assert len(started(elf, place).samples) == 1


def resealed(data: bytearray) -> bytes:
    """Return a file with the right CRC-32 of its header."""
    data[8:12] = zlib.crc32(data[:8] + data[12:HEADER_BYTES]).to_bytes(4, "little")
    return bytes(data)


def other_golden(data: bytes) -> bytes:
    """Return a file with another golden output."""
    return resealed(bytearray(data[:28] + bytes([data[28] ^ 1]) + data[29:]))


def altered(data: bytes) -> bytes:
    """Return a file whose header has another digest, and the old CRC-32."""
    return data[:32] + bytes([data[32] ^ 1]) + data[33:]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (other_golden, "SELF_TEST_OUTPUT"),
        (altered, "WEIGHTS_DAMAGED"),
        (None, "WEIGHTS_OTHER_NETWORK"),
    ],
    ids=["golden", "altered", "swapped"],
)
def test_a_wrong_file_is_refused_at_the_start(
    apart: tuple[Path, Path], change: Callable[[bytes], bytes] | None, status: str
) -> None:
    place, elf = apart
    first, second = (info.weights.file for info in open_project(place).networks if info.weights)
    right = first.read_bytes()
    try:
        first.write_bytes(change(right) if change else second.read_bytes())
        with pytest.raises(TargetError, match=f"could not start: ETHOSGEN_{status}"):
            started(elf, place)
    finally:
        first.write_bytes(right)
