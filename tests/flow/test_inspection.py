"""Disassembly and traces as the command line asks for them."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.backend.trace import Entry
from ethosgen.flow.inspection import list_streams, make_trace, trace_lines, trace_objects
from ethosgen.frontend import read
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.watch import Watch
from tests.support.assembling import assemble
from tests.support.command_line import ethosgen
from tests.support.small_models import image_net

STREAM = assemble([("NPU_SET_OFM_REGION", {"region": 1}), ("NPU_OP_STOP", {"mask": 0xFFFF})])
CONFIG_U65_256 = find_accelerator("ethos-u65-256").config_word


def cop1(config_word: int) -> bytes:
    words = (0x00100001, config_word, 0x10066001, 5, 5, 5, 2 | len(STREAM) // 4 << 16)
    return b"COP1" + struct.pack("<7I", *words) + STREAM


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_net(tmp_path_factory.mktemp("models") / "net.tflite")


@pytest.fixture(scope="module")
def compiled(network: Path) -> Path:
    """The same network as Vela's own command line compiles it."""
    vela = Path(sys.executable).with_name("vela")
    options = ["--accelerator-config", "ethos-u65-256", "--output-dir", network.parent]
    subprocess.run([vela, network, *options], check=True, capture_output=True)
    return network.parent / "net_vela.tflite"


# ---- disassembly ---------------------------------------------------------------------------------


