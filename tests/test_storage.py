"""Places that cannot be written to: one sentence from every command, and no verdict's status."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen.host.storage import explain_storage, require_writable
from ethosgen.values.errors import InputError
from networks import Network

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
def model(tmp_path: Path) -> Path:
    net = Network("net")
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
    ],
)
def test_a_read_only_place_is_one_sentence(
    tmp_path: Path, model: Path, arguments: tuple[str, ...]
) -> None:
    only = tmp_path / "only"
    shown = [a.replace("MODEL", str(model)).replace("ONLY", str(only)) for a in arguments]
    done = run_read_only(only, *shown)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1


@needs_mounts
def test_a_read_only_project_is_not_built_but_said_to_be_one(tmp_path: Path, model: Path) -> None:
    place = tmp_path / "firmware"
    subprocess.run(
        [sys.executable, "-m", "ethosgen", "project", model, "--board", "corstone300", "-o", place],
        check=True,
        capture_output=True,
    )
    script = f"mount --bind {place} {place} && mount -o remount,bind,ro {place} && exec "
    done = in_namespace(f"{script} {sys.executable} -m ethosgen build {place}")
    assert done.returncode == 2
    assert f"'{place}' cannot be written to" in done.stderr


def test_a_project_that_cannot_be_written_to_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is no folder"):
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
