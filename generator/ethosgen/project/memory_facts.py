"""The manifest's facts for the check of a firmware's memory."""

import dataclasses
from typing import Any

from ethosgen.values.program import Program


def memory_facts(program: Program) -> dict[str, Any]:
    """Return the facts that the check of the memory needs in addition to the ELF."""
    record = program.memory
    tensors = {
        t.index: {"name": t.name, "shape": t.shape, "dtype": t.dtype} for t in record.tensors
    }
    blocks = [{**dataclasses.asdict(block), "kind": block.kind.value} for block in record.blocks]
    return {
        "arena": program.arena_bytes,
        "tensors": tensors,
        "inputs": record.inputs,
        "outputs": record.outputs,
        "blocks": blocks,
        "steps": [dataclasses.asdict(step) for step in record.steps],
        "state": program.state_bytes,
        "variables": [dataclasses.asdict(variable) for variable in program.variables],
    }
