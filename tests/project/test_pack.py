"""--pack: the library as a CMSIS pack, by the format's schema, its rules, and a build of it."""

import io
import os
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.project import Project, render, write
from ethosgen.values.errors import InputError
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_packs, needs_qemu
from tests.support.programs import make_cpu_program, make_program
from tests.support.recipes import recipe
from tests.support.small_models import image_net
from tests.support.snippets import snippets
from tests.toolchain.test_csolution import Solution

NAME = "Acme::Digits@1.2.0"
ARCHIVE, DESCRIPTION = "model/Acme.Digits.1.2.0.pack", "model/Acme.Digits.pdsc"
LONG = "a_network_whose_name_has_more_letters_than_the_schema_allows"
PACKS: dict[str, tuple[tuple[Program, ...], str]] = {
    "NPU": ((make_program(),), "corstone300"),
    "U85": ((make_program(npu="ethos-u85-256"),), "corstone320"),
    "CPU": ((make_cpu_program(),), "nucleo-f446re"),
    "two": ((make_program(), make_program(name="plus_two")), "corstone300"),
    "long": ((make_program(name=LONG),), "corstone300"),
}


def packed(kind: str, name: str = NAME) -> Project:
    programs, board = PACKS[kind]
    return render(programs, load_board(board), platform="csolution", pack=name)


def description(project: Project) -> ElementTree.Element:
    return ElementTree.fromstring(project.files[DESCRIPTION])


def unpacked(project: Project) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(project.files[ARCHIVE])) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("kind", PACKS)
def test_the_archive_is_the_library_with_its_description(kind: str) -> None:
    project = packed(kind)
    files = unpacked(project)
    assert files["Acme.Digits.pdsc"] == project.files[DESCRIPTION]
    later = {ARCHIVE, f"{ARCHIVE}.license", "model/ethosgen.json"}
    assert {f"model/{path}" for path in files} == project.library - later
    assert all(project.files[f"model/{path}"] == data for path, data in files.items())
    assert packed(kind).files[ARCHIVE] == project.files[ARCHIVE], "equal libraries, equal packs"


@pytest.mark.parametrize("kind", PACKS)
def test_the_description_follows_the_formats_rules(kind: str) -> None:
    """Those that packchk checks besides the schema."""
    project = packed(kind)
    package, files = description(project), unpacked(project)
    assert (package.findtext("vendor"), package.findtext("name")) == ("Acme", "Digits")
    assert package.findtext("license") in files
    assert [r.get("version") for r in package.iter("release")] == ["1.2.0"]
    conditions = {c.get("id") for c in package.iter("condition")}
    used = {e.get("condition") for e in package.iter() if e.get("condition")}
    assert used == conditions - {None}, "each condition is there, and used"
    identities = [
        tuple(c.get(k) for k in ("Cclass", "Cgroup", "Csub", "Cvariant"))
        for c in package.iter("component")
    ]
    assert len(set(identities)) == len(identities)
    named = [file.get("name") or "" for file in package.iter("file")]
    assert len(set(named)) == len(named)
    assert set(named) <= set(files)
    sources = {path for path in files if path.endswith(".c")}
    assert {n for n in named if n.endswith(".c")} == sources - {"ethosgen_networks.c"}
    assert {c.get("Cversion") for c in package.iter("component")} == {"1.2.0"}


@pytest.mark.parametrize("kind", PACKS)
def test_the_core_is_the_boards(kind: str) -> None:
    core = {"NPU": "Cortex-M55", "U85": "Cortex-M85", "CPU": "Cortex-M4"}.get(kind, "Cortex-M55")
    package = description(packed(kind))
    assert [r.get("Dcore") for r in package.iter("require") if r.get("Dcore")] == [core]


