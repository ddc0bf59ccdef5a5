"""A handmade Program, as TVM would emit it for a network whose NPU adds one to each element."""

import dataclasses

import numpy as np

from ethosgen.backend.ethosu import stream
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.stream import RegionKind, Stream
from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.network import Graph, Network, Operator, Quantization, Tensor
from ethosgen.values.plan import IoStyle, Partition, Plan
from ethosgen.values.program import Constant, Port, Program
from ethosgen.values.source import Source

ELEMENTS = 1500
"""More than fits in one frame of the console protocol."""
SCRATCH_BYTES = 3200
OUTPUT_OFFSET = 1600
COMMANDS = np.array([0xFFFF0000, 0, 0, 0], "<u4").tobytes()
READ_ONLY = bytes(range(100))


def make_program(
    io: IoStyle = IoStyle.ARENA, npu: str = "ethos-u55-128", name: str = "plus_one"
) -> Program:
    """Return the program; its NPU reads at BASEP1 (arena), or BASEP2 and 3 (the caller's)."""
    quantization = Quantization((0.5,), (-3,))
    tensors = (
        Tensor(0, "serving/input:0", (1, ELEMENTS), "int8", quantization),
        Tensor(1, "serving/output:0", (1, ELEMENTS), "int8", quantization),
    )
    operator = Operator(0, "CUSTOM", (0,), (1,), "ethos-u")
    graph = Graph("main", tensors, (operator,), (0,), (1,))
    is_caller = io is IoStyle.CALLER
    bases = (
        RegionKind.READ_ONLY,
        RegionKind.SCRATCH,
        *((0, 1) if is_caller else (RegionKind.SCRATCH_FAST,)),
    )
    accelerator = find_accelerator(npu)
    partition = Partition(
        f"{name}_npu_0",
        ResidualIndex(0),
        stream.invoke(0, bases),
        (0,),
        (1,),
        (OperatorIndex(0),),
        payload=Stream(COMMANDS, accelerator.id_word, accelerator.config_word, bases),
    )
    source = Source("tflite", f"{name}.tflite", b"TFL3 stands here")
    plan = Plan(
        network=Network(name, (graph,), source=source, is_as_given=True),
        accelerator=accelerator,
        io=io,
        residual=graph,
        partitions=(partition,),
        cpu_operators=(),
        npu_operators=1,
        blobs=stream.make_blobs(READ_ONLY, (partition,)),
        scratches=stream.make_scratches(SCRATCH_BYTES, 0),
        offsets={} if is_caller else {0: 0, 1: OUTPUT_OFFSET},
        sram_bytes=SCRATCH_BYTES,
    )
    ports = ("input", "output") if is_caller else ()
    return Program(
        name=name,
        plan=plan,
        io=io,
        sources=_sources(name, is_caller),
        entry_parameters=("arena", "read_only", *ports),
        constants=(Constant(f"{name}_table", "int16", bytes(range(20))),),
        inputs=(Port("input", tensors[0], None if is_caller else 0),),
        outputs=(Port("output", tensors[1], None if is_caller else OUTPUT_OFFSET),),
        arena_bytes=SCRATCH_BYTES,
        arena_bound_bytes=SCRATCH_BYTES,
        arena_alignment=16,
        placements=(),
    )


def with_weights(plan: Plan, data: bytes) -> Plan:
    """Return a plan whose partitions share other data."""
    return dataclasses.replace(plan, blobs=stream.make_blobs(data, plan.partitions))


def with_fast_scratch(plan: Plan, size: int) -> Plan:
    """Return a plan with a fast scratch of `size` bytes."""
    scratches = stream.make_scratches(stream.scratch_bytes(plan), size)
    return dataclasses.replace(plan, scratches=scratches)


# REUSE-IgnoreStart
_TERMS = (
    "/* SPDX-FileCopyrightText: Whoever holds the rights in the network */\n"
    "/* SPDX-License-Identifier: LicenseRef-ethosgen-no-claim */\n"
)
# REUSE-IgnoreEnd


def _sources(name: str, is_caller: bool) -> dict[str, str]:
    more = ", const int8_t *input, int8_t *output" if is_caller else ""
    bases = ", ".join(f"const void *base{i}" for i in range(8))
    own = "input, output" if is_caller else "arena, NULL"
    header = (
        f"{_TERMS}#include <stddef.h>\n#include <stdint.h>\n"
        f"int32_t {name}_entry(int8_t *arena, const int8_t *read_only{more});\n"
        f"int32_t {name}_npu_invoke(int32_t stream, {bases});\n"
    )
    source = (
        f'{_TERMS}#include "{name}_graph.h"\n'
        f"extern const int16_t {name}_table[];\n"
        f"int32_t {name}_entry(int8_t *arena, const int8_t *read_only{more})\n{{\n"
        f"    if ({name}_table[0] == 0) {{\n        return -1;\n    }}\n"
        f"    return {name}_npu_invoke(0, read_only, arena, {own},\n"
        "                             NULL, NULL, NULL, NULL);\n"
        "}\n"
    )
    return {f"{name}_graph.h": header, f"{name}_graph.c": source}


def make_cpu_program(name: str = "plus_one") -> Program:
    """Return a program without an NPU, whose C adds one."""
    program = make_program(IoStyle.ARENA, name=name)
    source = (
        f'{_TERMS}#include "{name}_graph.h"\n'
        f"int32_t {name}_entry(int8_t *arena)\n{{\n"
        f"    for (int i = 0; i < {ELEMENTS}; i++) {{\n"
        f"        arena[{OUTPUT_OFFSET} + i] = (int8_t)(arena[i] + 1);\n"
        "    }\n    return 0;\n}\n"
    )
    header = (
        f"{_TERMS}#include <stddef.h>\n#include <stdint.h>\nint32_t {name}_entry(int8_t *arena);\n"
    )
    return dataclasses.replace(
        program,
        plan=dataclasses.replace(program.plan, accelerator=None, partitions=(), blobs=()),
        sources={f"{name}_graph.h": header, f"{name}_graph.c": source},
        entry_parameters=("arena",),
        constants=(),
    )
