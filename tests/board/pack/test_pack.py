"""boards from-pack: what a device's pack says, from a real index on loopback, and every fault."""

import socket
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.board.pack import start_from_pack
from ethosgen.cli import cli
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.watch import Watch
from tests.support.needs import needs_packs
from tests.support.pack_files import (
    ENSEMBLE,
    SMALL,
    TWO_CORES,
    description,
    serving,
    write_index,
    write_pack,
)
from tests.support.recipes import recipe

CUT_AT = "<device Dname="


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an index of four packs, the last of them cut off before its devices."""
    folder = tmp_path_factory.mktemp("packs")
    cut = description("Cut", "Off", ENSEMBLE.replace("AE722F", "CUT9"))
    packs = {
        ("AlifSemiconductor", "Ensemble"): description("AlifSemiconductor", "Ensemble", ENSEMBLE),
        ("Pair", "Two_DFP"): description("Pair", "Two_DFP", TWO_CORES),
        ("Other", "Small_DFP"): description("Other", "Small_DFP", SMALL),
        ("Cut", "Off"): cut[: cut.index(CUT_AT)],
        ("Cut", "Later"): cut[: cut.index("</subFamily>")].replace("CUT9", "LATE9"),
    }
    with serving(folder) as address:
        write_index(folder, packs, address)
        yield f"{address}/index.pidx"


def facts_of(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


@needs_packs
def test_a_board_file_has_what_the_pack_says(tmp_path: Path, index: str) -> None:
    path = tmp_path / "e7.toml"
    device = "Alif Semiconductor::AE722F80:M55_HP"
    assert start_from_pack(device, index=index, output=path) == path
    facts = facts_of(path)
    assert facts["cpu"] == {
        "core": "cortex-m55",
        "mve": True,
        "icache": "?",
        "dcache": "?",
        "fpu": "double",
        "clock_hz": 400_000_000,
    }
    assert facts["npu"]["configurations"] == ["ethos-u55-256"]
    assert (facts["npu"]["base_addr"], facts["npu"]["irq"]) == ("?", "?")
    assert facts["memories"] == {
        "mram": memory(0x80000000, 0x580000, "flash", "rx", npu_port="?"),
        "sram0": memory(0x02000000, 0x200000, "sram", "rwx", npu_port="?"),  # the device's own
        "itcm": memory(0x00000000, 0x40000, "tcm", "rwx"),
        # SRAM3 is what the rest of the chip calls it; SRAM5 is the other core's.
        "dtcm": {**memory(0x20000000, 0x100000, "tcm", "rwx"), "npu_start_addr": 0x50800000},
    }
    assert facts["cmsis"] == {
        "device": "Alif Semiconductor::AE722F80",
        "packs": ["AlifSemiconductor::Ensemble@1.2.0"],
    }
    assert "Flash algorithm flash/MRAM.FLM for 0x80000000 to 0x8057ffff" in facts["notes"]
    assert facts["flash"]["pyocd"]["command"][:4] == ["pyocd", "flash", "--target", "ae722f80"]


def memory(start: int, size: int, kind: str, access: str, **more: str) -> dict[str, Any]:
    return {"start_addr": start, "size_bytes": size, "kind": kind, "access": access, **more}


@needs_packs
def test_a_pack_that_cmsis_pack_manager_gives_up(
    tmp_path: Path, index: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its fault with two parent processors: the pack's devices are not in its database at all."""
    path = tmp_path / "pair.toml"
    start_from_pack("PAIR100:HP", index=index, output=path)
    assert "cmsis-pack-manager cannot read Pair::Two_DFP@1.2.0" in caplog.text
    facts = facts_of(path)
    assert facts["cpu"]["core"] == "cortex-m85"
    assert facts["cpu"]["clock_hz"] == 800_000_000
    assert facts["npu"]["default"] == "ethos-u55-128"
    assert facts["cmsis"]["device"] == "Pair Inc::PAIR100:HP"
    assert "sram_s" in facts["memories"], "one alias of each memory, the secure one"
    assert "sram_ns" not in facts["memories"]
    assert facts["memories"]["iram1"]["kind"] == "?", "TCM or SRAM: the pack does not tell"


