"""Files that come with ethosgen: what Python compiles beside them is not among them."""

from pathlib import Path

from ethosgen.host.resources import files_below


def test_compiled_files_are_left_out(tmp_path: Path) -> None:
    for name in ("b.py", "a/c.txt", "a/__pycache__/c.pyc", "__pycache__/b.pyc"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    names = [path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path)]
    assert names == ["a/c.txt", "b.py"]
    assert files_below(tmp_path / "b.py") == [tmp_path / "b.py"]
