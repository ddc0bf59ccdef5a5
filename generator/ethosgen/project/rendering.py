"""Templates, filled with the facts of a Program and a Board."""

import re
from collections.abc import Mapping
from typing import Any

import jinja2

from ethosgen import __version__
from ethosgen.accelerator import Accelerator
from ethosgen.board import DEFAULT_MEMORY_MODE, Board
from ethosgen.errors import InputError, UnsupportedError
from ethosgen.model import Tensor
from ethosgen.plan import Base, Memory, Partition
from ethosgen.program import Port, Program, Variable
from ethosgen.project.capacity import check_capacity
from ethosgen.project.ci import CI_FILES, ci_facts
from ethosgen.project.layout import BAREMETAL, ZEPHYR, Layout, find_layout, source_folder
from ethosgen.project.linkage import memory_map, npu_base_addr, ways
from ethosgen.project.literals import array_text, c_type, float_text, word_text
from ethosgen.project.manifest import LIBRARY, MANIFEST, Project, digest_of, make_manifest
from ethosgen.project.zephyr import shared_board, zephyr_facts

HEADER_BYTES = 32
"""Of Arm's core driver, in front of each command stream."""
DIGEST_LENGTH = 16
"""Characters; the firmware tells them to whoever asks."""
ALIGNMENT = 16
"""What the NPU asks of base pointers and command streams."""
CACHE_LINE_BYTES = 32
"""Of Cortex-M55's and M85's data caches."""
FAST_BASE = 2
"""The base pointer to fast scratch, in Vela's order of memories."""

_APPLICATION_NAMES = frozenset(("board", "console", "frames", "main", "server", "startup"))
"""Prefixes of the application's own functions: a network of that name would define them again."""
_LIBRARY_NAMES = re.compile(
    r"arena|commands\w*|entry|init|lock|npu_\w+|reset|run|state|unlock|weights"
)
"""What follows NAME_ in names of the library's own; ports of these names get a "_" behind."""


def render(
    program: Program,
    board: Board,
    *,
    memory_mode: str = DEFAULT_MEMORY_MODE,
    platform: str = BAREMETAL,
    with_ci: bool = False,
) -> Project:
    """Render a project; CapacityError if the network does not fit the board."""
    layout = find_layout(platform, board)
    if platform not in board.platforms:
        known = ", ".join(board.platforms) or "none so far: its start-up is not known to ethosgen"
        raise InputError(f"board '{board.name}' has no platform '{platform}'; it has: {known}")
    if program.name in _APPLICATION_NAMES:
        raise InputError(
            f"--name '{program.name}' is taken by the generated application; choose another"
        )
    whole, board = board, shared_board(board) if platform == ZEPHYR else board
    check_capacity(program, board, memory_mode)
    environment = _environment(layout)
    facts = _facts(program, board, memory_mode)
    facts["application_sources"] = [file for file in layout.application if file.endswith(".c")]
    if platform == ZEPHYR:
        facts |= zephyr_facts(program, board, facts["streams"])
    library = _render_library(environment, layout, program, facts, "0" * DIGEST_LENGTH)
    digest = digest_of(library)
    header = f"{LIBRARY}/{program.name}.h"
    facts["digest"] = digest
    library[header] = _render(environment, f"{LIBRARY}/model.h", facts)
    library[MANIFEST] = make_manifest(program, whole, digest, library, platform, memory_mode)
    application = {path: source.read_bytes() for path, source in layout.application_copies.items()}
    application |= {
        path: _render(environment, template, facts) for path, template in layout.application.items()
    }
    application[".gitignore"] = b"/build/\n"
    if with_ci:
        facts |= ci_facts(program, board, platform)
        application |= {path: _render(environment, t, facts) for path, t in CI_FILES.items()}
    for way in facts["ways_facts"]:
        path, template = layout.way
        way_facts = {**facts, **way, "way_comment": way["comment"]}
        application[path.format(way=way["id"])] = _render(environment, template, way_facts)
    return Project(
        name=program.name,
        board=board.name,
        npu=program.plan.npu,
        io=program.io,
        memory_mode=memory_mode,
        digest=digest,
        files=dict(sorted({**application, **library}.items())),
        library=frozenset(library),
    )


