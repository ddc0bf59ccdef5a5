"""`make setup` on machines that lack things, played with stand-ins for every command it calls."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

ORDINARY = (
    "awk bash cat cp chmod dirname env grep head id mkdir mktemp printf pwd rm sh sha256sum tail"
).split()
TOOLS = {
    "arm-none-eabi-gcc": "echo /opt/arm/libc.a",
    "qemu-system-arm": "",
    "aarch64-linux-gnu-g++": "echo /opt/arm64/libc.a",
    "qemu-aarch64": "",
    "ccache": "",
    "cmake": "",
    "ninja": "",
    "make": "",
    "cc": "",
}
PYTHON = """
echo "python $*" >>"$CALLS"
case "$*" in
  *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  *"-m pip"*) exit ${PIP_STATUS:-0} ;;
  *version_info\\[:2\\]*) echo 3.12 ;;
  *--version*) echo "Python 3.12.0" ;;
esac
"""


class Computer:
    """A directory tree with the setup script in it, and a PATH of stand-ins."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.calls = root / "calls"
        self.project = root / "project"
        (self.project / "tools").mkdir(parents=True)
        self.bin.mkdir()
        self.calls.touch()
        shutil.copy(ROOT / "tools" / "setup.sh", self.project / "tools")
        (self.project / "pyproject.toml").write_text("[project]\n")
        for name in ORDINARY:
            program = shutil.which(name)
            if program:
                (self.bin / name).symlink_to(program)

    def add(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('sh')}\n{script}\n")
        path.chmod(0o755)

    def add_everything(self) -> None:
        for name, script in TOOLS.items():
            self.add(name, script)
        self.add("python3", PYTHON)

    def add_apt(self, status: int = 0) -> None:
        self.add("apt-get", f'echo "apt-get $*" >>"$CALLS"; echo from apt >&2; exit {status}')

    def be_user(self, number: int) -> None:
        self.add("id", f"echo {number}")

    def setup(self, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / "bash", self.project / "tools" / "setup.sh"],
            env={"PATH": str(self.bin), "CALLS": str(self.calls), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def called(self, word: str) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if word in line]


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    return Computer(tmp_path)


def test_a_whole_machine_gets_an_environment_and_then_nothing_more(computer: Computer) -> None:
    computer.add_everything()
    first = computer.setup()
    assert first.returncode == 0, first.stderr
    assert "installing Python packages" in first.stdout
    assert len(computer.called("-m pip")) == 1
    second = computer.setup()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert len(computer.called("-m pip")) == 1


