"""The Dockerfile: what it names is there, and each of its steps works in a Debian by debootstrap.

No builder of containers is needed: the same commands change a copy of DEBIAN_ROOT, which
`debootstrap trixie` makes, with chroot.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT
from tests.test_setup import TOOLS

DOCKERFILE = ROOT / "Dockerfile"
IGNORED = (ROOT / ".dockerignore").read_text().split()
NOT_IN_IT = {"aarch64-linux-gnu-g++", "qemu-aarch64", "ccache", "make", "cc"}
"""Programs of `make setup` for Linux projects and for tests."""
PROGRAMS = {"gcc-arm-none-eabi": "arm-none-eabi-gcc", "ninja-build": "ninja"}
"""By package, the program that has another name."""


def instructions() -> list[tuple[str, str]]:
    """Return each instruction and its arguments, with continued lines joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M).replace("\\\n", " ")
    return [
        (word, rest)
        for word, _, rest in (line.partition(" ") for line in text.splitlines())
        if word
    ]


def installed(stage: int) -> set[str]:
    """Return the packages that a stage installs by apt-get."""
    words: list[list[str]] = []
    for word, rest in instructions():
        if word == "FROM":
            words.append([])
        elif word == "RUN" and "apt-get install" in rest:
            words[-1] += rest.partition("apt-get install")[2].partition("&&")[0].split()
    return {word for word in words[stage] if not word.startswith("-")}


def test_it_has_the_programs_that_firmware_needs() -> None:
    programs = {PROGRAMS.get(package, package) for package in installed(1)}
    assert programs >= set(TOOLS) - NOT_IN_IT
    assert "libnewlib-arm-none-eabi" in installed(1)


def test_it_builds_from_the_repositorys_own_files() -> None:
    words = [word for word, _ in instructions()]
    assert (words[0], words[-1]) == ("FROM", "ENTRYPOINT")
    assert ("COPY", ". /source") in instructions()
    kept = {path.name for path in ROOT.iterdir() if not is_ignored(path.name)}
    assert kept >= {"pyproject.toml", "README.md", "LICENSE", "LICENSES", "generator", "templates"}
    assert kept >= {"boards", "accelerators", "zephyr_app", "demo"}
    assert not kept & {".git", ".venv", "build", "dist"}


def is_ignored(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in IGNORED)


class Container:
    """A root file system that the Dockerfile's steps change; stages share it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        self.environment["DEBIAN_FRONTEND"] = "noninteractive"
        self.folder, self.entry = "/", []
        if "PIP_CERT" in os.environ:  # a network with a certificate of its own
            shutil.copy(os.environ["PIP_CERT"], root / "etc" / "pip.crt")
            self.environment["PIP_CERT"] = "/etc/pip.crt"

    def run(self, *command: str) -> str:
        words = [
            "chroot",
            str(self.root),
            "env",
            "-i",
            *(f"{k}={v}" for k, v in self.environment.items()),
        ]
        script = f"cd {shlex.quote(self.folder)} && exec {shlex.join(command)}"
        done = subprocess.run(
            [*words, "sh", "-c", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def do(self, word: str, rest: str) -> None:
        """Do one instruction."""
        match word:
            case "RUN":
                self.run("sh", "-c", rest)
            case "COPY" if rest.startswith("--from="):
                assert (self.root / rest.split()[2].lstrip("/")).is_dir(), (
                    "an earlier stage made it"
                )
            case "COPY":
                self._copy(self.root / rest.split()[1].lstrip("/"))
            case "ENV":
                name, _, value = rest.partition("=")
                self.environment[name] = value
            case "WORKDIR":
                (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
                self.folder = rest
            case "ENTRYPOINT":
                self.entry = json.loads(rest)
            case _:
                assert word == "FROM" and rest.startswith("debian:trixie-slim")

    def _copy(self, place: Path) -> None:
        ignored = shutil.ignore_patterns(*IGNORED, "__pycache__")
        shutil.copytree(ROOT, place, ignore=ignored, symlinks=True)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    root = tmp_path / "root"
    subprocess.run(
        ["cp", "-a", "--one-file-system", os.environ["DEBIAN_ROOT"], str(root)], check=True
    )
    for file in ("resolv.conf", "hosts"):
        shutil.copy(Path("/etc") / file, root / "etc" / file)
    mounted = []
    try:
        for kind, place in (("proc", "proc"), ("tmpfs", "dev/shm")):
            (root / place).mkdir(exist_ok=True, parents=True)
            subprocess.run(["mount", "-t", kind, kind, str(root / place)], check=True)
            mounted.append(root / place)
        for device in ("null", "zero", "urandom", "random"):
            (root / "dev" / device).touch(exist_ok=True)
            subprocess.run(
                ["mount", "--bind", f"/dev/{device}", str(root / "dev" / device)], check=True
            )
            mounted.append(root / "dev" / device)
        yield Container(root)
    finally:
        for place in reversed(mounted):
            subprocess.run(["umount", "--lazy", str(place)], check=False)


@pytest.mark.slow
@pytest.mark.debian
@pytest.mark.qemu
def test_each_step_works_and_a_network_is_verified(container: Container) -> None:
    for word, rest in instructions():
        container.do(word, rest)
    report = container.run(*container.entry, "doctor")
    assert "missing" not in report, report
    shutil.copy(ROOT / "demo" / "digits_int8.tflite", container.root / "work")
    said = container.run(*container.entry, "verify", "digits_int8.tflite", "--board", "corstone300")
    assert said.startswith("PASS  digits_int8 on corstone300"), said
