"""Plug-ins of QEMU are compiled once, into the user's cache folder."""

from pathlib import Path

import pytest

from ethosgen.host import kept_files
from ethosgen.host.qemu_plugins import stored_plugin
from ethosgen.values.errors import ToolError
from tests.support.needs import needs_qemu


@needs_qemu
def test_a_plugin_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_files, "cache_folder", lambda: tmp_path / "cache")
    source = tmp_path / "plugin.c"
    source.write_text("int qemu_plugin_version = PLUGIN_VERSION;\n")
    first = stored_plugin(source, "a plugin")
    first.write_bytes(b"as it was")
    again = stored_plugin(source, "a plugin")
    assert again == first and again.read_bytes() == b"as it was"
    source.write_text("int qemu_plugin_version = PLUGIN_VERSION; int more;\n")
    assert stored_plugin(source, "a plugin") != first
    assert len(list((tmp_path / "cache" / "plugins").iterdir())) == 2, "nothing else stays"


@needs_qemu
def test_a_plugin_that_does_not_compile_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "cache_folder", lambda: tmp_path / "cache")
    source = tmp_path / "plugin.c"
    source.write_text("no C\n")
    with pytest.raises(ToolError, match="cannot build a plugin"):
        stored_plugin(source, "a plugin")
    assert not list((tmp_path / "cache").rglob("*.so"))


@needs_qemu
def test_a_plugin_exists_where_the_cache_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file, not a folder")
    monkeypatch.setattr(kept_files, "cache_folder", lambda: taken)
    source = tmp_path / "plugin.c"
    source.write_text("int qemu_plugin_version = PLUGIN_VERSION;\n")
    assert stored_plugin(source, "a plugin").read_bytes()[:4] == b"\x7fELF"