@pytest.mark.slow
@needs_packs
def test_a_pack_that_cmsis_pack_manager_does_not_survive(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """cmsis-pack-manager crashes with SIGSEGV on a release without text."""
    with serving(tmp_path) as address:
        write_index(tmp_path, {("V", "P"): description("V", "P", ENSEMBLE, news="")}, address)
        path = tmp_path / "e.toml"
        start_from_pack("AE722F40", index=f"{address}/index.pidx", output=path)
    assert "crashed on the descriptions" in caplog.text
    assert facts_of(path)["cmsis"]["packs"] == ["V::P@1.2.0"]


def test_a_core_without_a_floating_point_unit(tmp_path: Path) -> None:
    pack = tmp_path / "p.pdsc"
    pack.write_text(description("Pair", "Two_DFP", TWO_CORES))
    facts = facts_of(start_from_pack("PAIR100:HE", pack=pack, output=tmp_path / "he.toml"))
    assert facts["cpu"] == {"core": "cortex-m33", "fpu": "none", "clock_hz": "?"}
    assert facts["npu"]["default"] == "?"
    assert facts["npu"]["secure"] is False


def test_a_file_with_a_space_in_its_name_is_quoted_in_what_to_type_next(tmp_path: Path) -> None:
    pack, file = tmp_path / "p.pdsc", tmp_path / "my board.toml"
    pack.write_text(description("Pair", "Two_DFP", TWO_CORES))
    command = ["boards", "from-pack", "PAIR100:HE", "--pack", str(pack), "-o", str(file)]
    done = CliRunner().invoke(cli, command)
    assert f"ethosgen boards show '{file}'" in done.stderr
    assert "ethosgen boards show './my board.toml'" in file.read_text()


@needs_packs
@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("AE722F8", r"pack index '.*' has no device 'AE722F8'; similar names: AE722F40, AE"),
        ("CUT9A", r"it may be in one of these truncated files: .*Cut\.Off\.1\.2\.0\.pdsc"),
        ("LATE940", r"pack description '.*Cut\.Later.*' is damaged \(no element found: line 2\d"),
        (
            "AE722F80",
            r"several packs have .*'AE722F80': .*Other Corp::AE722F80 in Other::Small_DFP",
        ),
        ("PAIR100", r"'PAIR100' has several cores; name one after a colon, as in PAIR100:HP; it"),
        ("PAIR100:M7", r"'PAIR100' has no supported core 'M7'"),
        (
            "SMALL4",
            r"'SMALL4' has no core that ethosgen supports .*; its cores: unnamed \(Cort",
        ),
        ("A::B::C", r"'A::B::C' names no device; write it as \[VENDOR::\]DEVICE\[:CORE\]"),
    ],
)
def test_what_cannot_be_found_is_told(
    tmp_path: Path, index: str, device: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        start_from_pack(device, index=index, output=tmp_path / "x.toml")
    assert not list(tmp_path.iterdir())


def test_a_pack_file_needs_no_network(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "a.pack", description("V", "P", ENSEMBLE))
    path = start_from_pack("ae722f40", pack=pack, output=tmp_path / "e.toml")
    assert facts_of(path)["memories"]["sram0"]["size_bytes"] == 0x400000
    with pytest.raises(
        InputError, match=r"'.*a.pack' has no device 'AE7'; similar names: AE722F40"
    ):
        start_from_pack("AE7", pack=pack)
    (tmp_path / "bad.pack").write_bytes(pack.read_bytes()[:100])
    with pytest.raises(InputError, match="is not a CMSIS pack"):
        start_from_pack("AE722F40", pack=tmp_path / "bad.pack")
    with pytest.raises(InputError, match="cannot read pack"):
        start_from_pack("AE722F40", pack=tmp_path / "none.pdsc")


def test_a_wrong_name_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    for name, says in (("mine.txt", r"must end in \.toml"), ("mine.toml", "exists")):
        with pytest.raises(InputError, match=says):
            start_from_pack("X", index="http://127.0.0.1:1/none", output=tmp_path / name)


def test_a_damaged_pack_is_told(tmp_path: Path) -> None:
    text = description("Pair", "Two_DFP", TWO_CORES)
    cut = tmp_path / "cut.pack"
    with zipfile.ZipFile(cut, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("Two.pdsc", text)
    data = bytearray(cut.read_bytes())
    data[38:48] = b"\xff" * 10  # behind the local header of 30 bytes and the name: no deflate
    cut.write_bytes(data)
    with pytest.raises(InputError, match=r"'.*cut\.pack' is not a CMSIS pack"):
        start_from_pack("PAIR100", pack=cut)
    for encoding in ("klingon", "utf-32"):
        odd = tmp_path / "odd.pdsc"
        odd.write_text(text.replace("UTF-8", encoding))
        with pytest.raises(InputError, match=r"'.*odd\.pdsc' is damaged \(.*encoding"):
            start_from_pack("PAIR100", pack=odd)


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "a.pack", description("V", "P", ENSEMBLE))
    (tmp_path / "mine.toml").write_text("mine")
    with pytest.raises(InputError, match=r"'.*mine.toml' exists; name another with -o"):
        start_from_pack("AE722F40", pack=pack, output=tmp_path / "mine.toml")
    assert (tmp_path / "mine.toml").read_text() == "mine"


@needs_packs
def test_without_a_network_it_ends_with_a_sentence() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/index.pidx"
        with pytest.raises(InputError, match=r"cannot be fetched.* name it with --pack FILE"):
            start_from_pack("AE722F40", index=address)
    with pytest.raises(InputError, match=r"'index.pidx' is not the address of a pack index"):
        start_from_pack("AE722F40", index="index.pidx")


@pytest.mark.slow
@needs_packs
def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/index.pidx"
        began = time.monotonic()
        with pytest.raises(InputError, match="was not fetched within 1 s"):
            start_from_pack("AE722F40", index=address, limit_s=1)
        assert time.monotonic() - began < 60


def test_without_cmsis_pack_manager_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cmsis_pack_manager.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'cmsis_pack_manager'\")"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ToolError, match=r"needs cmsis-pack-manager; .*\[packs\]'"):
        start_from_pack("AE722F40", index="http://127.0.0.1:9/index.pidx")