def test_the_raw_output_of_vela_is_read(network: Path, tmp_path: Path) -> None:
    vela = Path(sys.executable).with_name("vela")
    options = ["--output-format", "raw", "--accelerator-config", "ethos-u65-512"]
    command = [vela, network, *options, "--output-dir", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    (raw,) = tmp_path.glob("*.npz")
    (listing,) = list_streams(raw, None, Watch())
    assert listing.accelerator.name == "ethos-u65-512"
    assert [line.command for line in listing.lines][-1] == "NPU_OP_STOP"


def test_an_npz_of_another_kind_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", image=np.zeros(3))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "mine.npz").read_bytes()[:40])
    np.savez_compressed(tmp_path / "packed.npz", cmd_data=np.arange(99))
    damaged = bytearray((tmp_path / "packed.npz").read_bytes())
    damaged[80:90] = b"\xff" * 10  # in what is packed
    (tmp_path / "damaged.npz").write_bytes(damaged)
    for name in ("mine", "cut", "damaged"):
        with pytest.raises(InputError, match=f"{name}.npz' has no command stream; disasm reads"):
            list_streams(tmp_path / f"{name}.npz", None, Watch())


def test_a_network_is_compiled_first(network: Path) -> None:
    (listing,) = list_streams(network, "ethos-u55-64", Watch())
    (partition,) = offload(read(network), find_accelerator("ethos-u55-64")).partitions
    assert (listing.name, listing.accelerator.name) == ("partition_0", "ethos-u55-64")
    assert listing.size_bytes == len(stream_of(partition).commands)
    lines = list(listing.lines)
    assert lines[-1].command == "NPU_OP_STOP"
    assert any(line.summary.startswith("CONV ") for line in lines)


def test_a_compiled_network_is_shown_as_it_is(compiled: Path) -> None:
    (listing,) = list_streams(compiled, None, Watch())
    assert listing.accelerator.name == "ethos-u65-256"
    assert list(listing.lines)[-1].command == "NPU_OP_STOP"


def test_a_bare_stream_may_have_a_header(tmp_path: Path) -> None:
    path = tmp_path / "commands.bin"
    for data, npu in ((STREAM, "ethos-u55-128"), (cop1(CONFIG_U65_256), "ethos-u65-256")):
        path.write_bytes(data)
        (listing,) = list_streams(path, None, Watch())
        assert listing.accelerator.name == npu
        assert [line.command for line in listing.lines] == ["NPU_SET_OFM_REGION", "NPU_OP_STOP"]
    path.write_bytes(STREAM)
    assert list_streams(path, "ethos-u65-512", Watch())[0].accelerator.name == "ethos-u65-512"


@pytest.mark.parametrize("data", [b"", b"hello, world", STREAM[:6], b"COP1\2\0\xff\0"])
def test_what_is_no_stream_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "junk.bin"
    path.write_bytes(data)
    with pytest.raises(InputError):
        list_streams(path, None, Watch())


def test_a_header_for_an_unknown_npu_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "commands.bin"
    path.write_bytes(cop1(0x3000_1808))
    with pytest.raises(
        UnsupportedError, match=r"'commands.bin' is compiled for an unknown NPU \(product 3"
    ):
        list_streams(path, None, Watch())


def test_a_file_for_one_npu_is_not_shown_as_for_another(tmp_path: Path, compiled: Path) -> None:
    """Shapes and addresses in SHRAM would be told for the wrong one."""
    header = tmp_path / "commands.bin"
    header.write_bytes(cop1(CONFIG_U65_256))
    for path in (compiled, header):
        assert list_streams(path, "ethos-u65-256", Watch())
        says = f"'{path.name}' is compiled for ethos-u65-256, not for ethos-u65-512; omit --npu"
        with pytest.raises(UnsupportedError, match=says):
            list_streams(path, "ethos-u65-512", Watch())


@pytest.mark.slow
def test_disasm_on_the_command_line(tmp_path: Path, compiled: Path) -> None:
    text = ethosgen("disasm", compiled)
    assert text.returncode == 0, text.stderr
    assert text.stdout.startswith("; partition_0: ")
    answer = json.loads(ethosgen("disasm", compiled, "--json").stdout)
    assert answer[0]["npu"] == "ethos-u65-256"
    assert answer[0]["commands"][-1] == {
        "offset": answer[0]["bytes"] - 4,
        "command": "NPU_OP_STOP",
        "fields": {"mask": 0xFFFF},
    }
    path = tmp_path / "cut.bin"
    path.write_bytes(STREAM[:-4])
    cut = ethosgen("disasm", path)
    assert cut.returncode == 6
    assert "NPU_SET_OFM_REGION" in cut.stdout
    assert cut.stderr.startswith("ethosgen: NPU fault") and "Traceback" not in cut.stderr


# ---- trace ---------------------------------------------------------------------------------------

ENTRY = Entry(0, "partition_0", 3, 0x40, "CONV", 12, {"0": 8, "1": 4}, {"1": 2}, 0xABC, 0.001)


def test_times_are_the_last_column_or_none() -> None:
    with_times, without = list(trace_lines([ENTRY], True)), list(trace_lines([ENTRY], False))
    assert with_times[0] == without[0] == "sample 0, partition_0"
    assert with_times[1].split()[-1] == "ms" and with_times[2].endswith("1.00")
    assert without[2].split() == ["3", "0x000040", "CONV", "12", "0:8", "1:4", "1:2", "00000abc"]
    assert with_times[2].startswith(without[2])


def test_objects_can_do_without_times_too() -> None:
    (listed,) = trace_objects([ENTRY], False)
    assert "seconds" not in listed and listed["read"] == {"0": 8, "1": 4}
    assert trace_objects([ENTRY], True)[0]["seconds"] == 0.001


@pytest.mark.parametrize("text", ["conv.npz", "3=conv.txt", "x=conv.npz", "3", "-1.npz", "=a.npz"])
def test_a_dump_needs_a_number_and_a_file(text: str) -> None:
    with pytest.raises(InputError, match="does not name an operation and a file"):
        make_trace([text])


@pytest.mark.slow
def test_two_runs_give_one_trace_and_dumps_are_kept(network: Path, tmp_path: Path) -> None:
    kept = tmp_path / "2.npz"
    options = ("simulate", network, "--trace", "--no-times", "--dump", kept)
    first, second = ethosgen(*options), ethosgen(*options, "--dump", f"0={tmp_path / 'x.npz'}")
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "checksum" in first.stdout and "\nPASS  " in first.stdout
    with np.load(kept) as arrays:
        assert "operation" in arrays
    assert (tmp_path / "x.npz").is_file()


@pytest.mark.slow
def test_json_has_the_trace(network: Path) -> None:
    answer: Any = json.loads(ethosgen("simulate", network, "--trace", "--json").stdout)
    assert answer["trace"][0]["number"] == 0
    assert answer["passed"] is True


# ---- files that are compiled already -------------------------------------------------------------


def test_simulate_says_that_a_compiled_file_has_no_golden_answer(compiled: Path) -> None:
    done = ethosgen("simulate", compiled)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("NOT COMPARED  ")
    assert "pass it with --golden" in done.stdout
    answer = json.loads(ethosgen("simulate", compiled, "--json").stdout)
    assert (answer["passed"], answer["verdict"]) == (False, "NOT COMPARED")
    assert answer["mismatches"] is None and answer["oracles"] == {}


@pytest.mark.slow
def test_the_original_judges_a_compiled_file(compiled: Path, network: Path) -> None:
    done = ethosgen("simulate", compiled, "--golden", network, "--samples", 3)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PASS  ")
    for wrong, says in ((compiled, "is compiled too"), (compiled.parent / "no", "cannot read")):
        refused = ethosgen("simulate", compiled, "--golden", wrong)
        assert refused.returncode == 2 and says in refused.stderr


@pytest.mark.slow
def test_a_compiled_file_becomes_a_project_for_its_own_npu(compiled: Path, tmp_path: Path) -> None:
    place = tmp_path / "fw"
    options = (compiled, "--board", "corstone300", "-o", place)
    done = ethosgen("project", *options)
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"NPU       ethos-u65-256: \d+ operations of the NPU in 1 partition", done.stdout
    )
    assert (place / "model" / "net_vela.h").is_file()
    for more, says in (
        (["--npu", "ethos-u55-128"], "is compiled for ethos-u65-256, not for ethos-u55-128"),
        (["--io", "caller"], "use --io arena"),
    ):
        refused = ethosgen("project", *options, *more)
        assert refused.returncode == 2 and says in refused.stderr
