"""A Zephyr project as Zephyr's own readers see it: kconfiglib, devicetree, YAML."""

import re
from pathlib import Path
from typing import Any

import kconfiglib
import pytest
import yaml
from devicetree import edtlib

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.firmware import npu_ports
from ethosgen.board import board_names, load_board
from ethosgen.platforms import ZEPHYR
from ethosgen.project import open_project, render, write
from ethosgen.project.linkage import ways
from ethosgen.project.manifest import MANIFEST
from ethosgen.project.zephyr import heap_bytes
from ethosgen.values.errors import CapacityError, InputError, UnsupportedError
from ethosgen.values.plan import IoStyle
from tests import ROOT
from tests.support.programs import make_cpu_program, make_program
from tests.support.zephyr_tree import DEVICETREE, write_bindings, write_kconfig

BOARD = load_board("corstone300")
TARGETS = {"ARM_ETHOS_": "before_4_2", "ETHOS_": "since_4_2"}
"""The prefix of a version's symbols, and the file that has them."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(render(make_program(), BOARD, platform=ZEPHYR), tmp_path / "app")
    return tmp_path / "app"


def configure(
    place: Path, prefix: str, names: str, monkeypatch: pytest.MonkeyPatch, tree: Path
) -> kconfiglib.Kconfig:
    write_kconfig(tree, prefix)
    monkeypatch.setenv("srctree", str(tree))
    monkeypatch.setenv("MODULE", str(place / "model" / "ethosgen"))
    (tree / "model").unlink(missing_ok=True)
    (tree / "model").symlink_to(place / "model")
    kconfig = kconfiglib.Kconfig(str(place / "Kconfig"), warn_to_stderr=False)
    kconfig.warn_assign_undef = True  # as Zephyr does, which then refuses to build
    for conf in ("prj.conf", f"model/zephyr/{names}.conf"):
        kconfig.load_config(str(place / conf), replace=False)
    return kconfig


@pytest.mark.parametrize(("prefix", "names"), TARGETS.items())
def test_kconfig_is_silent_and_chooses_the_npu(
    place: Path, prefix: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kconfig = configure(place, prefix, names, monkeypatch, tmp_path / "tree")
    assert not kconfig.warnings
    assert kconfig.syms[f"{prefix}U55_128"].str_value == "y"
    for name in ("ETHOSGEN", "ETHOSGEN_SERVER", "ETHOSGEN_NPU_BELL"):
        assert kconfig.syms[name].str_value == "y", name
    assert kconfig.syms["HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN"].str_value == "128"


@pytest.mark.parametrize("has_server", ["y", "n"])
def test_only_the_server_wants_interrupts_of_the_uart(
    place: Path, has_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application with the network as a module keeps its own choice."""
    conf = place / "prj.conf"
    conf.write_text(conf.read_text() + f"CONFIG_ETHOSGEN_SERVER={has_server}\n")
    kconfig = configure(place, "ETHOS_", "since_4_2", monkeypatch, tmp_path / "tree")
    assert kconfig.syms["ETHOSGEN"].str_value == "y"
    assert kconfig.syms["UART_INTERRUPT_DRIVEN"].str_value == has_server


