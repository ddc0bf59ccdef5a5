"""The table of both compilers."""

from bench import compilers


def test_what_a_compiler_lacks_is_marked() -> None:
    gcc = {"cycles": 1_674_789, "library_bytes": 8_280, "flash_bytes": 60_000}
    clang = {"cycles": None, "library_bytes": 8_100, "flash_bytes": 59_000}
    figures = [{"name": "vww", "gcc": gcc, "clang": clang}, {"name": "kws", "gcc": gcc}]
    head, rows = compilers.rows(figures)
    assert head[:3] == ["network", "cycles, GCC", "cycles, Clang"]
    assert rows[0] == ["vww", "1,674,789", "-", "8,280", "8,100", "60,000", "59,000"]
    assert rows[1] == ["kws", "1,674,789", "-", "8,280", "-", "60,000", "-"]
