"""Python environments: found, missing, made by pip, and scripts that run in them."""

import sys
import textwrap
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ethosgen.host import extras, installation
from ethosgen.host.child import ChildError
from ethosgen.host.environments import ENVIRONMENTS, STAMP, Environment, python_of
from ethosgen.host.installation import install
from ethosgen.host.script import run_script
from ethosgen.host.tools import run_command
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.watch import Watch
from tests.support.needs import needs_torch, needs_tosa

HERE = Environment("here", "is this interpreter", ("json", "numpy"))


@dataclass(frozen=True)
class Toy(Environment):
    """An environment in a folder of the test, with what the test says in it."""

    place: Path = Path()
    wanted: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.place

    @property
    def requirements(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.wanted


def wheel(folder: Path, source: str) -> Path:
    """Write the wheel of a package `toy` with one module."""
    path = folder / "toy-1.0-py3-none-any.whl"
    about = "toy-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy.py", source)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{about}/WHEEL", tag)
        archive.writestr(f"{about}/RECORD", "")
    return path


def toy(tmp_path: Path, source: str = "answer = 42\n") -> Toy:
    return Toy(
        "toy", "plays", ("toy",), place=tmp_path / "made", wanted=(str(wheel(tmp_path, source)),)
    )


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HERE", "TOY"):
        monkeypatch.delenv(f"ETHOSGEN_{name}_PYTHON", raising=False)


def test_this_interpreter_serves_if_it_has_the_packages() -> None:
    assert HERE.find() == Path(sys.executable)


def test_a_missing_environment_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        toy(tmp_path).find()
    said = str(caught.value)
    assert "the Python environment 'toy', which plays, is missing" in said
    assert "ethosgen doctor --install toy" in said
    assert "ETHOSGEN_TOY_PYTHON" in said


@pytest.mark.parametrize(
    ("named", "sentence"),
    [("/none/python", "is not an executable program"), (sys.executable, "is not a Python with")],
)
def test_a_wrong_variable_is_not_passed_over(
    named: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETHOSGEN_TOY_PYTHON", named)
    with pytest.raises(ToolError, match=sentence):
        toy(tmp_path).find()


@pytest.mark.slow
def test_an_environment_is_made_used_and_made_again_for_other_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = toy(tmp_path)
    said: list[str] = []
    python = install(environment, Watch(said.append))
    assert python == python_of(tmp_path / "made") == environment.find()
    assert said[-2].endswith(": installing collected")  # the last that pip announces
    assert run_command([str(python), "-c", "import toy; print(toy.answer)"], 60) == "42\n"
    before = (environment.folder / STAMP).stat().st_mtime_ns
    assert install(environment, Watch()) == python
    assert (environment.folder / STAMP).stat().st_mtime_ns == before  # complete: nothing to do

    newer = Toy(
        "toy", "plays", ("toy",), place=environment.place, wanted=(*environment.wanted, "pip")
    )
    with pytest.raises(ToolError, match="incomplete or made for other versions"):
        newer.find()
    install(newer, Watch())
    assert newer.find() == python
    monkeypatch.setenv("ETHOSGEN_HERE_PYTHON", str(python))
    named = Environment("here", "is named", ("toy",))
    assert named.find() == python


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_is_told(tmp_path: Path) -> None:
    broken = toy(tmp_path, "raise OSError('no libtoy.so')\n")
    with pytest.raises(ToolError, match=r"installed but does not work: .*no libtoy\.so"):
        install(broken, Watch())
    with pytest.raises(ToolError, match="incomplete"):
        broken.find()


@pytest.mark.slow
def test_pips_error_is_told_in_one_sentence(tmp_path: Path) -> None:
    environment = Toy(
        "toy", "plays", ("toy",), place=tmp_path / "e", wanted=(str(tmp_path / "none.whl"),)
    )
    with pytest.raises(
        ToolError, match=r"cannot make the Python environment 'toy' .*none\.whl"
    ) as e:
        install(environment, Watch())
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(("version", "ours"), [("22.2", False), ("23.0.1", True)])
def test_a_pip_that_is_too_old_for_another_interpreter_is_copied(
    version: str, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation.importlib.metadata, "version", lambda _: version)
    pip, venv = installation._tools(Path("made/bin/python"))
    assert (pip[0] == sys.executable) == ("--without-pip" in venv) == ours
    assert "made/bin/python" in pip


def test_a_folder_of_the_user_is_left_alone(tmp_path: Path) -> None:
    environment = toy(tmp_path)
    environment.place.mkdir()
    (environment.place / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="was not made by ethosgen"):
        install(environment, Watch())
    assert [path.name for path in environment.place.iterdir()] == ["mine.txt"]


def test_one_environment_may_serve_as_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "here", HERE)
    small = Toy("toy", "plays", ("toy",), within="here", place=tmp_path / "made")
    assert small.find() == Path(sys.executable)


