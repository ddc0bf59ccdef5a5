"""A project as a module of a user's own Zephyr application, beside others, as the page says."""

import os
import re
import subprocess
from pathlib import Path

import kconfiglib
import numpy as np
import pytest
import yaml
from west.manifest import ImportFlag, Manifest

from ethosgen import frontend
from ethosgen.board import load_board
from ethosgen.flow import create_project
from ethosgen.flow.attachment import attach_firmware
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.platforms import ZEPHYR
from ethosgen.project import render, write
from ethosgen.toolchain.zephyr import choose_target, find_zephyr_base, read_version
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.programs import make_cpu_program, make_program
from tests.support.recipes import recipe
from tests.support.small_models import image_net
from tests.support.snippets import snippets
from tests.support.zephyr_tree import write_kconfig
from tests.zephyr.test_zephyr_cmake import CALLED, NEW_DRIVER, run

BOARD = load_board("corstone300")
DEMO = ROOT / "demo" / "digits_int8.tflite"
CHOSEN = {"CONFIG_ETHOSGEN_NPU": "y", "CONFIG_ETHOS_U": "y", "CONFIG_ETHOS_U55_128": "y"}
STUB = """cmake_minimum_required(VERSION 3.20)
project(stub C)
{functions}
function(zephyr_library_named name)
  add_library(${{name}} STATIC "${{CMAKE_SOURCE_DIR}}/empty.c")
endfunction()
{variables}
set(CONFIG_ETHOSGEN y)
set(ZEPHYR_HAL_ETHOS_U_MODULE_DIR ${{CMAKE_SOURCE_DIR}})
set(CONFIG_DT_HAS_ARM_ETHOS_U_ENABLED y)
foreach(module IN ITEMS {modules})
  add_subdirectory(${{module}}/model/zephyr/module ${{module}})
endforeach()
message("NOTE end")
"""
MAIN = """
#include <zephyr/kernel.h>
#include <neighbour.h>
#include "{npu}.h"
#include "{cpu}.h"

static void finish(unsigned int status)
{{
	const unsigned int block[2] = {{0x20026u, status}};
	register unsigned int operation __asm__("r0") = 0x20; /* SYS_EXIT_EXTENDED */
	register const void *argument __asm__("r1") = block;
	__asm__ volatile("bkpt 0xab" : "+r"(operation) : "r"(argument) : "memory");
}}

static int8_t data(int i)
{{
	return (int8_t)(i * neighbour());
}}

static void show(const char *name, const int8_t *values, int count)
{{
	printk("%s:", name);
	for (int i = 0; i < count; i++) {{
		printk(" %d", values[i]);
	}}
	printk("\\n");
}}

int main(void)
{{
	ethosgen_status status = ethosgen_npu_init(0, false, false);

	for (int i = 0; i < {NPU}_{IN}_ELEMENTS; i++) {{
		{npu}_{in}()[i] = data(i);
	}}
	for (int i = 0; i < {CPU}_{cpu_IN}_ELEMENTS; i++) {{
		{cpu}_{cpu_in}()[i] = data(i);
	}}
	status = status != ETHOSGEN_OK ? status : {npu}_init();
	status = status != ETHOSGEN_OK ? status : {npu}_run();
	status = status != ETHOSGEN_OK ? status : {cpu}_run();
	show("{npu}", {npu}_{out}(), {NPU}_{OUT}_ELEMENTS);
	show("{cpu}", {cpu}_{cpu_out}(), {CPU}_{cpu_OUT}_ELEMENTS);
	finish((unsigned int)status + {ended}u);
	return 0;
}}
"""
FACTOR, ENDED = 7, 40
"""The neighbour's value, and the exit status of a success."""
NEIGHBOUR = {
    "zephyr/module.yml": "name: neighbour\nbuild:\n  cmake: .\n  kconfig: Kconfig\n",
    "Kconfig": 'config NEIGHBOUR\n\tbool "Another module"\n',
    "CMakeLists.txt": "if(CONFIG_NEIGHBOUR)\n  zephyr_include_directories(.)\n  zephyr_library()\n"
    "  zephyr_library_sources(neighbour.c)\nendif()\n",
    "neighbour.h": "int neighbour(void);\n",
    "neighbour.c": f'#include "neighbour.h"\nint neighbour(void)\n{{\n\treturn {FACTOR};\n}}\n',
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(render(make_program(), BOARD, platform=ZEPHYR), tmp_path / "lib")
    return tmp_path / "lib"


def test_zephyr_finds_what_the_module_names(place: Path) -> None:
    module = yaml.safe_load((place / "zephyr" / "module.yml").read_text())
    build = module["build"]
    assert module["name"] == "ethosgen_plus_one"
    assert (place / build["cmake"] / "CMakeLists.txt").is_file()
    assert (place / build["kconfig"]).is_file()
    assert (place / build["settings"]["dts_root"] / "dts" / "bindings").is_dir()


def read_kconfig(
    places: list[Path], tree: Path, monkeypatch: pytest.MonkeyPatch, *lines: str
) -> kconfiglib.Kconfig:
    """Read a Zephyr of our own with projects as modules, and an application's lines."""
    write_kconfig(tree, "ETHOS_")
    main = tree / "Kconfig.zephyr"
    text, _, _ = main.read_text().rpartition("\nsource")
    modules = "".join(f'source "{place}/model/zephyr/module/Kconfig"\n' for place in places)
    main.write_text(modules + text)  # as Zephyr reads modules: before its own files
    monkeypatch.setenv("srctree", str(tree))
    kconfig = kconfiglib.Kconfig(str(main), warn_to_stderr=False)
    kconfig.warn_assign_undef = True
    (tree / "prj.conf").write_text("\n".join(lines))
    kconfig.load_config(str(tree / "prj.conf"), replace=False)
    assert not kconfig.warnings
    return kconfig


def test_the_pages_options_choose_the_module(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (options,) = snippets("ini", "Zephyr")
    kconfig = read_kconfig([place], tmp_path / "tree", monkeypatch, options)
    values = {name: symbol.str_value for name, symbol in kconfig.syms.items()}
    assert values["ETHOSGEN_PLUS_ONE"] == values["ETHOSGEN_NPU"] == "y"
    assert values["ETHOSGEN_SERVER"] == "n"
    assert values["HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN"] == "128"


def test_a_module_that_is_not_chosen_changes_nothing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kconfig = read_kconfig([place], tmp_path / "tree", monkeypatch)
    values = {name: symbol.str_value for name, symbol in kconfig.syms.items()}
    assert values["ETHOSGEN"] == values["ETHOSGEN_PLUS_ONE"] == values["FPU"] == "n"
    assert values["HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN"] in ("", "0")
    assert values["MAIN_STACK_SIZE"] == "7777", "Zephyr's own"


@pytest.mark.parametrize("npu_comes", ["first", "last"])
def test_a_module_without_an_npu_leaves_it_to_the_other(
    place: Path, npu_comes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "cpu"
    write(render(make_cpu_program(name="for_cpu"), BOARD, platform=ZEPHYR), other)
    places = [place, other] if npu_comes == "first" else [other, place]
    kconfig = read_kconfig(places, tmp_path / "tree", monkeypatch, "CONFIG_ETHOSGEN=y")
    assert kconfig.syms["ETHOSGEN_NPU"].str_value == "y"
    assert kconfig.syms["HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN"].str_value == "128"
    assert read_kconfig([other], tmp_path / "t", monkeypatch, "CONFIG_ETHOSGEN=y").syms[
        "ETHOSGEN_NPU"
    ].str_value in ("n", "")


def configure(tmp_path: Path, places: list[Path], variables: dict[str, str]) -> tuple[int, str]:
    """Configure modules; return the status and the output on one line."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "ethosu_driver.h").write_text(NEW_DRIVER)
    (tmp_path / "empty.c").write_text("")
    functions = "\n".join(f"function({n})\nendfunction()" for n in CALLED if "_named" not in n)
    settings = "\n".join(f'set({name} "{value}")' for name, value in variables.items())
    text = STUB.format(
        functions=functions, variables=settings, modules=" ".join(f'"{p}"' for p in places)
    )
    (tmp_path / "CMakeLists.txt").write_text(text)
    return run(tmp_path, tmp_path / "build")


WITHOUT = {
    "CONFIG_ETHOS_U": (r"set CONFIG_ETHOS_U=y and CONFIG_ETHOS_U55_128=y .* hal_ethos_u"),
    "CONFIG_ETHOS_U55_128": "compiled for ethos-u55-128, and Arm's driver for another NPU",
}


@pytest.mark.compiler("cmake", "gcc")
@pytest.mark.parametrize("name", WITHOUT)
def test_a_driver_for_nothing_or_another_npu_is_a_sentence(
    place: Path, name: str, tmp_path: Path
) -> None:
    chosen = {option: value for option, value in CHOSEN.items() if option != name}
    status, said = configure(tmp_path, [place], {"CONFIG_ETHOSGEN_PLUS_ONE": "y", **chosen})
    assert status != 0 and re.search(WITHOUT[name], said), said


@pytest.mark.compiler("cmake", "gcc")
def test_an_older_zephyr_is_told_the_line_that_it_needs(place: Path, tmp_path: Path) -> None:
    chosen = {name.replace("ETHOS_U", "ARM_ETHOS_U"): value for name, value in CHOSEN.items()}
    variables = {"CONFIG_ETHOSGEN_PLUS_ONE": "y", **chosen, "CONFIG_ETHOSGEN_NPU": "y"}
    status, said = configure(tmp_path, [place], variables)
    assert status != 0 and re.search(r"put include\(\S+npu\.cmake\) above find_package", said), said
    again = tmp_path / "again"
    again.mkdir()
    variables["ETHOSU_TARGET_NPU_CONFIG"] = "ethos-u55-128"
    status, said = configure(again, [place], variables)
    assert status == 0 and "NOTE end" in said, said


@pytest.mark.compiler("cmake", "gcc")
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u55-256"])
def test_two_modules_must_be_for_the_same_npu(place: Path, npu: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(render(make_program(name="other", npu=npu), BOARD, platform=ZEPHYR), other)
    chosen = {"CONFIG_ETHOSGEN_PLUS_ONE": "y", "CONFIG_ETHOSGEN_OTHER": "y", **CHOSEN}
    status, said = configure(tmp_path, [place, other], chosen)
    if npu == "ethos-u55-128":
        assert status == 0 and "NOTE end" in said, said
    else:
        assert status != 0 and "other is compiled for ethos-u55-256, and Arm's driver" in said, said


def test_the_pages_manifest_is_wests() -> None:
    (project,) = snippets("yaml", "Zephyr")
    text = f"manifest:\n  projects:\n{project}"
    manifest = Manifest.from_data(text.replace("NAME", "kws"), import_flags=ImportFlag.IGNORE)
    assert [project.path for project in manifest.projects if project.name == "kws"] == [
        "modules/kws"
    ]


def labels(header: Path, name: str) -> tuple[str, str]:
    """Return the names of a network's input and output."""
    names = re.findall(rf"static inline int8_t \*{name}_(\w+)\(void\)", header.read_text())
    return names[0], names[1]


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Path]]:
    """Build an application with a neighbour, a network for the NPU, and one for the CPU."""
    folder = tmp_path_factory.mktemp("module")
    networks = {"digits_int8": DEMO, "image_net": image_net(folder / "image_net.tflite")}
    for name, npu in (("digits_int8", None), ("image_net", "none")):
        wanted = recipe(networks[name], npu=npu, platform=ZEPHYR)
        create_project(wanted, directory=folder / name, watch=Watch())
    for file, text in NEIGHBOUR.items():
        (folder / "neighbour" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "neighbour" / file).write_text(text)
    words = {"npu": "digits_int8", "cpu": "image_net", "ended": str(ENDED)}
    for kind, prefix in (("npu", ""), ("cpu", "cpu_")):
        name = words[kind]
        input_, output = labels(folder / name / "model" / f"{name}.h", name)
        words |= {f"{prefix}in": input_, f"{prefix}out": output}
        words |= {f"{prefix}IN": input_.upper(), f"{prefix}OUT": output.upper()}
        words[kind.upper()] = name.upper()
    product = folder / "product"
    (product / "src").mkdir(parents=True)
    (product / "src" / "main.c").write_text(MAIN.format(**words))
    (options,) = snippets("ini", "Zephyr")
    (product / "prj.conf").write_text(f"{options}CONFIG_NEIGHBOUR=y\n")
    (overlay,) = snippets("dts", "Zephyr")
    (product / "app.overlay").write_text(overlay)
    (lines,) = snippets("cmake", "Zephyr")
    modules = '" "'.join(
        str(folder / module) for module in ("neighbour", "image_net", "digits_int8")
    )
    (product / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        f"{lines.replace('PATH', modules)}project(product C)\n"
        "target_sources(app PRIVATE src/main.c)\n"
    )
    base = find_zephyr_base(product)
    target = choose_target(BOARD, read_version(base), "qemu")
    environment = {
        "ZEPHYR_TOOLCHAIN_VARIANT": "cross-compile",
        "CROSS_COMPILE": "/usr/bin/arm-none-eabi-",
        **os.environ,
    }
    configure = ["cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DBOARD={target}"]
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(
            command, cwd=product, env=environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return product / "build" / "zephyr" / "zephyr.elf", networks


@needs_zephyr
@needs_qemu
def test_an_application_runs_two_modules_beside_a_third(
    application: tuple[Path, dict[str, Path]], capfd: pytest.CaptureFixture[str]
) -> None:
    elf, networks = application
    end = attach_firmware(elf, "corstone300", limit_s=120, log=lambda _run: None)
    said = capfd.readouterr().out
    assert end.status == ENDED, said
    assert end.inferences == 1
    for name, file in networks.items():
        network = frontend.read(file)
        tensor = network.inputs[0]
        sample = (np.arange(tensor.elements) * FACTOR).astype(np.int8).reshape(tensor.shape)
        (golden,) = golden_outputs(network, [{tensor.name: sample}])
        (line,) = re.findall(rf"^{name}:(.*?)\r?$", said, re.MULTILINE)
        expected = next(iter(golden.values())).ravel().tolist()
        assert [int(word) for word in line.split()] == expected