def test_the_sizes_are_the_networks_own(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kconfig = configure(place, "ARM_ETHOS_", "before_4_2", monkeypatch, tmp_path / "tree")
    assert kconfig.syms["MAIN_STACK_SIZE"].str_value != "7777"
    assert kconfig.syms["COMMON_LIBC_MALLOC_ARENA_SIZE"].str_value == "72"


@pytest.mark.parametrize(
    ("prefix", "names"), [("ETHOS_", "before_4_2"), ("ARM_ETHOS_", "since_4_2")]
)
def test_the_other_versions_symbols_are_seen(
    place: Path, prefix: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kconfig = configure(place, prefix, names, monkeypatch, tmp_path / "tree")
    assert any("undefined symbol" in warning for warning in kconfig.warnings)


def read_devicetree(place: Path, way: str, tree: Path) -> edtlib.EDT:
    bindings = tree / "bindings"
    write_bindings(bindings)
    overlay = (place / "boards" / f"on_{way}.overlay").read_text()
    whole = tree / "board.dts"
    whole.write_text(DEVICETREE + overlay)
    ours = place / "model" / "ethosgen" / "dts" / "bindings"
    return edtlib.EDT(str(whole), [str(bindings), str(ours)], werror=True)


def chosen(edt: edtlib.EDT) -> dict[str, int]:
    parts = ("commands", "weights", "arena", "io")
    return {part: edt.chosen_node(f"ethosgen,{part}").regs[0].addr for part in parts}


def test_qemu_moves_the_npu_and_all_that_it_touches(place: Path, tmp_path: Path) -> None:
    edt = read_devicetree(place, "qemu", tmp_path)
    assert edt.label2node["ethosu0"].regs[0].addr == 0x7FFFE000
    assert set(chosen(edt).values()) == {0x70000000}
    region = edt.chosen_node("ethosgen,weights")
    assert region.regs[0].addr + region.regs[0].size == 0x7FFFE000
    (bell,) = edt.compat2nodes["ethosgen,npu-bell"]
    assert bell.props["npu"].val is edt.label2node["ethosu0"]
    assert bell.props["uart"].val.status == "disabled"


def test_the_board_keeps_its_npu_and_its_memory_mode(place: Path, tmp_path: Path) -> None:
    edt = read_devicetree(place, "board", tmp_path)
    assert edt.label2node["ethosu0"].regs[0].addr == 0x48102000
    assert "ethosgen,npu-bell" not in edt.compat2nodes
    assert chosen(edt) == {
        "commands": 0x70000000,
        "weights": 0x70000000,
        "arena": 0x31000000,
        "io": 0x31000000,
    }


def test_another_memory_mode_is_another_overlay(tmp_path: Path) -> None:
    project = render(make_program(), BOARD, platform=ZEPHYR, memory_mode="sram_only")
    write(project, tmp_path / "app")
    edt = read_devicetree(tmp_path / "app", "board", tmp_path)
    assert set(chosen(edt).values()) == {0x31000000}


def test_the_linker_snippet_places_every_section_of_the_library(place: Path) -> None:
    lib = place / "model" / "ethosgen" / "lib"
    snippet = (lib / "sections.ld").read_text() + (lib / "ram_sections.ld").read_text()
    for part in ("commands", "weights", "arena", "io", "fast"):
        bss = "" if part in ("commands", "weights") else ".bss"
        assert f"*({bss}.ethosgen_{part}.*)" in snippet
        if part in ("arena", "io"):  # with the program's data, or with the arena, if none is chosen
            assert f"_REGION ETHOSGEN_REGION({part})" in snippet
            assert f"> ETHOSGEN_{part.upper()}_REGION" in snippet
        else:
            assert f"> ETHOSGEN_REGION({part})" in snippet


def test_a_board_without_an_npu_chooses_no_memory(tmp_path: Path) -> None:
    """Its flash and RAM are Zephyr's, which also has the counter."""
    for board in (board for board in map(load_board, board_names()) if board.npu is None):
        if ZEPHYR not in board.platforms:
            continue
        project = render(make_cpu_program(), board, platform=ZEPHYR)
        for way in ways(board.for_platform(ZEPHYR)):
            text = project.files[f"boards/on_{way}.overlay"].decode()
            code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            assert code.split() == ["/", "{", "};"], board.name


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


MODULE_KEYS = {"name": str, "build": dict}
BUILD_KEYS = {"cmake": str, "kconfig": str, "settings": dict}
"""Keys of module.yml, and their types, of those in Zephyr's schema that a library needs."""


def test_each_module_file_is_as_zephyr_checks_it(place: Path) -> None:
    """By the schema in Zephyr's documentation of modules, and what its script looks for."""
    modules = sorted(path for path in place.rglob("zephyr/module.yml"))
    roots = [path.parent.parent for path in modules]
    assert [r.relative_to(place).as_posix() for r in roots] == ["model/ethosgen", "model", "."]
    for root, file in zip(roots, modules, strict=True):
        module = read_yaml(file)
        assert all(isinstance(value, MODULE_KEYS[key]) for key, value in module.items()), file
        assert re.fullmatch(r"[A-Za-z]\w*", module["name"]), "CMake and Kconfig make names of it"
        build = module["build"]
        assert all(isinstance(value, BUILD_KEYS[key]) for key, value in build.items()), file
        assert (root / build["cmake"] / "CMakeLists.txt").is_file(), file
        assert "kconfig" not in build or (root / build["kconfig"]).is_file(), file
        for setting, folder in build.get("settings", {}).items():
            assert setting == "dts_root" and (root / folder / "dts").is_dir(), file


def test_the_modules_and_the_sample_are_what_zephyr_reads(place: Path) -> None:
    assert read_yaml(place / "model/zephyr/module.yml")["build"] == {"cmake": "."}
    shared = read_yaml(place / "model/ethosgen/zephyr/module.yml")
    assert shared["name"] == "ethosgen"
    for part in (shared["build"]["kconfig"], "CMakeLists.txt", "dts/bindings"):
        assert (place / "model/ethosgen" / part).exists(), part
    sample = read_yaml(place / "sample.yaml")
    assert set(sample) == {"sample", "common", "tests"}
    (name,) = {test.split(".")[1] for test in sample["tests"]}
    assert name == "plus_one"
    tests = {test.split(".")[2]: keys for test, keys in sample["tests"].items()}
    assert tests["qemu"]["filter"] == 'PLATFORM in ["mps3/an547", "mps3/corstone300/an547"]'
    assert "mps3/corstone300/fvp" in tests["board"]["filter"]
    # Twister ends where it does not know a name here, and the versions know different ones.
    assert [keys["platform_allow"] for keys in tests.values() if "platform_allow" in keys] == [
        ["native_sim/native/64"]
    ]


def test_no_file_is_named_after_a_board(place: Path) -> None:
    """Zephyr takes mps3_an547.conf for a short name of mps3/corstone300/an547 and refuses it."""
    assert {path.name for path in (place / "boards").iterdir()} == {
        "on_qemu.overlay",
        "on_board.overlay",
        "native_sim_native_64.conf",
    }


def test_a_project_knows_its_platform(place: Path) -> None:
    assert open_project(place).platform == ZEPHYR


def test_generating_again_leaves_the_application_alone(place: Path) -> None:
    (place / "src" / "main.c").write_text("mine")
    write(render(make_program(npu="ethos-u55-256"), BOARD, platform=ZEPHYR), place)
    assert (place / "src" / "main.c").read_text() == "mine"
    for names, prefix in (("before_4_2", "ARM_ETHOS_"), ("since_4_2", "ETHOS_")):
        conf = (place / "model" / "zephyr" / f"{names}.conf").read_text()
        assert f"CONFIG_{prefix}U55_256=y" in conf, "the driver's NPU is the library's"


@pytest.mark.parametrize("io", list(IoStyle))
def test_the_network_has_its_ports(io: IoStyle) -> None:
    files = render(make_program(io), BOARD, platform=ZEPHYR).files
    network = files["model/ethosgen_networks.c"].decode()
    assert ("IO_BUFFER static int8_t input_of_plus_one" in network) == (io is IoStyle.CALLER)
    assert "plus_one_lock" in files["model/plus_one.h"].decode()
    assert "k_mutex_lock" in files["model/plus_one.c"].decode()


def test_the_application_reads_no_pmu_where_there_are_no_registers(place: Path) -> None:
    """On native_sim the driver passes 0 as the address; reading there ends the application."""
    guarded = r"if \(base_addr != 0\) \{[^}]*ethosgen_npu_pmu_add\(base_addr, &pmu\);\s*\}"
    main = (place / "src" / "main.c").read_text()
    assert re.search(guarded, main) and main.count("ethosgen_npu_pmu_add(") == 1


def test_native_sim_has_each_variable_that_the_library_shares() -> None:
    shared = re.findall(
        r"^extern (.+;)$",
        (ROOT / "templates/ethosu/model/ethosgen_npu.h").read_text(),
        re.MULTILINE,
    )
    native = (ROOT / "zephyr_app/lib/npu/native.c").read_text().splitlines()
    assert shared and not set(shared) - set(native)


def test_bare_metal_has_no_trace_of_zephyr() -> None:
    files = render(make_program(), BOARD).files
    assert not [
        path for path, text in files.items() if b"zephyr" in text.lower() and path != MANIFEST
    ]


@pytest.mark.parametrize(("prefix", "names"), TARGETS.items())
def test_a_network_on_the_cpu_needs_no_npu(
    prefix: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "app"
    write(render(make_cpu_program(), BOARD, platform=ZEPHYR), place)
    kconfig = configure(place, prefix, names, monkeypatch, tmp_path / "tree")
    assert not kconfig.warnings
    values = {name: kconfig.syms[name].str_value for name in (f"{prefix}U", "ETHOSGEN_NPU")}
    assert set(values.values()) == {"n"}
    assert kconfig.syms["HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN"].str_value == "0"
    edt = read_devicetree(place, "qemu", tmp_path)
    assert edt.label2node["ethosu0"].regs[0].addr == 0x48102000  # nobody touches it
    assert "ethosgen,npu-bell" not in edt.compat2nodes


@pytest.mark.parametrize("name", ["corstone310", "corstone315"])
@pytest.mark.parametrize("mode", ["shared_sram", "sram_only", "dedicated_sram"])
def test_a_memory_that_holds_the_program_too_is_shared(
    name: str, mode: str, tmp_path: Path
) -> None:
    board = load_board(name)
    project = render(make_program(npu="ethos-u65-256"), board, platform=ZEPHYR, memory_mode=mode)
    write(project, tmp_path / "app")
    edt = read_devicetree(tmp_path / "app", "board", tmp_path)
    program = edt.label2node["isram"].regs[0]
    networks = edt.label2node["ethosgen_isram"].regs[0]
    assert (program.addr, program.size) == (0x31000000, 0x100000)
    assert (networks.addr, networks.size) == (0x31100000, 0x300000)
    near = "fast" if mode == "dedicated_sram" else "arena"
    assert edt.chosen_node(f"ethosgen,{near}") is edt.label2node["ethosgen_isram"]
    assert "ethosgen,counter" not in edt.compat2nodes  # Zephyr's clock measures there
    assert open_project(tmp_path / "app").board == board


STREAM = {"qconfig": 2, "regioncfg": 0b01_00_11, "base_bytes": [100, 3200, 0, 0, 0, 0, 0, 0]}


def test_ports_are_those_of_the_regions_in_use() -> None:
    ports = {"NPU_QCONFIG": 2, "NPU_REGIONCFG_0": 3, "NPU_REGIONCFG_1": 0}
    assert npu_ports([STREAM, STREAM]) == ports
    other = {"qconfig": 2, "regioncfg": 0b01_00_11, "base_bytes": [100, 0, 8, 0, 0, 0, 0, 0]}
    assert npu_ports([STREAM, other]) == {**ports, "NPU_REGIONCFG_2": 1}
    assert npu_ports([]) == {}


def test_streams_that_disagree_about_a_port_have_none() -> None:
    assert npu_ports([STREAM, {**STREAM, "regioncfg": 0b01_00_01}]) is None
    assert npu_ports([STREAM, {**STREAM, "qconfig": 0}]) is None


def test_an_npu_without_a_symbol_is_refused() -> None:
    assert find_accelerator("ethos-u55-32")
    with pytest.raises(UnsupportedError, match="Zephyr has no configuration for ethos-u55-32"):
        render(make_program(npu="ethos-u55-32"), BOARD, platform=ZEPHYR)


def test_a_board_that_zephyr_does_not_know_is_refused() -> None:
    unknown = BOARD.model_copy(update={"run": BOARD.run.model_copy(update={"zephyr": []})})
    with pytest.raises(InputError, match="has no Zephyr board"):
        render(make_program(), unknown, platform=ZEPHYR)


def test_weights_larger_than_their_memory_are_refused() -> None:
    memories = dict(BOARD.memories)
    memories["ddr"] = memories["ddr"].model_copy(update={"size_bytes": 64})
    small = BOARD.model_copy(update={"memories": memories})
    with pytest.raises(CapacityError, match="of 'ddr'"):
        render(make_program(), small, platform=ZEPHYR)


def test_an_unknown_platform_is_refused() -> None:
    with pytest.raises(InputError, match="choose one of: baremetal, zephyr"):
        render(make_program(), BOARD, platform="freertos")


def test_heaps_hold_what_they_must() -> None:
    assert heap_bytes([24, 20, 20]) == 48 + 32 + 24 + 24
    assert heap_bytes([16]) == 48 + 24
