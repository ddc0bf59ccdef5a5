"""Bad input for `pipeline`: one sentence, and nothing half-written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ethosgen.board.system import load_system
from ethosgen.cli import cli
from ethosgen.systems.elements import open_pipeline, run_pipeline
from ethosgen.values.errors import CapacityError, EthosgenError, InputError
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Criteria, Inputs
from tests import ROOT
from tests.stages.test_cuts import residual
from tests.stages.test_graphs import saved
from tests.support.needs import needs_build, needs_qemu

DIGITS = str(ROOT / "demo" / "digits_int8.tflite")
ALIF = """\
link = "shared"

[shared]
start_addr = 0x02380000
size_bytes = 0x00080000

[[elements]]
name = "hp"
board = "alif-e7-hp"
memories.sram0 = { start_addr = 0x02000000, size_bytes = 0x00200000 }

[[elements]]
name = "he"
board = "alif-e7-he"
memories.sram0 = { start_addr = 0x02200000, size_bytes = 0x00180000 }
"""


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(cli, list(map(str, arguments)))
    if isinstance(done.exception, EthosgenError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def small(path: Path, count: int, size: int) -> Path:
    """Write a system of elements with `size` bytes of the memory for everything but code."""
    elements = "".join(
        f'[[elements]]\nname = "e{i}"\nboard = "corstone300"\n'
        f"memories.ddr = {{ start_addr = 0x70000000, size_bytes = {size + 8192} }}\n"
        for i in range(count)
    )
    path.write_text(elements)
    return path


def test_a_pipeline_allows_no_difference(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="omit --allow-difference"):
        run("pipeline", DIGITS, "--stages", "2", "--board", "corstone300", "-o", tmp_path / "p",
            "--allow-difference", "1")  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_more_stages_than_the_network_can_be_cut_into(tmp_path: Path) -> None:
    says = r"'digits_int8' can be cut into at most 10 stages, but 11 were requested"
    with pytest.raises(InputError, match=says):
        run("pipeline", DIGITS, "--stages", "11", "--board", "corstone300", "-o", tmp_path / "p")
    assert not list(tmp_path.iterdir())


def test_a_stage_that_fits_no_element_says_by_how_much(tmp_path: Path) -> None:
    system = small(tmp_path / "small.toml", 4, 4096)
    says = (
        r"the stage of operator \d+ \(\w+\) of 'digits_int8' fits no element: it needs "
        r"[\d,]+ bytes more than 'ddr' of 'e\d' has"
    )
    with pytest.raises(CapacityError, match=says):
        run("pipeline", DIGITS, "--system", system, "-o", tmp_path / "p")
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_too_few_elements_for_a_network_say_by_how_much(tmp_path: Path) -> None:
    system = small(tmp_path / "small.toml", 1, 12288)
    with pytest.raises(CapacityError, match=r"does not fit 1 element: .*by at least [\d,]+ bytes"):
        run("pipeline", DIGITS, "--system", system, "-o", tmp_path / "p")


@needs_build
@needs_qemu
def test_a_network_too_large_for_one_element_runs_on_several(tmp_path: Path) -> None:
    place = tmp_path / "p"
    system = small(tmp_path / "small.toml", 3, 12288)
    said = run("pipeline", DIGITS, "--system", system, "-o", place)
    assert "one element: 'digits_int8' does not fit board 'corstone300'" in said
    run("build", place)
    report = run_pipeline(place, Inputs(None, 4, 0), Criteria(), None, Watch())
    assert report.verdict == "PASS"
    assert report.alone is None
    assert "more than the" in report.why_not_alone


@needs_build
def test_two_cores_of_one_chip_build(tmp_path: Path) -> None:
    system, place = tmp_path / "alif.toml", tmp_path / "p"
    system.write_text(ALIF)
    run("pipeline", DIGITS, "--system", system, "-o", place)
    run("build", place)
    assert (place / "hp" / "build" / "board" / "firmware.elf").is_file()
    assert (place / "he" / "build" / "board" / "firmware.elf").is_file()
    sent = (place / "hp" / "model" / "ethosgen_handover.c").read_text()
    received = (place / "he" / "model" / "ethosgen_handover.c").read_text()
    at = sent.split("struct line behind[")[1].split("(uint8_t *)")[1].split(",")[0]
    assert f"(uint8_t *){at}," in received.split("struct line before[")[1].split(";")[0]
    with pytest.raises(InputError, match="element 'hp' cannot run here: QEMU has no board"):
        run("run", place)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "he"', 'name = "hp"', "elements: two are called 'hp'"),
        (
            'link = "shared"',
            'link = "radio"',
            "line 1: link: it must be 'serial', 'shared' or 'mesh'",
        ),
        ('link = "shared"', 'link = "serial"', r"shared: is only for link = \"shared\""),
        ("0x02380000", "0x02380010", "start_addr must be a multiple of 32"),
        (
            "size_bytes = 0x00200000",
            "size_bytes = 0x10000000",
            "element 'hp': .*is not inside that",
        ),
        ("memories.sram0", "memories.sram9", "'alif-e7-hp' has no memory 'sram9'; it has: itcm"),
        ('name = "he"', 'name = "one_element"', "called 'one_element', which stands for the whole"),
        (
            'name = "he"',
            'name = "host"',
            "none can be called 'host', which stands for this machine",
        ),
        ('name = "hp"', 'name = "../hp"', "elements\\[0\\]\\.name: it must match"),
        (
            'board = "alif-e7-hp"',
            'bord = "alif-e7-hp"',
            r"elements\[0\]\.\w+ \('hp'\): it is missing",
        ),
        ('board = "alif-e7-hp"', 'board = "alif-e7"', "unknown board 'alif-e7'"),
    ],
)
def test_wrong_system_files(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in ALIF
    file = tmp_path / "system.toml"
    file.write_text(ALIF.replace(old, new, 1))
    with pytest.raises(InputError, match=says):
        load_system(file)


def test_a_part_that_cannot_be_a_memory_is_named(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    lines = ("[[elements]]", 'name = "a"', 'board = "corstone300"', "[elements.memories.ddr]")
    part = ("start_addr = 0x70000000", "size_bytes = 4160")
    file.write_text("\n".join((*lines, *part)))
    with pytest.raises(
        InputError, match=r"element 'a': its part of 'ddr', 0x70000000 to 0x7000103f"
    ):
        load_system(file)


def test_elements_that_share_memory_must_not_overlap(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(ALIF.replace("start_addr = 0x02200000", "start_addr = 0x021f0000"))
    with pytest.raises(InputError, match="element 'he': its 'sram0' overlaps that of 'hp'"):
        load_system(file)


def test_options_that_contradict_each_other(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(ALIF)
    with pytest.raises(InputError, match="omit --stages and --board"):
        run("pipeline", DIGITS, "--system", file, "--stages", "2", "--board", "corstone300")
    with pytest.raises(InputError, match="name the elements: --stages K and --board BOARD"):
        run("pipeline", DIGITS, "--stages", "2")
    with pytest.raises(InputError, match="pipeline cuts one network but got 2"):
        run("pipeline", DIGITS, DIGITS, "--stages", "2", "--board", "corstone300")
    with pytest.raises(InputError, match="has doorbells and no serial line"):
        run("pipeline", DIGITS, "--stages", "2", "--board", "alif-e7-hp")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a pipeline; choose another with -o"):
        run("pipeline", DIGITS, "--stages", "2", "--board", "corstone300", "-o", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"format": 1}', '{"format": true}', '{"format": 99, "ethosgen": "9"}']
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pipeline.json").write_text(text)
    for command in ("build", "run"):
        with pytest.raises(InputError, match=r"damaged|has format 99"):
            run(command, tmp_path)


def _set(*path: str | int, value: object) -> Callable[[Any], None]:
    """Return a function that sets a value in a manifest."""

    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def _drop(number: int) -> Callable[[Any], None]:
    """Return a function that removes a hand-over from a manifest."""
    return lambda content: content["handovers"].pop(number)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pair") / "p"
    run("pipeline", DIGITS, "--stages", "2", "--board", "corstone300", "-o", place)
    return place


@pytest.mark.parametrize(
    "damage",
    [
        _set("handovers", value=[]),
        *(_drop(number) for number in range(3)),
        _set("handovers", 1, "sender", value=1),
        _set("handovers", 1, "sender", value=-1),
        _set("handovers", 1, "receiver", value=-1),
        _set("handovers", 1, "receiver", value=7),
        _set("handovers", 1, "tensors", value=[]),
        _set("handovers", 2, "tensors", value=[0]),
        _set("handovers", 1, "bytes_per_s", value=0),
        _set("handovers", 1, "latency_s", value=-1.0),
        _set("elements", 0, "clock_hz", value=0),
        _set("elements", 1, "name", value="stage_0"),
        _set("elements", 1, "stage", value=0),
        _set("mesh", value=[3, 3]),
        _set("boundaries", value=[0, 1]),
    ],
)
def test_each_damage_of_a_manifest_is_refused(
    pair: Path, tmp_path: Path, damage: Callable[[Any], None]
) -> None:
    """A hand-over that was missing once let a run wait forever."""
    content = json.loads((pair / "pipeline.json").read_text())
    assert len(content["handovers"]) == 3
    damage(content)
    (tmp_path / content["source"]).write_bytes((pair / content["source"]).read_bytes())
    (tmp_path / "pipeline.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"is damaged .*generate the|damaged: its handovers"):
        open_pipeline(tmp_path, Watch())


def test_a_manifest_from_before_graphs_says_what_to_do(tmp_path: Path) -> None:
    place = tmp_path / "p"
    run("pipeline", DIGITS, "--stages", "2", "--board", "corstone300", "-o", place)
    content = json.loads((place / "pipeline.json").read_text())
    del content["handovers"], content["mesh"]
    (place / "pipeline.json").write_text(json.dumps(content))
    again = ("pipeline", DIGITS, "--stages", "2", "--board", "corstone300", "-o", place)
    for command in (("build", place), ("run", place), again):
        with pytest.raises(InputError, match="could not hand over along a graph; generate the pip"):
            run(*command)


@pytest.mark.slow
def test_a_pipeline_is_written_again_whole_or_not_at_all(tmp_path: Path) -> None:
    """The last element's folder refuses, and the first one's library would be another."""
    place, system = tmp_path / "p", tmp_path / "s.toml"
    element = '[[elements]]\nname = "{}"\nboard = "corstone300"\nnpu = "none"\n{}'
    fast = element.format("a", "") + element.format("b", "") + "[[links]]\nbytes_per_s = 32e6\n"
    system.write_text(fast)
    run("pipeline", DIGITS, "--system", system, "-o", place)
    was = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    system.write_text(
        element.format("a", "") + element.format("b", "").replace("none", "ethos-u55-128")
    )
    with pytest.raises(InputError, match=r"'.*/b' was generated with --npu 'none'"):
        run("pipeline", DIGITS, "--system", system, "-o", place)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == was
    edited = place / "b" / "model" / "ethosgen_handover.c"
    edited.write_text(edited.read_text() + "/* mine */\n")
    was[edited] = edited.read_bytes()
    system.write_text(element.format("a", "") + element.format("b", ""))
    with pytest.raises(InputError, match=r"ethosgen_handover\.c' was edited"):
        run("pipeline", DIGITS, "--system", system, "-o", place)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == was


@pytest.mark.parametrize(
    ("network", "change"), [(DIGITS, ("--link", "shared")), ("", ("--topology", "graph"))]
)
def test_other_links_do_not_keep_the_driver_of_the_old_ones(
    tmp_path: Path, network: str, change: tuple[str, str]
) -> None:
    file = network or str(saved(residual(), tmp_path))
    place = tmp_path / "p"
    words = ("pipeline", file, "--stages", "3", "--board", "corstone300", "-o", place)
    run(*words)
    mine = place / "stage_1" / "app" / "element.c"
    mine.write_text(mine.read_text() + "/* mine */\n")
    was = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"have other links, for which their board/link\.c is"):
        run(*words, *change)
    run(*words)
    assert mine.read_bytes() == was[mine]
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == was


def test_commands_for_one_project_ask_for_an_element(tmp_path: Path) -> None:
    place = tmp_path / "p"
    run("pipeline", DIGITS, "--stages", "2", "--board", "corstone300", "-o", place)
    for command in ("flash", "serve"):
        with pytest.raises(InputError, match=r"is a pipeline, .* name one, as in '.*/p/\w+'$"):
            run(command, place)