def test_another_pyproject_means_installing_again(computer: Computer) -> None:
    computer.add_everything()
    computer.setup()
    (computer.project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert computer.setup().returncode == 0
    assert len(computer.called("-m pip")) == 2
    assert len(computer.called("-m venv")) == 1


def test_an_environment_that_was_moved_is_made_again(computer: Computer) -> None:
    computer.add_everything()
    computer.setup()
    computer.project = computer.project.rename(computer.root / "elsewhere")
    done = computer.setup()
    assert done.returncode == 0, done.stderr
    assert "made in another directory" in done.stdout
    assert len(computer.called("-m venv")) == 2


def test_root_on_a_bare_machine_updates_once_and_installs_what_is_missing(
    computer: Computer,
) -> None:
    computer.add_everything()
    for name in ("arm-none-eabi-gcc", "qemu-system-arm"):
        (computer.bin / name).unlink()
    computer.add_apt()
    computer.be_user(0)
    done = computer.setup()
    assert done.returncode == 0, done.stderr
    assert computer.called("apt-get") == [
        "apt-get update -q",
        "apt-get install -y -q --no-install-recommends "
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
    ]
    assert "from apt" not in done.stdout + done.stderr


def test_a_compiler_without_its_c_library_is_seen(computer: Computer) -> None:
    computer.add_everything()
    for name in ("arm-none-eabi-gcc", "aarch64-linux-gnu-g++"):
        computer.add(name, "echo libc.a")
    computer.add_apt()
    computer.be_user(0)
    assert computer.setup().returncode == 0
    assert "libnewlib-arm-none-eabi" in computer.called("apt-get install")[0]
    assert "libc6-dev-arm64-cross" in computer.called("apt-get install")[0]


def test_a_user_without_sudo_is_told_the_command(computer: Computer) -> None:
    computer.add_everything()
    (computer.bin / "cmake").unlink()
    computer.add_apt()
    computer.be_user(1000)
    done = computer.setup()
    assert done.returncode == 1
    assert done.stderr == (
        "setup: ask an administrator to run:  apt-get update && apt-get install -y cmake\n"
    )
    assert not computer.called("apt-get")


def test_a_user_with_sudo_installs_through_it(computer: Computer) -> None:
    computer.add_everything()
    (computer.bin / "ninja").unlink()
    computer.add_apt()
    computer.be_user(1000)
    computer.add("sudo", '[ "$1" = -v ] && exit 0; echo "sudo $*" >>"$CALLS"; exec env "$@"')
    assert computer.setup().returncode == 0
    assert len(computer.called("sudo")) == len(computer.called("apt-get -")) + 2
    assert "ninja-build" in computer.called("apt-get install")[-1]


def test_another_system_is_told_what_to_install(computer: Computer) -> None:
    computer.add_everything()
    (computer.bin / "qemu-system-arm").unlink()
    done = computer.setup()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "qemu-system-arm" in done.stderr


def test_a_failing_apt_shows_its_words(computer: Computer) -> None:
    computer.add_everything()
    (computer.bin / "cmake").unlink()
    computer.add_apt(status=100)
    computer.be_user(0)
    done = computer.setup()
    assert done.returncode == 1
    assert "from apt" in done.stderr


@pytest.mark.parametrize("status", [0, 100])
def test_a_machine_without_ccache_works_too(computer: Computer, status: int) -> None:
    computer.add_everything()
    (computer.bin / "ccache").unlink()
    computer.add_apt(status)
    computer.be_user(0)
    assert computer.setup().returncode == 0
    assert computer.called("apt-get") == [
        "apt-get install -y -q --no-install-recommends ccache",
    ]


def test_a_failing_pip_leaves_no_stamp(computer: Computer) -> None:
    computer.add_everything()
    assert computer.setup(PIP_STATUS="1").returncode == 1
    assert computer.setup().returncode == 0
    assert len(computer.called("-m pip")) == 2


def test_a_python_that_is_too_old_is_refused_with_the_remedy(computer: Computer) -> None:
    computer.add_everything()
    computer.add("python3", 'case "$*" in *--version*) echo Python 3.9.2 ;; *) exit 1 ;; esac')
    computer.add_apt()
    computer.be_user(0)
    done = computer.setup()
    assert done.returncode == 1
    assert "make setup PYTHON=" in done.stderr


def test_a_newer_python_of_the_system_is_installed_beside_one_that_is_too_old(
    computer: Computer,
) -> None:
    computer.add_everything()
    computer.add("python3", 'case "$*" in *--version*) echo Python 3.10.12 ;; *) exit 1 ;; esac')
    computer.add("apt-cache", 'case "$*" in *3.11*) exit 0 ;; *) exit 100 ;; esac')
    (computer.root / "python3.11").write_text(f"#!{shutil.which('sh')}\n{PYTHON}")
    computer.add(
        "apt-get",
        'echo "apt-get $*" >>"$CALLS"\n'
        f'case "$*" in *python3.11*) cp {computer.root}/python3.11 {computer.bin}/ '
        f"&& chmod +x {computer.bin}/python3.11 ;; esac",
    )
    computer.be_user(0)
    done = computer.setup()
    assert done.returncode == 0, done.stderr
    assert "python3.11 python3.11-venv" in computer.called("apt-get install")[0]
    assert computer.called("-m venv")
