"""Finding Zephyr, its version and its board: one sentence for what is missing."""

import sys
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.platforms import ZEPHYR
from ethosgen.project import open_project, render, write
from ethosgen.toolchain import build_zephyr, find_zephyr
from ethosgen.toolchain.build_steps import run_step
from ethosgen.toolchain.zephyr import choose_target, find_zephyr_base, read_version
from ethosgen.values.errors import BuildError, InputError, ToolError
from tests.support.needs import needs_build
from tests.support.programs import make_cpu_program, make_program

BOARD = load_board("corstone300")


def write_version(place: Path, major: int, minor: int) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    lines = f"VERSION_MAJOR = {major}\nVERSION_MINOR = {minor}\nPATCHLEVEL = 0\n"
    (place / "VERSION").write_text(lines)
    return place


def test_zephyr_base_is_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEPHYR_BASE", str(tmp_path))
    assert find_zephyr_base(tmp_path / "app") == tmp_path


def test_zephyr_is_found_in_the_workspace_around_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    (tmp_path / ".west").mkdir()
    (tmp_path / ".west" / "config").write_text("[zephyr]\nbase = deps/zephyr\n")
    (tmp_path / "deps" / "zephyr").mkdir(parents=True)
    assert find_zephyr_base(tmp_path / "apps" / "kws") == tmp_path / "deps" / "zephyr"


def test_without_zephyr_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    with pytest.raises(
        ToolError, match=r"set ZEPHYR_BASE .* or create a workspace with: west init"
    ):
        find_zephyr_base(tmp_path / "app")


def test_damaged_settings_of_west_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    settings = tmp_path / ".west" / "config"
    settings.parent.mkdir()
    for text in ("base = zephyr", "[zephyr]\nbase = %(nothing)s"):
        settings.write_text(text)
        with pytest.raises(ToolError, match=r"settings in '.*config' are unreadable"):
            find_zephyr_base(tmp_path / "app")


def test_a_directory_that_is_not_zephyr_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="has no VERSION file of Zephyr"):
        read_version(tmp_path)


@pytest.mark.parametrize("version", [(3, 7), (4, 2), (4, 3), (5, 0)])
def test_versions_that_are_supported(tmp_path: Path, version: tuple[int, int]) -> None:
    assert read_version(write_version(tmp_path, *version)) == version


@pytest.mark.parametrize("version", [(2, 7), (3, 6), (4, 0), (4, 1)])
def test_versions_that_are_not(tmp_path: Path, version: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"is not supported; ethosgen supports 3\.7, and 4\.2"):
        read_version(write_version(tmp_path, *version))


@pytest.mark.parametrize(
    ("version", "on", "target"),
    [
        ((3, 7), "qemu", "mps3/an547"),
        ((3, 7), "board", "mps3/an547"),
        ((4, 2), "qemu", "mps3/corstone300/an547"),
        ((4, 3), "board", "mps3/corstone300/an547"),
        ((3, 7), "native", "native_sim/native/64"),
    ],
)
def test_the_board_follows_from_version_and_target(
    version: tuple[int, int], on: str, target: str
) -> None:
    assert choose_target(BOARD, version, on) == target


def test_a_way_that_zephyr_does_not_have_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"Zephyr 3\.7 has no board for .* with --on mars; it has: mps3"
    ):
        choose_target(BOARD, (3, 7), "mars")


def test_what_was_not_built_is_told(tmp_path: Path) -> None:
    write(render(make_program(), BOARD, platform=ZEPHYR), tmp_path / "app")
    with pytest.raises(InputError, match=r"was not built for qemu yet; run: ethosgen build"):
        find_zephyr(open_project(tmp_path / "app"))


def test_without_a_compiler_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(render(make_program(), BOARD, platform=ZEPHYR), tmp_path / "app")
    monkeypatch.setenv("ZEPHYR_BASE", str(write_version(tmp_path / "zephyr", 3, 7)))
    for variable in ("ZEPHYR_TOOLCHAIN_VARIANT", "ZEPHYR_SDK_INSTALL_DIR"):
        monkeypatch.delenv(variable, raising=False)
    for program in ("cmake", "ninja"):
        (tmp_path / program).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"arm-none-eabi-gcc.*install"):
        build_zephyr(open_project(tmp_path / "app"))


@needs_build
def test_native_sim_takes_the_compiler_of_this_machine_without_zephyrs_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(render(make_program(), BOARD, platform=ZEPHYR), tmp_path / "app")
    monkeypatch.setenv("ZEPHYR_BASE", str(write_version(tmp_path / "zephyr", 4, 3)))
    for variable in ("ZEPHYR_TOOLCHAIN_VARIANT", "ZEPHYR_SDK_INSTALL_DIR"):
        monkeypatch.delenv(variable, raising=False)
    for program in ("cmake", "ninja"):
        text = "#!/bin/sh\necho variant ${ZEPHYR_TOOLCHAIN_VARIANT-none}.\nexit 1\n"
        (tmp_path / program).write_text(text)
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for chosen, variant in ((None, "host"), ("llvm", "llvm")):
        if chosen:
            monkeypatch.setenv("ZEPHYR_TOOLCHAIN_VARIANT", chosen)
        with pytest.raises(BuildError, match=rf"variant {variant}\."):
            build_zephyr(open_project(tmp_path / "app"), "native")


@pytest.mark.parametrize(
    ("name", "present", "missing"),
    [
        ("corstone300", ["cmsis_6"], "hal_ethos_u"),
        ("nrf52840dk", ["cmsis_6", "hal_ethos_u"], "hal_nordic"),
        ("nucleo-f746zg", ["cmsis"], "cmsis_6 or hal_stm32"),
        ("rpi-pico2", ["cmsis_6", "hal_rpi_pico"], None),
    ],
)
def test_a_module_that_zephyr_lacks_is_named(
    name: str,
    present: list[str],
    missing: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kconfig itself says only that options of the module are undefined, in a hundred lines."""
    board = load_board(name)
    program = make_program() if board.npu else make_cpu_program()
    write(render(program, board, platform=ZEPHYR), tmp_path / "app")
    on = "qemu" if board.run.qemu else "board"
    place = tmp_path / "app" / "build" / on

    def step(command: list[str], *_: object) -> None:
        place.mkdir(parents=True)
        listed = [f'"{module}":"/modules/{module}":"${{DIR}}"\n' for module in present]
        (place / "zephyr_modules.txt").write_text("".join(listed))
        raise BuildError("what Kconfig said")

    monkeypatch.setattr("ethosgen.toolchain.build_steps.run_step", step)
    monkeypatch.setenv("ZEPHYR_BASE", str(write_version(tmp_path / "zephyr", 4, 3)))
    said = f"Zephyr found no module {missing}; in a west workspace" if missing else "what Kconfig"
    with pytest.raises(BuildError, match=said):
        build_zephyr(open_project(tmp_path / "app"), on)


def test_what_kconfig_said_is_told(tmp_path: Path) -> None:
    said = (
        "-- Zephyr version: 4.3.0\\n" * 9
        + "warning: NOBODY (defined at prj.conf:3) is not known\\n\\n"
        + "error: Aborting due to Kconfig warnings\\n\\n"
        + "CMake Error at cmake/modules/kconfig.cmake:393 (message):\\n"
        + "  command failed with return code: 1\\n"
    )
    with pytest.raises(BuildError, match=r"does not build:\n(.*\n)*warning: NOBODY") as caught:
        run_step([sys.executable, "-c", f"print('{said}'); raise SystemExit(1)"], tmp_path)
    assert str(caught.value).count("Zephyr version") < 9