def _environment(layout: Layout) -> jinja2.Environment:
    root = source_folder("templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([root / folder for folder in (*layout.templates, "ci")]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _render(environment: jinja2.Environment, template: str, facts: Mapping[str, Any]) -> bytes:
    return environment.get_template(template).render(facts).encode()


def _facts(program: Program, board: Board, memory_mode: str) -> dict[str, Any]:
    """Return what the templates may use, all of it."""
    plan = program.plan
    qemu = board.run.qemu
    npu = plan.accelerator
    graph = f"{program.name}_graph.c"
    bell = qemu.bell if qemu and npu else None
    irqs = [board.console.rx_irq, board.npu.irq if npu else None, bell.rx_irq if bell else None]
    streams = [_stream_facts(program, board, memory_mode, p) for p in plan.partitions]
    return {
        "name": program.name,
        "NAME": program.name.upper(),
        "version": __version__,
        "source": f"{plan.model.name}.tflite",
        "digest": "0" * DIGEST_LENGTH,
        "npu": npu.name if npu else None,
        "product": npu.product if npu else None,
        "npu_config": npu.config_word if npu else None,
        "npu_id": npu.id_word if npu else None,
        "axi_beats": _axi_beats(board, memory_mode, npu),
        "io": program.io.value,
        "inputs": [_port_facts(program, port) for port in program.inputs],
        "outputs": [_port_facts(program, port) for port in program.outputs],
        "arena_bytes": program.arena_bytes,
        "arena_alignment": max(program.arena_alignment, ALIGNMENT),
        "alignment_macro": (
            "ETHOSGEN_NPU_ALIGNMENT" if npu else f"{program.name.upper()}_ARENA_ALIGNMENT"
        ),
        "state_bytes": program.state_bytes,
        "variables": [_variable_facts(variable) for variable in program.variables],
        "weights_bytes": len(plan.read_only),
        "commands_bytes": sum(stream["bytes"] for stream in streams),
        "streams": streams,
        "entry_arguments": ", ".join(_argument(program, p) for p in program.entry_parameters),
        "graph_source": graph if graph in program.sources else None,
        "kernel_sources": sorted(n for n in program.sources if n.endswith(".c") and n != graph),
        "fast_bytes": _fast_bytes(program, board, memory_mode),
        "buffer_alignment": CACHE_LINE_BYTES if board.cpu.dcache else ALIGNMENT,
        "copies": board.placement(memory_mode).copied_from is not None,
        "sources": _library_sources(program),
        "board": board,
        "bell": bell,
        "irq_count": max((irq for irq in irqs if irq is not None), default=0) + 1,
        "ways": list(ways(board)),
        "ways_facts": [
            {
                "id": way,
                "comment": comment,
                "npu_base_addr": npu_base_addr(board, way),
                **memory_map(board, way, memory_mode),
            }
            for way, comment in ways(board).items()
        ],
    }


def _argument(program: Program, parameter: str) -> str:
    if parameter == "arena":
        return f"{program.name}_arena" if program.arena_bytes else "NULL"
    if parameter == "state":
        return f"{program.name}_state"
    if parameter == "read_only":
        return f"(const int8_t *){program.name}_weights" if program.plan.read_only else "NULL"
    return parameter


def _library_sources(program: Program) -> list[str]:
    sources = [f"{program.name}.c"]
    sources += ["ethosgen_npu_hooks.c", "ethosgen_npu_pmu.c"] if program.plan.accelerator else []
    sources += sorted(name for name in program.sources if name.endswith(".c"))
    if program.plan.partitions:
        sources.append(f"{program.name}_commands.c")
    if program.plan.read_only or program.constants:
        sources.append(f"{program.name}_weights.c")
    return sources


def _variable_facts(variable: Variable) -> dict[str, Any]:
    facts = {key: getattr(variable, key) for key in ("memory", "offset", "bytes", "initial_byte")}
    return {**facts, "comment": variable.name.replace("*/", "* /")}


def _port_facts(program: Program, port: Port) -> dict[str, Any]:
    tensor = port.tensor
    scale, zero_point, note = _quantization(tensor)
    label = f"{port.c_name}_" if _LIBRARY_NAMES.fullmatch(port.c_name) else port.c_name
    return {
        "c_name": port.c_name,
        "label": label,
        "buffer": f"{program.name}_{label}()" if port.offset is not None else f"{label}_buffer",
        "MACRO": f"{program.name}_{label}".upper(),
        "comment": tensor.name.replace("*/", "* /"),
        "ctype": c_type(tensor.dtype),
        "shape": tensor.shape or (1,),
        "elements": tensor.elements,
        "bytes": tensor.bytes,
        "buffer_bytes": program.plan.buffer_bytes(tensor),
        "offset": port.offset,
        "scale": float_text(scale) if scale is not None else None,
        "scale_text": f"{scale:.9g}" if scale is not None else None,
        "zero_point": zero_point,
        "quantization_note": note,
    }


def _quantization(tensor: Tensor) -> tuple[float | None, int | None, str | None]:
    quantization = tensor.quantization
    if quantization is None or not quantization.scale:
        return None, None, "not quantized"
    if len(quantization.scale) > 1:
        return None, None, f"quantized along dimension {quantization.axis}; see the .tflite"
    return quantization.scale[0], quantization.zero_point[0], None


def _stream_facts(
    program: Program, board: Board, memory_mode: str, partition: Partition
) -> dict[str, Any]:
    placement = board.placement(memory_mode)
    ports = {part: board.memories[m].npu_port or 0 for part, m in placement.npu_parts().items()}
    bases = [*partition.bases, *[None] * (8 - len(partition.bases))]
    index = program.plan.partitions.index(partition)
    return {
        "name": partition.name,
        "comment": f"{len(partition.operators)} of the network's operators",
        "symbol": f"{program.name}_commands_{index}",
        "bytes": HEADER_BYTES + len(partition.commands),
        "qconfig": 2 * ports["commands"],
        "regioncfg": sum(_region(base, ports) << 2 * i for i, base in enumerate(bases)),
        "base_bytes": [_base_bytes(program, base) for base in bases],
    }


def _axi_beats(board: Board, memory_mode: str, npu: Accelerator | None) -> tuple[int, int]:
    """Return how long bursts are at the NPU's port 0 and 1, as the register has it."""
    if npu is None:
        return 0, 0
    return board.vela_options(board.choose_memory_mode(memory_mode, npu), npu).max_beats


def _fast_bytes(program: Program, board: Board, memory_mode: str) -> int:
    """Return the size of the SRAM that is the NPU's own, 0 where the arena holds fast scratch.

    UnsupportedError if a command stream has it elsewhere than Vela puts it.
    """
    if board.placement(memory_mode).fast is None:
        return 0
    for partition in program.plan.partitions:
        if Memory.SCRATCH_FAST in partition.bases[:FAST_BASE] + partition.bases[FAST_BASE + 1 :]:
            raise UnsupportedError(f"{partition.name} has its fast scratch at an unknown BASEP")
    return program.plan.scratch_fast_bytes


def _region(base: Base | None, ports: Mapping[str, int]) -> int:
    """Return a region's REGIONCFG field: 0 and 1 are port 0's two AXI limits, 2 and 3 port 1's.

    Each kind of traffic has a limit of its own, so that an application can tune them apart: weights
    have the port's second, the arena its first.
    """
    if base is None:
        return 0
    if base is Memory.READ_ONLY:
        return 2 * ports["weights"] + 1
    if base is Memory.SCRATCH:
        return 2 * ports["arena"]
    if base is Memory.SCRATCH_FAST:
        return 2 * ports.get("fast", ports["arena"]) + 1
    return 2 * ports["io"]


def _base_bytes(program: Program, base: Base | None) -> int:
    plan = program.plan
    if base is None:
        return 0
    if base is Memory.READ_ONLY:
        return len(plan.read_only)
    if base is Memory.SCRATCH:
        return program.arena_bytes
    if base is Memory.SCRATCH_FAST:
        return plan.scratch_fast_bytes or program.arena_bytes
    return plan.buffer_bytes(plan.residual.tensors[int(base)])


def driver_header(config_word: int, id_word: int, commands: bytes) -> bytes:
    """Return the 32 bytes in front of a command stream that Arm's core driver wants.

    Eight words: the four letters COP1; OPTIMIZER_CONFIG with the CONFIG and ID words that the
    stream was made for; three NOPs, so that the commands are aligned; COMMAND_STREAM with the
    length in words (hal_ethos_u ethosu_driver.c).
    """
    words = len(commands) // 4
    length = 2 | (words >> 16 & 0xFF) << 8 | (words & 0xFFFF) << 16
    header = (0x31504F43, 0x00100001, config_word, id_word, 5, 5, 5, length)
    return b"".join(word.to_bytes(4, "little") for word in header)


def _render_library(
    environment: jinja2.Environment,
    layout: Layout,
    program: Program,
    facts: Mapping[str, Any],
    digest: str,
) -> dict[str, bytes]:
    templates = {**layout.library, **(layout.npu if program.plan.accelerator else {})}
    files = {f"{LIBRARY}/{path}": source.read_bytes() for path, source in layout.copies.items()}
    files |= {
        f"{LIBRARY}/{path.format(name=program.name)}": _render(
            environment, template, {**facts, "digest": digest}
        )
        for path, template in templates.items()
    }
    files |= {f"{LIBRARY}/{path}": text.encode() for path, text in program.sources.items()}
    files[f"{LIBRARY}/{program.name}.tflite"] = program.plan.model.data
    if program.plan.partitions:
        files[f"{LIBRARY}/{program.name}_commands.c"] = _render_words(
            environment, program, "command streams", "commands", _command_arrays(program)
        )
    if weights := _weight_arrays(program):
        files[f"{LIBRARY}/{program.name}_weights.c"] = _render_words(
            environment, program, "weights and other constants", "weights", weights
        )
    return files


def _render_words(
    environment: jinja2.Environment,
    program: Program,
    what: str,
    section: str,
    arrays: list[dict[str, Any]],
) -> bytes:
    facts = {"name": program.name, "what": what, "section": section, "arrays": arrays}
    return _render(environment, f"{LIBRARY}/words.c", facts)


def _command_arrays(program: Program) -> list[dict[str, Any]]:
    return [
        {
            "symbol": f"{program.name}_commands_{index}",
            "comment": f"{p.name}: eight words of Arm's driver header, then the commands.",
            "ctype": "uint32_t",
            "alignment": ALIGNMENT,
            **word_text(driver_header(p.config_word, p.id_word, p.commands) + p.commands),
        }
        for index, p in enumerate(program.plan.partitions)
    ]


def _weight_arrays(program: Program) -> list[dict[str, Any]]:
    arrays = []
    if program.plan.read_only:
        arrays.append(
            {
                "symbol": f"{program.name}_weights",
                "comment": "What the NPU reads: weights, scales, tables, as Vela packed them.",
                "ctype": "uint32_t",
                "alignment": ALIGNMENT,
                **word_text(program.plan.read_only),
            }
        )
    arrays += [
        {
            "symbol": constant.c_name,
            "comment": "",
            "ctype": c_type(constant.dtype),
            "alignment": constant.alignment,
            **array_text(constant.dtype, constant.data),
        }
        for constant in program.constants
    ]
    return arrays