@pytest.mark.compiler("xmllint")
@pytest.mark.packschema
@pytest.mark.parametrize("kind", PACKS)
def test_the_schema_accepts_it(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "it.pdsc"
    file.write_bytes(packed(kind).files[DESCRIPTION])
    command = ["xmllint", "--noout", "--schema", os.environ["CMSIS_PACK_SCHEMA"], str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.compiler("packchk")
@pytest.mark.packschema
@pytest.mark.parametrize("kind", PACKS)
def test_packchk_accepts_it(kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(packed(kind).files[ARCHIVE])) as archive:
        archive.extractall(tmp_path)
    file = tmp_path / "Acme.Digits.pdsc"
    command = ["packchk", str(file), "--xsd", os.environ["CMSIS_PACK_SCHEMA"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Found 0 Error(s)" in done.stdout


def test_the_pages_components_are_the_packs() -> None:
    solution, project = map(yaml.safe_load, snippets("yaml", "CMSIS pack"))
    (pack,) = solution["packs"]
    package = description(packed("NPU", pack["pack"]))
    there = []
    for component in package.iter("component"):
        parts = [component.get(part) or "" for part in ("Cclass", "Cgroup", "Csub")]
        variant = component.get("Cvariant")
        name = f"{package.findtext('vendor')}::{':'.join(parts)}"
        there.append(f"{name}&{variant}" if variant else name)
    named = [entry["component"].replace("NAME", "plus_one") for entry in project["components"]]
    assert named == there[:2]


@needs_packs
def test_cmsis_pack_manager_reads_it(tmp_path: Path) -> None:
    from cmsis_pack_manager import Cache

    file = tmp_path / "Acme.Digits.pdsc"
    file.write_bytes(packed("NPU").files[DESCRIPTION])
    cache = Cache(True, True, json_path=str(tmp_path), data_path=str(tmp_path / "data"))
    cache.add_pack_from_path(str(file))


@needs_qemu
def test_a_firmware_with_the_packs_files_is_exact(tmp_path: Path) -> None:
    """The application compiles with the pack's components in place of the layer."""
    network, place = image_net(tmp_path / "image_net.tflite"), tmp_path / "p"
    wanted = recipe(network, platform="csolution")
    flow.create_project(wanted, directory=place, pack=NAME, watch=Watch())
    pack = tmp_path / "packs" / "Digits"
    with zipfile.ZipFile(place / ARCHIVE) as archive:
        archive.extractall(pack)
    elf = place / "build" / "qemu" / "firmware.elf"
    elf.parent.mkdir(parents=True)
    _PackedSolution(place, pack).build("-mcpu=cortex-m55", elf)
    report = flow.run_project(place, flow.RunOptions(Inputs(None, 2, 3)), watch=Watch())
    assert report.passed


class _PackedSolution(Solution):
    """A solution with the components of a pack: no file's own options, folders of headers only."""

    def __init__(self, place: Path, pack: Path) -> None:
        super().__init__(place, "qemu")
        package = ElementTree.parse(pack / "Acme.Digits.pdsc").getroot()
        chosen = [c for c in package.iter("component") if c.get("Cvariant") != "Arm"]
        self.named = [f for c in chosen for f in c.iter("file")]
        self.pack = pack

    @property
    def common(self) -> list[str]:
        folders = {
            (self.pack / (file.get("name") or "")).parent
            for file in self.named
            if file.get("category") == "header"
        }
        own = [flag for flag in super().common if flag != f"-I{self.layer_folder / '.'}"]
        assert len(own) < len(super().common), "the layer's folder is not searched"
        return [*own, *(f"-I{folder}" for folder in sorted(folders))]

    def sources(self) -> list[tuple[Path, list[str]]]:
        application = [(p, f) for p, f in super().sources() if self.layer_folder not in p.parents]
        server = self.layer_folder / "ethosgen_networks.c"  # ethosgen's application alone has it
        packed = [self.pack / (f.get("name") or "") for f in self.named]
        return [*application, (server, []), *((p, []) for p in packed if p.suffix == ".c")]


@pytest.mark.parametrize(
    "name",
    ["Digits@1.0.0", "Acme::Digits", "Acme::Digits@1.0", "Acme::Di gits@1.0.0", "A.b::C@1.0.0"],
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"is not the name of a CMSIS pack; write VENDOR::NAME@V"):
        packed("NPU", name)


def test_another_platform_is_refused() -> None:
    with pytest.raises(InputError, match=r"--pack is for --platform csolution, not baremetal"):
        render(make_program(), load_board("corstone300"), pack=NAME)


def test_a_new_version_replaces_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "p"
    write(packed("NPU"), place)
    write(packed("NPU", "Acme::Digits@1.3.0-rc.b"), place)
    assert not (place / ARCHIVE).exists()
    assert (place / "model" / "Acme.Digits.1.3.0-rc.b.pack").is_file()
    plain = render(make_program(), load_board("corstone300"), platform="csolution")
    write(plain, place)
    assert not list((place / "model").glob("*.p*c*"))