def test_blanks_are_asked_for_and_then_it_is_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pack = write_pack(Path("a.pack"), description("V", "P", ENSEMBLE))
    done = CliRunner().invoke(cli, ["boards", "from-pack", "AE722F40", "--pack", str(pack)])
    assert (done.exit_code, done.stdout) == (0, "ae722f40.toml\n")
    path = Path("ae722f40.toml")
    line = 1 + path.read_text().splitlines().index('irq = "?"  # the NPU\'s interrupt at this core')
    question = rf"ae722f40.toml:{line}: npu.irq: the NPU's interrupt at this core"
    with pytest.raises(InputError, match=question):
        CliRunner().invoke(cli, ["boards", "show", "./ae722f40.toml"], catch_exceptions=False)
    with pytest.raises(InputError, match=question):
        flow.create_project(recipe(Path("none.tflite"), board="./ae722f40.toml"), watch=Watch())

    text = (
        path.read_text().replace('uart = "?"', 'uart = "dw"').replace('cache = "?"', "cache = true")
    )
    text = text.replace('npu_port = "?"', "npu_port = 1", 1).replace(
        'npu_port = "?"', "npu_port = 0"
    )
    text = text.replace('irq = "?"', "irq = 55").replace('_hz = "?"', "_hz = 100_000_000")
    path.write_text(text.replace('base_addr = "?"', "base_addr = 0x400e1000"))
    board = load_board("./ae722f40.toml")
    assert (board.npu.irq, board.placement("shared_sram").arena) == (55, "sram0")
    shown = CliRunner().invoke(cli, ["boards", "show", "./ae722f40.toml"])
    assert '? memories.mram.kind = "flash"' in shown.stdout.splitlines()
