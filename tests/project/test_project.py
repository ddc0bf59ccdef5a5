"""Projects: what is rendered, and what is written, regenerated and left alone."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from ethosgen.board import load_board
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.project import Project, open_project, render, write
from ethosgen.project.capacity import part_sizes
from ethosgen.project.literals import array_text, float_text, word_text
from ethosgen.values.errors import CapacityError, InputError
from ethosgen.values.network import Quantization, Tensor
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Constant, Port, Program
from tests.support.golden_project import PLACE, golden_files
from tests.support.programs import COMMANDS, SCRATCH_BYTES, make_program, with_weights

BOARD = load_board("corstone300")
ADVICE = "after a deliberate change: python -m tests.support.golden_project"


def render_changed(**changes: object) -> Project:
    return render(dataclasses.replace(make_program(), **changes), BOARD)


def text(project: Project, path: str) -> str:
    return project.files[path].decode()


def snapshot(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


# ---- rendering ---------------------------------------------------------------------------------


def test_the_golden_project_is_what_is_rendered() -> None:
    files = golden_files()
    golden = snapshot(PLACE)
    assert sorted(files) == sorted(golden), ADVICE
    for path, content in files.items():
        assert content.decode() == golden[path].decode(), f"{path}: {ADVICE}"


def test_rendering_is_deterministic_and_the_digest_is_of_everything() -> None:
    assert render(make_program(), BOARD).files == render(make_program(), BOARD).files
    digests = {
        render(make_program(), BOARD).digest,
        render(make_program(IoStyle.CALLER), BOARD).digest,
        render(make_program(npu="ethos-u55-256"), BOARD).digest,
        render_changed(arena_bytes=SCRATCH_BYTES + 16).digest,
        render_changed(constants=(Constant("t", "int8", b"1"),)).digest,
    }
    assert len(digests) == 5


def test_the_firmware_knows_its_digest() -> None:
    project = render(make_program(), BOARD)
    header = text(project, "model/ethosgen_networks.h")
    assert f'#define ETHOSGEN_DIGEST "{project.digest}"' in header
    assert json.loads(project.files["model/ethosgen.json"])["digest"] == project.digest


@pytest.mark.parametrize("io", IoStyle)
def test_the_header_documents_the_network(io: IoStyle) -> None:
    header = text(render(make_program(io), BOARD), "model/plus_one.h")
    for line in (
        "#define PLUS_ONE_ARENA_BYTES 3200",
        "#define PLUS_ONE_INPUT_BYTES 1500",
        "#define PLUS_ONE_INPUT_SHAPE {1, 1500}",
        "#define PLUS_ONE_OUTPUT_SCALE 0.5f",
        "#define PLUS_ONE_OUTPUT_ZERO_POINT (-3)",
        "serving/input:0",
        "real value = 0.5 * (q + 3)",
    ):
        assert line in header
    arena_style = "arena bytes 1600 to 3099" in header
    assert arena_style == (io is IoStyle.ARENA)
    run = (
        "plus_one_run(void)" if arena_style else "plus_one_run(const int8_t *input, int8_t *output)"
    )
    assert f"ethosgen_status {run};" in header


def test_only_what_the_manifest_names_is_the_librarys() -> None:
    project = render(make_program(), BOARD)
    assert all(path.startswith("model/") for path in project.library)
    assert not any(path.startswith("model/") for path in project.application)
    manifest = json.loads(project.files["model/ethosgen.json"])
    assert {*manifest["files"], "model/ethosgen.json"} == project.library


def test_a_tensor_name_cannot_end_a_comment() -> None:
    program = make_program()
    port = program.inputs[0]
    evil = dataclasses.replace(port, tensor=dataclasses.replace(port.tensor, name="*/ int x; /*"))
    header = text(render_changed(inputs=(evil,)), "model/plus_one.h")
    assert "*/ int x" not in header


def test_several_ports_and_odd_quantization() -> None:
    def port(c_name: str, dtype: str, quantization: Quantization | None, offset: int) -> Port:
        return Port(c_name, Tensor(9, c_name, (2, 3), dtype, quantization), offset)

    per_axis = Quantization((0.1, 0.2), (0, 0), 0)
    outputs = (port("wide", "int32", None, 0), port("b", "int16", per_axis, 32))
    project = render_changed(outputs=outputs)
    header = text(project, "model/plus_one.h")
    assert "not quantized" in header and "quantized along dimension 0" in header
    assert "static inline int16_t *plus_one_b(void)" in header
    port = "{&plus_one_arena[PLUS_ONE_WIDE_OFFSET], PLUS_ONE_WIDE_BYTES},"
    assert port in text(project, "model/ethosgen_networks.c")


@pytest.mark.parametrize("name", ["server", "board", "main"])
def test_names_of_the_applications_own(name: str) -> None:
    with pytest.raises(InputError, match=f"uses the name '{name}'"):
        render(make_program(name=name), BOARD)


def test_ports_do_not_meet_the_librarys_names() -> None:
    ports = [
        dataclasses.replace(p, c_name=n) for p, n in zip(_ports(), ("run", "weights"), strict=True)
    ]
    header = text(render_changed(inputs=(ports[0],), outputs=(ports[1],)), "model/plus_one.h")
    assert "int8_t *plus_one_run_(void)" in header
    assert "#define PLUS_ONE_WEIGHTS__BYTES 1500" in header
    assert "#define PLUS_ONE_WEIGHTS_BYTES 100" in header


def _ports() -> tuple[Port, Port]:
    program = make_program()
    return program.inputs[0], program.outputs[0]


def test_region_configuration_follows_the_boards_ports() -> None:
    """READ_ONLY lies in DDR, behind port 1 (value 3); the arena in SRAM, behind port 0."""
    source = text(render(make_program(), BOARD), "model/plus_one.c")
    assert ".qconfig = 2u," in source
    assert f".regioncfg = 0x{3 | 0 << 2 | 1 << 4:04x}u," in source
    only_sram = render(make_program(), BOARD, memory_mode="sram_only").files["model/plus_one.c"]
    assert ".qconfig = 0u," in only_sram.decode()
    assert f".regioncfg = 0x{1 | 0 << 2 | 1 << 4:04x}u," in only_sram.decode()


def test_every_way_has_its_linker_script() -> None:
    project = render(make_program(), BOARD)
    assert "> DDR" in text(project, "board/qemu.ld")
    assert "DDR (rwx) : ORIGIN = 0x70000000, LENGTH = 0x0fffe000" in text(project, "board/qemu.ld")
    board = text(project, "board/board.ld")
    assert re.search(r"\.ethosgen_arena .*> ISRAM", board)
    assert re.search(r"\.ethosgen_weights [^>]*> DDR AT > DDR", board)


def test_a_network_without_npu_needs_no_stream() -> None:
    program = make_program()
    plan = dataclasses.replace(program.plan, partitions=(), blobs=())
    project = render_changed(plan=plan, constants=())
    assert "model/plus_one_commands.c" not in project.files
    assert "model/plus_one_weights.c" not in project.files
    assert "plus_one_npu_invoke" not in text(project, "model/plus_one.c")


def test_the_commands_follow_the_header() -> None:
    source = text(render(make_program(), BOARD), "model/plus_one_commands.c")
    words = [int(word, 16) for word in re.findall(r"0x([0-9a-f]{8})u,", source)]
    assert words[8:] == np.frombuffer(COMMANDS, "<u4").tolist()


# ---- literals ----------------------------------------------------------------------------------


def test_words_are_padded() -> None:
    assert word_text(b"\x01\x02\x03\x04\x05") == {
        "count": 2,
        "text": "    0x04030201u, 0x00000005u,",
    }


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("int8", [-128, 127], "-128, 127,"),
        ("uint8", [0, 255], "0u, 255u,"),
        ("int32", [-(1 << 31)], "-2147483648,"),
        ("int64", [-(1 << 63), 5], "(-9223372036854775807 - 1), 5,"),
        ("bool", [True, False], "true, false,"),
        ("float32", [0.1, 1e-45], "0.1f, 1.0e-45f,"),
        ("float32", [float("-inf"), 3e38], "(-1.0f / 0.0f), 3.0e+38f,"),
    ],
)
def test_elements_are_exact(dtype: str, values: list[object], expected: str) -> None:
    data = np.array(values, dtype).tobytes()
    assert array_text(dtype, data)["text"].strip() == expected


def test_a_scale_survives_as_a_literal() -> None:
    for bits in (1, 0x7FFFFF, 0x00800000, 0x3DFCD6EA, 0x3F7FFFFF, 0x7F7FFFFF):
        value = np.array(bits, np.uint32).view(np.float32)
        assert np.float32(float_text(float(value)).removesuffix("f")) == value


# ---- capacity ----------------------------------------------------------------------------------


def test_an_arena_too_large_says_by_how_much_and_where() -> None:
    with pytest.raises(
        CapacityError, match=r"arena \(2,097,184 bytes\) needs 32 bytes more .*isram.; choose"
    ):
        render_changed(arena_bytes=(2 << 20) + 16)


def test_a_callers_buffers_count_in_whole_lines_of_the_data_cache() -> None:
    program = make_program(IoStyle.CALLER)
    ports = [
        dataclasses.replace(port, tensor=dataclasses.replace(port.tensor, shape=(1, 1480)))
        for port in (*program.inputs, *program.outputs)
    ]
    program = dataclasses.replace(program, inputs=(ports[0],), outputs=(ports[1],))
    without = BOARD.model_copy(update={"cpu": BOARD.cpu.model_copy(update={"dcache": False})})
    assert part_sizes(program, BOARD)["io"] == 2 * 47 * 32
    assert part_sizes(program, without)["io"] == 2 * 93 * 16


def test_the_registers_of_the_simulated_npu_take_two_pages() -> None:
    program = make_program()
    room = (256 << 20) - 8192 - SCRATCH_BYTES - 48 - 32
    plan = with_weights(program.plan, _Sized(room))
    with pytest.raises(CapacityError, match=r"needs? 16 bytes more than .* 'ddr'"):
        render_changed(plan=with_weights(plan, _Sized(room + 16)))


def test_a_mode_that_would_do_is_named() -> None:
    program = make_program()
    plan = with_weights(program.plan, _Sized(3 << 20))
    with pytest.raises(
        CapacityError, match=r"more than the 2,097,152 of 'isram'; use --memory-mode sh"
    ):
        render(dataclasses.replace(program, plan=plan), BOARD, memory_mode="sram_only")
    u65 = make_program(npu="ethos-u65-256")
    with pytest.raises(CapacityError, match=r"'isram'; use --memory-mode dedicated_sram"):
        render(dataclasses.replace(u65, arena_bytes=3 << 20), BOARD)


def test_what_is_copied_at_start_needs_room_where_it_is_stored() -> None:
    program = make_program(npu="ethos-u55-256")
    plan = with_weights(program.plan, _Sized(0x280000 - 200))
    alif = load_board("alif-e7-hp")
    small = alif.memories["mram"].model_copy(update={"size_bytes": 0x100000})
    board = alif.model_copy(update={"memories": {**alif.memories, "mram": small}})
    with pytest.raises(CapacityError, match=r"more than the 1,048,576 of 'mram'"):
        render(dataclasses.replace(program, plan=plan), board, memory_mode="sram_only")


class _Sized(bytes):
    """Bytes that say they are many."""

    def __new__(cls, size: int) -> "_Sized":
        weights = super().__new__(cls)
        weights.size = size  # type: ignore[attr-defined]
        return weights

    def __len__(self) -> int:
        return self.size  # type: ignore[attr-defined, no-any-return]


# ---- writing -----------------------------------------------------------------------------------


@pytest.fixture
def project() -> Project:
    return render(make_program(), BOARD)


def changed(project: Project) -> Project:
    """Render the same network after another training."""
    program = make_program()
    plan = with_weights(program.plan, bytes(100))
    anew: Program = dataclasses.replace(program, plan=plan)
    return render(anew, BOARD)


def test_a_new_directory_gets_everything(tmp_path: Path, project: Project) -> None:
    place = tmp_path / "deep" / "new"
    assert write(project, place) == frozenset(project.files)
    assert snapshot(place) == dict(project.files)
    assert [entry.name for entry in place.parent.iterdir()] == ["new"]
    assert place.stat().st_mode & 0o777 == tmp_path.joinpath("deep").stat().st_mode & 0o777


def test_an_empty_directory_is_as_good_as_none(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    write(project, Path())
    assert snapshot(place) == dict(project.files)
    assert Path("model").is_dir(), "the working directory is still the same one"


def test_what_is_on_disk_can_be_opened(tmp_path: Path, project: Project) -> None:
    write(project, tmp_path / "p")
    info = open_project(tmp_path / "p")
    program = make_program()
    assert (info.names, info.npu, info.io) == (("plus_one",), "ethos-u55-128", IoStyle.ARENA)
    assert info.board == BOARD
    assert info.digest == project.digest
    assert [t.name for t in info.network.inputs] == ["serving/input:0"]
    assert info.network.outputs[0].quantization == program.outputs[0].tensor.quantization
    assert info.network.source.read_bytes() == file_of(program.plan.network)


def test_regenerating_replaces_the_library_only(tmp_path: Path, project: Project) -> None:
    place = tmp_path / "p"
    write(project, place)
    (place / "app" / "main.c").write_text("int main(void) { return 0; }\n")
    (place / "notes.txt").write_text("mine\n")
    (place / "board" / "board.c").unlink()
    anew = changed(project)
    assert write(anew, place) == anew.library
    assert (place / "app" / "main.c").read_text() == "int main(void) { return 0; }\n"
    assert (place / "notes.txt").read_text() == "mine\n"
    assert not (place / "board" / "board.c").exists()
    for path in anew.library:
        assert (place / path).read_bytes() == anew.files[path]
    assert not list(place.glob(".ethosgen*"))


def test_regenerating_the_same_writes_nothing(tmp_path: Path, project: Project) -> None:
    write(project, tmp_path / "p")
    before = (tmp_path / "p" / "model" / "plus_one.c").stat().st_mtime_ns
    assert write(project, tmp_path / "p") == frozenset()
    assert (tmp_path / "p" / "model" / "plus_one.c").stat().st_mtime_ns == before


def test_a_deleted_library_file_comes_back(tmp_path: Path, project: Project) -> None:
    write(project, tmp_path / "p")
    (tmp_path / "p" / "model" / "plus_one.c").unlink()
    write(project, tmp_path / "p")
    assert (tmp_path / "p" / "model" / "plus_one.c").is_file()


def test_an_edited_library_file_stops_it(tmp_path: Path, project: Project) -> None:
    place = tmp_path / "p"
    write(project, place)
    with (place / "model" / "plus_one.h").open("a") as file:
        file.write("/* mine */\n")
    before = snapshot(place)
    with pytest.raises(InputError, match=r"plus_one\.h' was edited"):
        write(changed(project), place)
    assert snapshot(place) == before


def test_a_strange_file_in_the_library_stops_it(tmp_path: Path, project: Project) -> None:
    place = tmp_path / "p"
    write(project, place)
    (place / "model" / "mine.c").write_text("")
    with pytest.raises(InputError, match=r"mine\.c' is not ethosgen's"):
        write(changed(project), place)
    assert (place / "model" / "mine.c").exists()


def test_another_directory_is_not_touched(tmp_path: Path, project: Project) -> None:
    (tmp_path / "thesis.tex").write_text("chapter 1")
    with pytest.raises(InputError, match="exists and is not an ethosgen project"):
        write(project, tmp_path)
    assert snapshot(tmp_path) == {"thesis.tex": b"chapter 1"}


def test_a_file_is_no_directory(tmp_path: Path, project: Project) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(InputError, match="exists and is not an ethosgen project"):
        write(project, tmp_path / "f")
    with pytest.raises(InputError, match=r"cannot write .*Not a directory|cannot write .*exists"):
        write(project, tmp_path / "f" / "below")
    assert snapshot(tmp_path) == {"f": b"x"}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (make_program(IoStyle.CALLER), "with --io 'arena'"),
        (make_program(name="other"), "with name 'plus_one'"),
    ],
)
def test_another_network_or_style_does_not_mix(
    tmp_path: Path, project: Project, other: Program, said: str
) -> None:
    write(project, tmp_path / "p")
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=said):
        write(render(other, BOARD), tmp_path / "p")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("platform", ["csolution", "zephyr"])
def test_another_platform_does_not_mix(tmp_path: Path, project: Project, platform: str) -> None:
    write(project, tmp_path / "p")
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=r"with --platform 'baremetal', and its application"):
        write(render(make_program(), BOARD, platform=platform), tmp_path / "p")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_failure_half_way_leaves_the_old_library(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    place = tmp_path / "p"
    write(project, place)
    before = snapshot(place)
    calls = 0
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(InputError, match=r"cannot write .*No space left"):
        write(changed(project), place)
    assert snapshot(place) == before


def test_a_full_disk_leaves_nothing(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left"):
        write(project, tmp_path / "p")
    assert not list(tmp_path.iterdir())
