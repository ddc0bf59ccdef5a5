import pytest

from ethosgen.doctor import examine


def test_everything_that_is_needed_is_looked_for() -> None:
    names = {finding.name for finding in examine()}
    assert {"arm-none-eabi-gcc", "cmake", "qemu-system-arm", "apache-tvm"} <= names


def test_what_is_missing_comes_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    missing = {finding.name: finding for finding in examine() if not finding.found}
    assert "apt-get install -y qemu-system-arm" in missing["qemu-system-arm"].remedy
