"""Generated C with each tensor and workspace in memory of its own, for the compiler's sanitizers.

The arena has no gaps, so an access beyond a tensor finds another. Here the entry copies what a
kernel reads and writes to blocks of their exact sizes, once aligned as memory is, and once no more
than a value of the type is. Constants are arrays already.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ethosgen.aot.memory.plan import MemoryPlan
from ethosgen.values.outcome import Arrays
from ethosgen.values.program import Program
from tests.support.aot_harness import WARNINGS, write_sources

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ENTRY = "int32_t net_entry("
SIZES = {"int8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8}
WORKSPACE = ("room", "workspace")
WORD = 4
_CALL = re.compile(r"  (?:status = )?(\w+)\((.*)\);$")
_FUNCTION = re.compile(r"static \w+ (\w+)\(\n(.*?)\) \{", re.S)
_PLACE = re.compile(r"\b(arena|state)(?:\[(\d+)\])?")
_TYPE = re.compile(r"(?:const )?(\w+) \*(?:restrict )?(\w+)")

MAIN = """
#include "net_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *apart(const void *from, int size, int alignment);
void together(void *to, void *from, int size, int alignment);

static int is_odd;

void *apart(const void *from, int size, int alignment)
{
    int shift = is_odd ? alignment : 0;
    char *block = malloc((size_t)(shift + size));

    return memcpy(block + shift, from, (size_t)size);
}

void together(void *to, void *from, int size, int alignment)
{
    if (to) {
        memcpy(to, from, (size_t)size);
    }
    free((char *)from - (is_odd ? alignment : 0));
}

static void move(FILE *file, int8_t *arena, const int (*places)[2], int count, int is_output)
{
    for (int i = 0; i < count; i++) {
        void *place = arena + places[i][0];
        size_t size = (size_t)places[i][1];

        if ((is_output ? fwrite(place, 1, size, file) : fread(place, 1, size, file)) != size) {
            exit(2);
        }
    }
}

int main(int count, char **names)
{
    FILE *inputs = fopen(names[1], "rb"), *outputs = fopen(names[2], "wb");
    static _Alignas(16) int8_t arena[ARENA], state[STATE], read_only[1];

    for (is_odd = 0; count == 3 && is_odd < 2; is_odd++) {
        rewind(inputs);
        memset(state, 0, sizeof state);
        RESET
        for (int sample = 0; sample < SAMPLES; sample++) {
            memset(arena, 0x5a, sizeof arena);
            move(inputs, arena, inputs_at, INPUTS, 0);
            if (net_entry(ARGUMENTS) != 0) {
                return 1;
            }
            move(outputs, arena, outputs_at, OUTPUTS, 1);
        }
    }
    fclose(inputs);
    return fclose(outputs);
}
"""


def run_apart(
    program: Program, memory: MemoryPlan, folder: Path, samples: Sequence[Arrays]
) -> Iterator[Arrays]:
    """Run the samples twice under the sanitizers; yield the outputs by name."""
    files = write_sources(program, folder)
    graph = folder / "net_graph.c"
    graph.write_text(_separated(program, memory))
    (folder / "main.c").write_text(_main(program, len(samples)))
    built = folder / "program"
    flags = [*WARNINGS, "-O0", "-g0", *SANITIZERS]
    _run("gcc", *flags, "-o", str(built), *map(str, files), str(folder / "main.c"), "-lm")
    read, written = folder / "inputs", folder / "outputs"
    read.write_bytes(
        b"".join(
            np.ascontiguousarray(sample[port.tensor.name]).tobytes()
            for sample in samples
            for port in program.inputs
        )
    )
    _run(str(built), str(read), str(written))
    data, at = written.read_bytes(), 0
    for _ in range(2 * len(samples)):
        outputs = {}
        for port in program.outputs:
            tensor = port.tensor
            array = np.frombuffer(data, tensor.dtype, tensor.elements, at).reshape(tensor.shape)
            outputs[tensor.name], at = array, at + tensor.bytes
        yield outputs
    assert at == len(data)


def _run(*command: str) -> None:
    # Python is not built with the sanitizers, so nothing else may be loaded before theirs.
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]


def _separated(program: Program, memory: MemoryPlan) -> str:
    """Return the graph's C, whose entry gives each kernel blocks of exact sizes."""
    functions, entry = program.sources["net_graph.c"].split(ENTRY)
    parameters = {name: _TYPE.findall(text) for name, text in _FUNCTION.findall(functions)}
    lines, step = [], -1
    for line in entry.splitlines():
        called = _CALL.match(line)
        if called and called[1] == "ETHOSGEN_STEP":
            step = int(called[2]) - 1
        if called is None or called[1] not in parameters:
            lines.append(line)
            continue
        sizes = _sizes(program, memory, step)
        lines += _call(called[1], called[2].split(", "), parameters[called[1]], sizes)
    helpers = (
        "#include <stddef.h>\nvoid *apart(const void *from, int size, int alignment);\n"
        "void together(void *to, void *from, int size, int alignment);\n"
    )
    return helpers + functions + ENTRY + "\n".join(lines) + "\n"


def _sizes(program: Program, memory: MemoryPlan, step: int) -> Mapping[tuple[str, int], int]:
    """Return the sizes of what a step may use, by memory and offset."""
    live = [block for block in memory.blocks if step in block.steps and block.offset is not None]
    sizes = {("arena", block.offset or 0): block.bytes for block in live}
    return sizes | {
        (variable.memory, variable.offset): variable.bytes for variable in program.variables
    }


def _call(
    function: str,
    arguments: Sequence[str],
    parameters: Sequence[tuple[str, str]],
    sizes: Mapping[tuple[str, int], int],
) -> list[str]:
    before, after, passed = [], [], []
    blocks: dict[tuple[str, int], str] = {}
    for number, (argument, (kind, name)) in enumerate(zip(arguments, parameters, strict=True)):
        match = _PLACE.search(argument)
        if match is None:
            passed.append(argument)
            continue
        place = match[1], int(match[2] or 0)
        if place not in blocks:
            alignment = WORD if name in WORKSPACE else SIZES[kind]
            blocks[place] = f"b{number}"
            rest = f"{sizes[place]}, {alignment}"
            source = f"{place[0]} + {place[1]}"
            before.append(f"  void *b{number} = apart({source}, {rest});")
            after.append(f"  together({source}, b{number}, {rest});")
        passed.append(blocks[place])
    return ["  {", *before, f"  {function}({', '.join(passed)});", *after, "  }"]


def _main(program: Program, samples: int) -> str:
    inputs, outputs = (
        ", ".join(f"{{{port.offset}, {port.tensor.bytes}}}" for port in ports)
        for ports in (program.inputs, program.outputs)
    )
    resets = "".join(
        f"memset({v.memory} + {v.offset}, {v.initial_byte}, {v.bytes});" for v in program.variables
    )
    assert all(variable.memory == "state" for variable in program.variables)
    lines = (
        f"enum {{ ARENA = {program.arena_bytes}, STATE = {max(program.state_bytes, 1)} }};",
        f"enum {{ SAMPLES = {samples}, INPUTS = {len(program.inputs)} }};",
        f"enum {{ OUTPUTS = {len(program.outputs)} }};",
        f"static const int inputs_at[][2] = {{{inputs}}};",
        f"static const int outputs_at[][2] = {{{outputs}}};",
        f"#define ARGUMENTS {', '.join(program.entry_parameters)}",
    )
    head, body = MAIN.split("\n\nvoid *apart", 1)
    return "\n".join((head, *lines)) + "\n\nvoid *apart" + body.replace("RESET", resets)