def test_versions_come_from_pyproject_in_a_checkout() -> None:
    assert any(line.startswith("torch==") for line in ENVIRONMENTS["torch"].requirements)
    assert any(line.startswith("apache-tvm==") for line in ENVIRONMENTS["torch"].requirements)


def test_versions_come_from_the_metadata_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2", "apache-tvm==0.27.*", 'torch==2.13.*; extra == "torch"', "x; extra=='dev'"]
    monkeypatch.setattr(extras, "is_checkout", lambda: False)
    monkeypatch.setattr("importlib.metadata.requires", lambda _: lines)
    environment = Environment("torch", "", ("torch",), shared=("apache-tvm",))
    assert environment.requirements == ("torch==2.13.*", "apache-tvm==0.27.*")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent(
            """
            import os, time
            import numpy as np
            from ethosgen.values.errors import InputError

            def double(request, arrays, folder):
                print("printed")
                doubled = {name: request["by"] * array for name, array in arrays.items()}
                return {"text": (folder / "some.bin").read_bytes().hex()}, doubled

            def refuse(request, arrays, folder):
                raise InputError("this is no network")

            def complain(request, arrays, folder):
                raise ValueError("too bad")

            def insist(request, arrays, folder):
                assert not request, ""

            def pickle(request, arrays, folder):
                return {}, {"x": np.array([object()])}

            def crash(request, arrays, folder):
                os.abort()

            def leave(request, arrays, folder):
                os._exit(0)

            def hang(request, arrays, folder):
                time.sleep(60)
            """
        )
    )
    return path


def test_arrays_and_files_pass_whatever_their_names(script: Path) -> None:
    arrays = {"file": np.arange(3, dtype=np.int8), "a/b:0": np.ones((2, 0), np.float32)}
    reply = run_script(HERE, script, "double", {"by": 2}, arrays, {"some.bin": b"\x01\xff"})
    assert reply.values == {"text": "01ff"}
    assert list(reply.arrays) == ["file", "a/b:0"]
    assert reply.arrays["file"].tolist() == [0, 2, 4]
    assert reply.arrays["file"].dtype == np.int8
    assert reply.arrays["a/b:0"].shape == (2, 0)
    assert reply.log == "printed\n"


@pytest.mark.parametrize(
    ("function", "how", "words"),
    [
        ("refuse", "refused", "this is no network"),
        ("complain", "raised", "ValueError: too bad"),
        (
            "insist",
            "raised",
            r"AssertionError in insist of script.py, line \d+: assert not request",
        ),
        ("pickle", "died", "left no answer"),
        ("crash", "died", "SIGABRT"),
        ("leave", "died", "left no answer"),
        ("hang", "late", "did not finish in 3 s"),
    ],
)
def test_each_end_is_told(script: Path, function: str, how: str, words: str) -> None:
    with pytest.raises(ChildError, match=words) as caught:
        run_script(HERE, script, function, {"by": 2}, limit_s=3 if how == "late" else 120)
    assert caught.value.how == how


@needs_torch
def test_the_environment_torch_works() -> None:
    torch = ENVIRONMENTS["torch"]
    assert torch.fault(torch.find()) == ""


@needs_tosa
def test_the_environment_tosa_works() -> None:
    tosa = ENVIRONMENTS["tosa"]
    assert tosa.fault(tosa.find()) == ""
