"""Warnings about our files in a build of Zephyr, with more of them enabled than Zephyr does."""

import json
import shlex
import subprocess
from pathlib import Path

STRICT = ("-fsyntax-only", "-Wall", "-Wextra", "-Wconversion")


def strict_warnings(project: Path, build: Path) -> dict[str, list[str]]:
    """Return the lines of warnings for each C file of a project, by its name.

    `build` is the project's build directory. Zephyr's headers count as system headers, since they
    have warnings of their own.
    """
    warnings = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.is_relative_to(project) and not file.is_relative_to(project / "build"):
            command = _strict(shlex.split(entry["command"]), project)
            done = subprocess.run(
                command, cwd=entry["directory"], capture_output=True, text=True, check=False
            )
            said = done.stderr.splitlines()
            warnings[file.relative_to(project).as_posix()] = [
                line for line in said if "warning:" in line or "error:" in line
            ]
    return warnings


def _strict(words: list[str], project: Path) -> list[str]:
    """Return a compiler's command with our warnings, which writes nothing."""
    is_wrapped = words[0].endswith("ccache")
    words = words[1:] if is_wrapped else words
    end = words.index("-o")
    words = [word for word in words[:end] + words[end + 2 :] if not word.startswith("-fcallgraph")]
    ours = f"-I{project}"
    return [
        f"-isystem{word[2:]}" if word.startswith("-I") and not word.startswith(ours) else word
        for word in words
    ] + list(STRICT)
