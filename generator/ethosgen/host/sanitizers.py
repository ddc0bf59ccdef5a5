"""The compiler's sanitizers for a user's C: their options, and their reports in one sentence."""

import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ethosgen.host.tools import HOST_GCC, CommandError, run_command
from ethosgen.values.errors import ToolError

ADDRESS = ("-fsanitize=address", "-fno-omit-frame-pointer")
"""They end a program that reads or writes outside its memories, and say where."""
UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")
"""They end a program whose behaviour C leaves undefined, such as an overflow."""
_TRY_S = 60.0
_ACCESS = re.compile(r"AddressSanitizer: (?P<what>[\w-]+)")
_IS_WRITE = re.compile(r"^(WRITE|READ) of size", re.MULTILINE)
_FRAME = re.compile(r"^ *#\d+ 0x\w+ in \w+ (?P<where>\S+:\d+)", re.MULTILINE)
_UNDEFINED = re.compile(r"^(?P<where>\S+?:\d+):\d+: runtime error: (?P<what>.*)$", re.MULTILINE)
_KINDS = {"use-after-poison": "overflow"}
"""Our words for kinds of reports; the guards of a call's memories are poisoned."""


@cache
def sanitizers() -> tuple[str, ...]:
    """Return the options for this machine's compiler, none if it has no sanitizers."""
    options = (*ADDRESS, *UNDEFINED)
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as folder:
        source, program = Path(folder, "a.c"), Path(folder, "a")
        source.write_text("int main(void) { return 0; }\n")
        try:
            run_command([str(HOST_GCC.find()), *options, str(source), "-o", str(program)], _TRY_S)
            run_command([str(program)], _TRY_S)
        except (CommandError, ToolError):
            return ()
    return options


def preloaded() -> dict[str, str]:
    """Return the environment of a program that loads a library compiled with them."""
    gcc = str(HOST_GCC.find())
    asked = (f"-print-file-name={name}" for name in ("libasan.so", "libubsan.so"))
    names = [*(run_command([gcc, name], _TRY_S).strip() for name in asked)]
    names.append(os.environ.get("LD_PRELOAD", ""))
    return {"LD_PRELOAD": " ".join(filter(None, names)), "ASAN_OPTIONS": "detect_leaks=0"}


def described(said: str, own: Callable[[str], str]) -> str:
    """Return a report in a program's output as one sentence, "" if there is none.

    `own` returns the name for messages of a place FILE:LINE if that is the user's, else "".
    """
    if undefined := _UNDEFINED.search(said):
        place = own(undefined["where"]) or undefined["where"]
        return f"{place}: C does not define what it does: {undefined['what']}"
    access = _ACCESS.search(said)
    if not access:
        return ""
    places = [name for frame in _FRAME.finditer(said) if (name := own(frame["where"]))]
    does = _IS_WRITE.search(said)
    how = "accesses" if does is None else "writes" if does[1] == "WRITE" else "reads"
    where = f" in {places[0]}" if places else ""
    what = _KINDS.get(access["what"], access["what"])
    return f"{what}{where}: it {how} memory outside its tensors, scratch and variables"
