"""A network's state after a failed run, in a project's C."""

import ctypes
import dataclasses
import subprocess
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.project import render
from ethosgen.values.program import Variable
from tests.support.needs import needs_gcc
from tests.support.programs import make_cpu_program

ENTRY = """
#include "plus_one_graph.h"
int32_t next_status;
int32_t plus_one_entry(PARAMETERS)
{
    arena[0] = KEPT++; /* what it was, for the test */
    return next_status;
}
"""
OK, BAD_VALUE, START = 0, 15, 7

pytestmark = needs_gcc


@pytest.mark.parametrize(("memory", "kept"), [("state", "state[0]"), ("arena", "arena[1]")])
def test_a_run_that_fails_sets_the_state_to_its_start(
    tmp_path: Path, memory: str, kept: str
) -> None:
    names = ("arena",) if memory == "arena" else ("arena", "state")
    parameters = ", ".join(f"int8_t *{name}" for name in names)
    program = dataclasses.replace(
        make_cpu_program(),
        state_bytes=len(names) - 1,
        variables=(Variable("memory", memory, 2 - len(names), 1, START),),
        entry_parameters=names,
        sources={
            "plus_one_graph.h": "#include <stddef.h>\n#include <stdint.h>\n"
            f"int32_t plus_one_entry({parameters});\n",
            "plus_one_graph.c": ENTRY.replace("PARAMETERS", parameters).replace("KEPT", kept),
        },
    )
    files = render(program, load_board("corstone300")).files
    for name in ("plus_one.h", "plus_one.c", "plus_one_graph.h", "plus_one_graph.c"):
        (tmp_path / name).write_bytes(files[f"model/{name}"])
    (tmp_path / "ethosgen_status.h").write_bytes(files["model/ethosgen_status.h"])
    sources = [str(tmp_path / "plus_one.c"), str(tmp_path / "plus_one_graph.c")]
    library = tmp_path / "model.so"
    command = ["gcc", "-std=c11", "-Werror", "-shared", "-fPIC", f"-I{tmp_path}", *sources]
    subprocess.run([*command, "-o", str(library)], check=True)
    c = ctypes.CDLL(str(library))
    status = ctypes.c_int32.in_dll(c, "next_status")
    state = ctypes.c_int8.in_dll(c, "plus_one_arena")
    seen = []
    assert c.plus_one_init() == OK
    for status.value in (OK, OK, BAD_VALUE, OK, OK):
        assert c.plus_one_run() == status.value
        seen.append(state.value)
    assert seen == [START, START + 1, START + 2, START, START + 1]
    c.plus_one_reset()
    assert c.plus_one_run() == OK and state.value == START
    header = files["model/plus_one.h"].decode()
    assert "A run that fails restores the initial state, as plus_one_reset() does" in header
    assert "after a run that failed" not in header
