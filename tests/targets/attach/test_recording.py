"""A recorded console has what its two lines carried."""

from ethosgen.targets.attach.recording import RecordedConsole


def test_both_lines_are_recorded_whole() -> None:
    """QEMU has handles of its own, so the context closes ours only after the run."""
    console = RecordedConsole(2)
    uart = console.connections.lines[2]
    semihosting = console.connections.semihosting.console
    assert semihosting is not None
    with console:
        uart.sendall(b"a" * 100_000)
        semihosting.sendall("é".encode())
    assert len(console.text) == 100_001
    assert console.text.count("a") == 100_000 and console.text.count("é") == 1


def test_a_run_that_never_started_has_no_text() -> None:
    with RecordedConsole(0) as console:
        pass
    assert console.text == ""
