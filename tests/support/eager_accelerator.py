"""Copies of accelerators that take all that they can: without cycles they are never too dear."""

from pathlib import Path

from ethosgen.backend.wrapped.accelerator import load_wrapped


def eager_copy(name: str, place: Path) -> Path:
    """Write an accelerator's folder without the cycles of its operators; return it."""
    origin = load_wrapped(name).folder
    folder = place / origin.name
    for path, data in origin.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "accelerator.toml").write_text("\n".join(_without_cycles(origin.text)) + "\n")
    return folder


def _without_cycles(text: str) -> list[str]:
    """Return the lines but those of `cycles`, which may be a text of several lines."""
    kept, is_inside = [], False
    for line in text.splitlines():
        is_first = line.startswith("cycles")
        if is_first:
            is_inside = line.count('"""') == 1
        elif is_inside:
            is_inside = '"""' not in line
        else:
            kept.append(line)
    return kept
