"""Places that cannot be written to: one sentence from every command, and no verdict's status."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from ethosgen.host.file_errors import explain_storage, require_writable
from ethosgen.host.tools import GCC
from ethosgen.values.errors import InputError
from tests.support.needs import needs_arm_gcc
from tests.support.networks import NetworkBuilder
from tests.support.pack_files import ENSEMBLE, description, serving, write_index
from tests.support.said import sentences

_READ_ONLY = (
    shutil.which("unshare")
    and not subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "ro", "none", "/mnt"],
        capture_output=True,
        check=False,
    ).returncode
)
needs_mounts = pytest.mark.skipif(not _READ_ONLY, reason="this user cannot mount")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    net = NetworkBuilder("net")
    net.relu(net.input((1, 4)))
    path = tmp_path / "net.tflite"
    path.write_bytes(net.build())
    return path


def run_read_only(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ethosgen in `folder`, which is a read-only file system."""
    folder.mkdir()
    command = " ".join([sys.executable, "-m", "ethosgen", *map(str, arguments)])
    mount = f"mount -t tmpfs -o ro none {folder} && cd {folder}"
    return in_namespace(f"{mount} && exec {command}")


def in_namespace(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script whose mounts are its own."""
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


@pytest.mark.slow
@needs_mounts
@pytest.mark.parametrize(
    "arguments",
    [
        ("project", "MODEL", "--board", "corstone300", "-o", "ONLY/firmware"),
        ("simulate", "MODEL", "--samples", "1", "--output", "ONLY/y.npz"),
        ("simulate", "MODEL", "--dump", "0=ONLY/y.npz"),
        ("simulate", "MODEL", "--samples", "1", "--output", "MODEL/y.npz"),
        ("verify", "MODEL", "--board", "corstone300", "--junit", "ONLY/y.xml"),
        ("boards", "new", "mine", "--like", "corstone300"),
        ("boards", "from-pack", "AE722F80", "--pack", "PACK"),
        ("boards", "from-pack", "AE722F80", "--pack", "PACK", "-o", "ONLY/mine.toml"),
        ("project", "MODEL", "--board", "corstone300", "--platform", "zephyr", "-o", "ONLY/x"),
        ("project", "MODEL", "--board", "corstone300", "--platform", "csolution", "-o", "ONLY/x"),
        ("project", "MODEL", "--board", "corstone300", "--platform", "library", "-o", "ONLY/x"),
    ],
)
def test_a_read_only_place_is_one_sentence(
    tmp_path: Path, network: Path, arguments: tuple[str, ...]
) -> None:
    only, pack = tmp_path / "only", tmp_path / "some.pdsc"
    pack.write_text(description("Alif", "Ensemble", ENSEMBLE))
    places = {"MODEL": network, "ONLY": only, "PACK": pack}
    shown = arguments
    for word, place in places.items():
        shown = tuple(argument.replace(word, str(place)) for argument in shown)
    done = run_read_only(only, *shown)
    assert done.returncode == 2, (done.stdout, done.stderr)
    said = sentences(done.stderr)
    assert "Traceback" not in done.stderr and len(said) == 1
    assert "a writable place" in said[0]


def made_project(place: Path, network: Path, *options: str) -> str:
    """Write a project, and return a script that makes it read-only."""
    ethosgen = [sys.executable, "-m", "ethosgen"]
    subprocess.run(
        [*ethosgen, "project", network, "-o", place, *options], check=True, capture_output=True
    )
    return f"mount --bind {place} {place} && mount -o remount,bind,ro {place}"


@pytest.mark.slow
@needs_mounts
@pytest.mark.parametrize("platform", ["baremetal", "zephyr", "csolution"])
def test_a_read_only_project_is_not_built_but_said_to_be_one(
    tmp_path: Path, network: Path, platform: str
) -> None:
    place = tmp_path / "firmware"
    script = made_project(place, network, "--board", "corstone300", "--platform", platform)
    done = in_namespace(f"{script} && exec {sys.executable} -m ethosgen build {place}")
    assert done.returncode == 2
    assert f"'{place}' is not writable" in done.stderr


@pytest.mark.slow
@needs_mounts
def test_a_solution_needs_more_than_its_build_folder(tmp_path: Path, network: Path) -> None:
    place = tmp_path / "firmware"
    script = made_project(place, network, "--board", "corstone300", "--platform", "csolution")
    (place / "build").mkdir()
    script += f" && mount -t tmpfs none {place}/build"
    done = in_namespace(f"{script} && exec {sys.executable} -m ethosgen build {place}")
    assert done.returncode == 2
    assert f"'{place}' is not writable" in done.stderr


@needs_arm_gcc
@needs_mounts
def test_a_read_only_project_is_flashed(tmp_path: Path, network: Path) -> None:
    """Even by a tool that takes other files than the one that is there."""
    objcopy = GCC.find().with_name("arm-none-eabi-objcopy")
    place, got = tmp_path / "firmware", tmp_path / "got"
    script = made_project(place, network, "--board", "alif-e7-hp")
    (place / "build" / "board").mkdir(parents=True)
    (tmp_path / "content").write_bytes(b"a firmware's")
    elf = place / "build" / "board" / "firmware.elf"
    options = ["-I", "binary", "-O", "elf32-littlearm", "--set-section-flags", ".data=alloc,load"]
    subprocess.run([objcopy, *options, tmp_path / "content", elf], check=True)
    program = tmp_path / "JLinkExe"
    program.write_text(f'#!/bin/sh\nfor last; do :; done\ncat "$last" > {got}\n')
    program.chmod(0o755)
    script += f" && export ETHOSGEN_JLINK={program}"
    done = in_namespace(f"{script} && exec {sys.executable} -m ethosgen flash {place} --with jlink")
    assert done.returncode == 0, done.stderr
    assert "firmware.hex" in got.read_text()


@pytest.mark.slow
@needs_mounts
def test_packs_are_fetched_where_no_cache_can_be_kept(tmp_path: Path) -> None:
    """cmsis-pack-manager keeps descriptions below HOME."""
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    with serving(tmp_path) as address:
        write_index(tmp_path, {("Alif", "E"): description("Alif", "E", ENSEMBLE)}, address)
        code = f"fetch({f'{address}/index.pidx'!r}, None, {str(scratch)!r})"
        code = f"from ethosgen.board.pack.fetch import fetch; print({code})"
        script = f"mount -t tmpfs -o ro none {home} && unset XDG_DATA_HOME && export HOME={home} "
        done = in_namespace(f"{script} NO_PROXY=127.0.0.1 && {sys.executable} -c {quote(code)}")
    assert "AE722F80" in done.stdout, done.stderr
    assert list((scratch / "descriptions").glob("*.pdsc"))


def test_a_project_that_cannot_be_written_to_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        require_writable(tmp_path / "file" / "build")
    require_writable(tmp_path / "new" / "build")


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.ENOTDIR])
def test_what_a_user_can_mend_is_named_with_its_place(number: int) -> None:
    told = explain_storage(OSError(number, os.strerror(number), "/there/file"))
    assert told is not None and "'/there/file'" in told and os.strerror(number) in told


def test_bugs_stay_bugs() -> None:
    assert explain_storage(FileNotFoundError(errno.ENOENT, "No such file", "x")) is None
    assert explain_storage(ValueError("x")) is None
    nowhere = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    assert "TMPDIR" in (explain_storage(nowhere) or "")


def test_a_bug_has_a_status_that_no_verdict_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from ethosgen import cli

    def crash(*_: object, **__: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(cli, "cli", crash)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == cli.BUG_STATUS == 70
    (log,) = tmp_path.glob("ethosgen-bug-*.log")
    assert str(log) in capsys.readouterr().err and "Traceback" in log.read_text()


def test_another_folder_is_advised_for_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="is not writable; choose another folder"):
        require_writable(tmp_path)
    with pytest.raises(InputError, match="is not writable; copy it"):
        require_writable(tmp_path, "copy it")
